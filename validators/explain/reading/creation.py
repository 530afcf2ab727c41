"""Reads what decides whether missing parts of a job can be created: webhooks, permissions of controllers, admission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubeflow_volcano.cluster.admission.alterations import added, altered_by, changed
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.validators.checks.operator.common import OPERATOR_ACCESS
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.creation.changes import CHANGES, Changed
from kubeflow_volcano.validators.explain.creation.controllers import controllers_of
from kubeflow_volcano.validators.explain.creation.refusals import ADMISSION
from kubeflow_volcano.validators.explain.creation.webhooks import intercepting, pod_of, to_create
from kubeflow_volcano.validators.explain.model import GROUP_NAME, Role, Situation
from kubeflow_volcano.validators.explain.placement.pod_sets import role_of
from kubeflow_volcano.validators.explain.reading.queries import Query, list_objects, read_one, refusal
from kubeflow_volcano.validators.reading.dry_runs import admitted, answer_of, is_own_denial
from kubeflow_volcano.validators.reading.permissions import allowed
from kubeflow_volcano.validators.subjects import webhooks

_PARALLEL = 8
_DRY_RUN_SECONDS = 10.0
_REVIEW = Rule("create", "authorization.k8s.io", "subjectaccessreviews")
_POLICIES = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
_SLICES = "endpointslices.discovery.k8s.io"
_QUERIES = tuple(Query(item) for item in webhooks.RESOURCES.values())


def rules(namespace: str) -> tuple[Rule, ...]:
    """Permissions to read all of it for jobs of the namespace."""
    return (
        *(query.rule for query in _QUERIES),
        Rule("get", "", "namespaces", namespace),
        Rule("get", "", "services"),
        Query(_SLICES).rule,
        _REVIEW,
        Rule("create", "", "pods", namespace),
        *(Rule("list", "admissionregistration.k8s.io", plural) for plural in _POLICIES),
    )


def with_admission(cluster: Cluster, situation: Situation) -> Situation:
    """The situation with what decides about what is missing: webhooks, permissions, pod templates after admission.

    Of pods that exist, too, a dry run shows what admission changes of their template.
    """
    complete = situation
    if to_create(situation):
        complete = _with(situation, _webhooks(cluster, situation.job.ref.namespace))
        complete = _with_permissions(cluster, _with(complete, _backends(cluster, complete)))
    return _with_admitted_templates(cluster, complete)


def _with_admitted_templates(cluster: Cluster, situation: Situation) -> Situation:
    """Each pod template as admission would change it: tolerations, defaults, sidecars. It takes dry runs.

    Where one had no answer, templates are judged as they are, and what could not be read says so. Pods that exist show
    what became of them by themselves: of these only what changed is kept.
    """
    job, facts = situation.job, situation.facts
    roles = [role for role in job.roles if role.replicas > 0]
    sent = [_sent(role, situation) for role in roles]
    pods = in_parallel(lambda pod: admitted(cluster, pod, _DRY_RUN_SECONDS), sent, _PARALLEL)
    answers = {role.name: pod for role, pod in zip(roles, pods, strict=True)}
    refused = {name: error for name, error in answers.items() if isinstance(error, ApiError)}
    found = [_changed(cluster, *item) for item in zip(roles, sent, pods, strict=True)]
    told = {**facts.found, CHANGES: tuple(item for item in found if item)}
    if situation.missing <= 0:
        return replace(situation, facts=replace(facts, found=told))
    if unknown := next((error for error in refused.values() if is_own_denial(error) or error.status == 0), None):
        why = refusal(unknown, Rule("create", "", "pods", job.ref.namespace), "pods after admission")
        return replace(situation, facts=replace(facts, unread={**facts.unread, ADMISSION.name: why}))
    changed_roles = tuple(
        replace(role, template={"metadata": pod["metadata"], "spec": pod["spec"]})
        if (pod := answers.get(role.name)) and not isinstance(pod, ApiError)
        else role
        for role in job.roles
    )
    known = {**told, ADMISSION: {name: answer_of(error) for name, error in refused.items()}}
    return replace(situation, job=replace(job, roles=changed_roles), facts=replace(facts, found=known))


def _sent(role: Role, situation: Situation) -> Object:
    """A pod of the role as its controller sends it, with the labels of one that exists: webhooks select by them."""
    pod = pod_of(role, situation)
    twin = next((item for item in situation.pods if role_of(item).lower() == role.name.lower()), None)
    if twin is None:
        return pod
    meta = {key: {**(twin["metadata"].get(key) or {}), **pod["metadata"][key]} for key in ("labels", "annotations")}
    meta["annotations"] = {key: text for key, text in meta["annotations"].items() if key != GROUP_NAME}
    return {**pod, "metadata": {**pod["metadata"], **meta}}


def _changed(cluster: Cluster, role: Role, sent: Object, stored: Object | ApiError) -> Changed | None:
    """What admission makes of the pod; None where it leaves it as it is, or refuses it."""
    if isinstance(stored, ApiError):
        return None
    binding = changed(sent, stored)
    words = (*binding, *added(sent, stored))
    return Changed(role.name, sent, stored, altered_by(cluster, sent, words), bool(binding)) if words else None


def _webhooks(cluster: Cluster, namespace: str) -> Mapping[str, tuple[Object, ...] | Unread]:
    answers = in_parallel(lambda query: list_objects(cluster, query), _QUERIES, _PARALLEL)
    space = read_one(cluster, Ref("v1", "Namespace", "", namespace), Rule("get", "", "namespaces", namespace))
    return {**{query.resource: answer for query, answer in zip(_QUERIES, answers, strict=True)}, "namespaces": space}


def _backends(cluster: Cluster, situation: Situation) -> Mapping[str, tuple[Object, ...] | Unread]:
    """Services and EndpointSlices of the intercepting webhooks."""
    if situation.facts.unread.keys() & {*webhooks.RESOURCES.values(), "namespaces"}:
        return {}
    hooks = intercepting(situation, to_create(situation))
    refs = sorted({ref for hook in hooks if (ref := webhooks.service_of(hook.text))})
    answers: dict[str, tuple[Object, ...] | Unread] = {"services": (), _SLICES: ()}
    for ref in refs:
        slices = Query(_SLICES, ref.namespace, f"kubernetes.io/service-name={ref.name}")
        for resource, answer in (
            ("services", read_one(cluster, ref, Rule("get", "", "services", ref.namespace))),
            (_SLICES, list_objects(cluster, slices)),
        ):
            known = answers[resource]
            answers[resource] = answer if isinstance(answer, Unread) or isinstance(known, Unread) else (*known, *answer)
    return answers


def _with_permissions(cluster: Cluster, situation: Situation) -> Situation:
    """The API server's answers about what the accounts of existing controllers may do."""
    facts = situation.facts
    access: dict[str, Mapping[str, bool]] = {}
    for item in controllers_of(situation.job.family, facts.expectations.scheduler):
        if "deployments.apps" in facts.unread or not facts.get("deployments.apps", item.ref.namespace, item.ref.name):
            continue
        try:
            answers = allowed(cluster, item.rules, namespace=situation.job.ref.namespace, user=item.account(facts))
        except ApiError as error:
            why = refusal(error, _REVIEW, "permissions of controllers")
            unread = {**facts.unread, OPERATOR_ACCESS.name: why}
            return replace(situation, facts=replace(facts, unread=unread, found={**facts.found, OPERATOR_ACCESS: why}))
        access[item.component] = {str(rule): answer for rule, answer in answers.items()}
    return replace(situation, facts=replace(facts, found={**facts.found, OPERATOR_ACCESS: access}))


def _with(situation: Situation, answers: Mapping[str, tuple[Object, ...] | Unread]) -> Situation:
    facts = situation.facts
    objects = {name: answer for name, answer in answers.items() if not isinstance(answer, Unread)}
    missing = {name: answer for name, answer in answers.items() if isinstance(answer, Unread)}
    more = replace(facts, objects={**facts.objects, **objects}, unread={**facts.unread, **missing})
    return replace(situation, facts=more)
