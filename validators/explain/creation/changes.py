"""What others made of the job and its pods: admission at their creation, and other field managers since then.

Rules: none of its own: a dry run of a pod as the job's template has it shows what the API server stores, and
managedFields of an object who wrote each of its fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kubeflow_volcano.cluster.admission.alterations import Alteration
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.ownership import Written, written_since
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Fact
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.filters import refusals
from kubeflow_volcano.validators.explain.placement.nodes import Wish, nodes_with_pods
from kubeflow_volcano.validators.explain.placement.pod_sets import wish_of

_REASON = "ChangedAtAdmission"
_SINCE = "ChangedSinceCreation"
_MOST_FIELDS, _LONG = 4, 64
_SHOWN = "kubectl -n {namespace} get -o yaml --show-managed-fields"
_OF_REHEARSAL = "rehearsal-"
"""Of the webhook that gives pods of a rehearsal cluster its simulated nodes, which its reports name anyway."""
_FOLLOW = ("NoNodeFits", "OtherScheduler", "SchedulerOfOthers", "SchedulerUnknown")
"""Beginnings of the reasons of findings about pods that admission changed so."""


@dataclass(frozen=True, slots=True)
class Changed:
    """What admission makes of a pod of a role: as it is sent, as it is stored, and the difference in words.

    `binding` says whether the difference may decide about the pod's node.
    """

    role: str
    sent: Object
    stored: Object
    alteration: Alteration
    binding: bool


CHANGES = Fact[tuple[Changed, ...]]("changes at admission", lambda _cluster, _facts: (), ())
"""What dry runs show of the pods of each role that admission changes."""


def changes(situation: Situation) -> Iterator[Finding]:
    """What admission changes of the job's pods; it blocks where it keeps them from every node or their scheduler.

    Rules: none of its own.
    """
    alike: dict[Alteration, list[Changed]] = {}
    for item in situation.facts.known(CHANGES):
        if item.alteration.hooks and all(ref.name.startswith(_OF_REHEARSAL) for ref in item.alteration.hooks):
            continue
        alike.setdefault(item.alteration, []).append(item)
    for alteration, items in alike.items():
        hooks = alteration.hooks
        yield finding(
            _REASON,
            f"{few([item.role for item in items], 3)}: {alteration}.",
            needed="pods that are stored as the job's template has them, in what decides about their place.",
            todo="if that is not wanted, let what changes them leave these pods out: by the labels that are named, by "
            "its namespaceSelector, objectSelector or matchConditions; or write into the template what they need."
            if hooks
            else "if that is not wanted, find the LimitRange, admission plugin or webhook that does it.",
            objects=[*hooks, situation.job.ref],
            commands=[f"kubectl get {ref.kind.lower()} {ref.name} -o yaml" for ref in hooks],
            blocks=any(_hinders(item, situation) for item in items),
        )


def rewritten(situation: Situation) -> Iterator[Finding]:
    """Fields of the job, its PodGroup and its pods that others than their creators wrote; it never blocks by itself.

    Rule: managedFields of apimachinery, pkg/apis/meta/v1 and util/managedfields, v1.22 to v1.37.
    """
    objects = (situation.obj, *([situation.group] if situation.group else ()), *situation.pods)
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[Object, tuple[Written, ...]]]] = {}
    for obj in objects:
        if found := written_since(obj):
            kind = str(obj.get("kind", ""))
            alike.setdefault((kind, tuple((item.field, item.manager) for item in found)), []).append((obj, found))
    for items in alike.values():
        obj, found = items[0]
        refs = [*dict.fromkeys(Ref.of(item) for item, _ in items)]
        managers = dict.fromkeys(item.manager for item in found)
        told = [
            f"{few([_valued(item, obj) for item in found if item.manager == manager], _MOST_FIELDS)} by field manager "
            f"{manager} ({max(item.time for item in found if item.manager == manager)})"
            for manager in managers
        ]
        yield finding(
            _SINCE,
            f"{few([str(ref) for ref in refs], 2)} is no longer as it was created: {'; '.join(told)}.",
            needed="a spec that is only its creator's, unless others are meant to write these fields.",
            todo="if that is not wanted, find what writes under this name of a field manager (a queueing system, an "
            "autoscaler, a policy engine, a person) and let it leave the object out.",
            objects=refs,
            commands=[f"{_SHOWN.format(namespace=refs[0].namespace)} {_resource(refs[0])} {refs[0].name}"],
            blocks=False,
        )


def _resource(ref: Ref) -> str:
    """A kind as kubectl takes it, also where another group has a kind of this name."""
    return f"{ref.kind.lower()}.{ref.group}" if ref.group else ref.kind.lower()


def _valued(item: Written, obj: Object) -> str:
    """A field with its value, where it is one word and lies in no list."""
    value: object = obj
    for key in item.path:
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, str | int | bool) or len(str(value)) > _LONG:
        return item.field
    return f"{item.field} ({str(value).lower() if isinstance(value, bool) else value})"


def _hinders(item: Changed, situation: Situation) -> bool:
    """Whether the pod as it is stored has no scheduler of its gang or no node, and would have had it as it was sent."""
    if not item.binding:
        return False
    asked = item.sent["spec"].get("schedulerName")
    if asked and item.stored["spec"].get("schedulerName") != asked:
        return True
    nodes = nodes_with_pods(situation.facts)
    sent, stored = (wish_of(pod, situation) for pod in (item.sent, item.stored))

    def is_refused(wish: Wish) -> bool:
        return all(refusals(wish, node, nodes) for node in nodes)

    return bool(nodes) and is_refused(stored) and not is_refused(sent)


def following(findings: Iterable[Finding], roles: Sequence[str]) -> list[Finding]:
    """The findings, in which those that follow from what admission changed of every role no longer stand as causes."""
    every = list(findings)
    causes = [item for item in every if item.reason == _REASON and item.blocks]
    told = " ".join(item.problem.found for item in causes)
    if not causes or not all(role in told for role in roles):
        return every
    return [_consequence(item) if item.reason.startswith(_FOLLOW) else item for item in every]


def _consequence(item: Finding) -> Finding:
    problem = Problem(item.problem.found, item.problem.needed, f"see {_REASON}, from which this follows.")
    return replace(item, problem=problem, blocks=False, changes=())
