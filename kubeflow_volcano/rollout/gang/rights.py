"""Whether training operators may use PodGroups. A roll-out grants no permissions that the manifests lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kubeflow_volcano.apply.rights import Rights
from kubeflow_volcano.catalog.gangs import GangScheduler
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.gang.wiring import operator_deployment

VERBS: Mapping[str, Sequence[str]] = {
    "training-operator": ("create", "delete", "get", "list", "patch", "update", "watch"),
    "trainer": ("create", "get", "list", "patch", "update", "watch"),
}
"""Verbs that each operator needs for PodGroups, by component."""

_RESOURCE = "podgroups"


def missing_rights(
    cluster: Cluster, part: Component, objects: Sequence[Object], scheduler: GangScheduler, *, whole: bool
) -> Iterator[Problem]:
    """The problem of an operator that lacks permissions for PodGroups.

    Args:
        cluster: answers SubjectAccessReviews about verbs that the manifests do not grant.
        part: the operator's component.
        objects: the declared objects of the component.
        scheduler: the gang scheduler whose PodGroups the operator creates.
        whole: whether the run applies all objects, including their RBAC.

    Raises:
        InvalidInput: the manifests lack the operator's Deployment.
        ApiError: the API server does not answer a SubjectAccessReview.
    """
    deployment = operator_deployment(part, objects)
    declared = Rights(objects).verbs(deployment, scheduler.group, _RESOURCE)
    if declared is None and whole:
        return  # its role is not in the manifests, and may be created later
    granted = declared if whole and declared else frozenset[str]()
    namespace = deployment["metadata"]["namespace"]
    account = deployment["spec"]["template"]["spec"].get("serviceAccountName") or "default"
    lacking = [
        verb
        for verb in VERBS[part.name]
        if not {verb, "*"} & granted and not is_allowed(cluster, namespace, account, scheduler.group, verb)
    ]
    if lacking:
        name = f"podgroups-{part.name}"
        resource = f"{_RESOURCE}.{scheduler.group}"
        grant = (
            f"kubectl create clusterrole {name} --verb={','.join(VERBS[part.name])} --resource={resource} && "
            f"kubectl create clusterrolebinding {name} --clusterrole={name} --serviceaccount={namespace}:{account}; "
            "then run again."
        )
        restore = "run playbooks/install.yml without --tags, which applies the role in its manifests."
        yield Problem(
            f"ServiceAccount {namespace}/{account} of {part.title} may not {', '.join(lacking)} {resource}.",
            f"these permissions; without them {part.title} creates no gangs.",
            restore if declared and {*lacking, "*"} & declared else grant,
        )


def is_allowed(cluster: Cluster, namespace: str, account: str, group: str, verb: str) -> bool:
    """Whether a ServiceAccount may use a verb on the PodGroups of an API group, by a SubjectAccessReview.

    Raises:
        ApiError: the API server does not answer a SubjectAccessReview.
    """
    spec = {
        "user": f"system:serviceaccount:{namespace}:{account}",
        "groups": ["system:authenticated", "system:serviceaccounts", f"system:serviceaccounts:{namespace}"],
        "resourceAttributes": {"group": group, "resource": _RESOURCE, "verb": verb},
    }
    review = new_object("authorization.k8s.io/v1", "SubjectAccessReview", "", spec=spec)
    answer: bool = cluster.create(review)["status"]["allowed"]
    return answer
