"""A closer look at who must let the rest of a job be made; only where something of it is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.parallel import in_parallel
from validators.checks.operator.common import OPERATOR_ACCESS
from validators.core.facts import Unread
from validators.core.rights import Rule
from validators.explain.making.admission import called, still_to_make
from validators.explain.making.makers import MAKERS
from validators.explain.model import Situation
from validators.explain.reading.lists import Want, listed, unread
from validators.reading.permissions import allowed
from validators.subjects import webhooks

__all__ = ["closer", "rules"]

_PARALLEL = 8
_REVIEW = Rule("create", "authorization.k8s.io", "subjectaccessreviews")
_SLICES = "endpointslices.discovery.k8s.io"
_WANTS = tuple(Want(item) for item in webhooks.RESOURCES.values())


def rules(namespace: str) -> tuple[Rule, ...]:
    """All that it reads about jobs of the namespace."""
    return (
        *(want.rule for want in _WANTS),
        Rule("get", "", "namespaces", namespace),
        Rule("get", "", "services"),
        Want(_SLICES).rule,
        _REVIEW,
    )


def closer(cluster: Cluster, situation: Situation) -> Situation:
    """The situation with the webhooks that see what is missing, and with what the controllers' accounts may do."""
    if not still_to_make(situation):
        return situation
    found = _with(situation, _hooks(cluster, situation.job.ref.namespace))
    return _may(cluster, _with(found, _backends(cluster, found)))


def _hooks(cluster: Cluster, namespace: str) -> Mapping[str, tuple[Object, ...] | Unread]:
    answers = in_parallel(lambda want: listed(cluster, want), _WANTS, _PARALLEL)
    space = _got(cluster, Ref("v1", "Namespace", "", namespace), Rule("get", "", "namespaces", namespace))
    return {**{want.resource: answer for want, answer in zip(_WANTS, answers, strict=True)}, "namespaces": space}


def _backends(cluster: Cluster, situation: Situation) -> Mapping[str, tuple[Object, ...] | Unread]:
    """Services of the webhooks that matter, and their endpoints."""
    if situation.facts.unread.keys() & {*webhooks.RESOURCES.values(), "namespaces"}:
        return {}
    hooks = called(situation, still_to_make(situation))
    refs = sorted({ref for hook in hooks if (ref := webhooks.service_of(hook.text))})
    found: dict[str, tuple[Object, ...] | Unread] = {"services": (), _SLICES: ()}
    for ref in refs:
        slices = Want(_SLICES, ref.namespace, f"kubernetes.io/service-name={ref.name}")
        for resource, answer in (
            ("services", _got(cluster, ref, Rule("get", "", "services", ref.namespace))),
            (_SLICES, listed(cluster, slices)),
        ):
            known = found[resource]
            found[resource] = answer if isinstance(answer, Unread) or isinstance(known, Unread) else (*known, *answer)
    return found


def _got(cluster: Cluster, ref: Ref, rule: Rule) -> tuple[Object, ...] | Unread:
    try:
        found = cluster.get(ref)
    except ApiError as error:
        return unread(error, rule, str(ref))
    return (found,) if found else ()


def _may(cluster: Cluster, situation: Situation) -> Situation:
    """The API server's answers about the accounts of the controllers that are there."""
    facts = situation.facts
    access: dict[str, Mapping[str, bool]] = {}
    for maker in MAKERS.get(situation.job.ref.group, ()):
        if "deployments.apps" in facts.unread or not facts.get("deployments.apps", maker.ref.namespace, maker.ref.name):
            continue
        try:
            answers = allowed(cluster, maker.rules, namespace=situation.job.ref.namespace, user=maker.account(facts))
        except ApiError as error:
            why = unread(error, _REVIEW, "what accounts may do")
            facts = replace(
                facts, unread={**facts.unread, OPERATOR_ACCESS.name: why}, found={**facts.found, OPERATOR_ACCESS: why}
            )
            return replace(situation, facts=facts)
        access[maker.component] = {str(rule): answer for rule, answer in answers.items()}
    return replace(situation, facts=replace(facts, found={**facts.found, OPERATOR_ACCESS: access}))


def _with(situation: Situation, answers: Mapping[str, tuple[Object, ...] | Unread]) -> Situation:
    facts = situation.facts
    objects = {name: answer for name, answer in answers.items() if not isinstance(answer, Unread)}
    missing = {name: answer for name, answer in answers.items() if isinstance(answer, Unread)}
    more = replace(facts, objects={**facts.objects, **objects}, unread={**facts.unread, **missing})
    return replace(situation, facts=more)
