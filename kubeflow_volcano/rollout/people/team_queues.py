"""Queues of teams where no webhook of Volcano gives them: by a MutatingAdmissionPolicy.

Since 1.12 Volcano calls no webhook for PodGroups any more, and the CRD gives one that names no queue the queue default
(config/crd of v1.12.2 to v1.15.1; Jobs since v1.14), so that the two look the same to admission. Policies are
evaluated before webhooks, with the Namespace at hand (apiserver, pkg/admission/plugin/policy/mutating of v0.37.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubeflow_volcano.cluster.admission.policies import BINDING, POLICY, policy_api
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.cluster.volcano import QUEUE_NAME
from kubeflow_volcano.rollout.queues.view import DEFAULT_QUEUE
from kubeflow_volcano.rollout.settings.people.profiles import Profile, queue_of

NAME = "kubeflow-volcano-queues-of-teams"
"""Name of the policy and of its binding."""


def with_queue_policy(cluster: Cluster, objects: Sequence[Object], profiles: Iterable[Profile]) -> tuple[Object, ...]:
    """The objects, and the policy that gives jobs of teams the queue of their team, where the server serves policies.

    Raises:
        ApiError: the API server refuses a question.
    """
    teams = sorted(item.name for item in profiles if queue_of(item))
    api = policy_api(cluster) if teams else ""
    return (*objects, *_policy(api, teams)) if api else tuple(objects)


def _policy(api: str, teams: Sequence[str]) -> Iterable[Object]:
    default = DEFAULT_QUEUE.name
    queue = f"namespaceObject.metadata.annotations['{QUEUE_NAME}']"
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [plural]}
        for group, plural in (("scheduling.volcano.sh", "podgroups"), ("batch.volcano.sh", "jobs"))
    ]
    named = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": teams}
    yield new_object(
        api,
        POLICY,
        NAME,
        spec={
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"namespaceSelector": {"matchExpressions": [named]}, "resourceRules": rules},
            "matchConditions": [
                {
                    "name": "names-no-queue",
                    "expression": f"!has(object.spec.queue) || object.spec.queue in ['', '{default}']",
                }
            ],
            "mutations": [
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {"expression": f"[JSONPatch{{op: 'add', path: '/spec/queue', value: {queue}}}]"},
                }
            ],
        },
    )
    yield new_object(api, BINDING, NAME, spec={"policyName": NAME})
