"""What admission makes of the job's pods: another scheduler, nodes that it is held to, containers and limits of others.

Rules: none of its own: a dry run of a pod as the job's template has it shows what the API server stores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kubeflow_volcano.cluster.admission.alterations import Alteration
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Fact
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.filters import refusals
from kubeflow_volcano.validators.explain.placement.nodes import Wish, nodes_with_pods
from kubeflow_volcano.validators.explain.placement.pod_sets import wish_of

_REASON = "ChangedAtAdmission"
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
    """What admission changes of the job's pods; it blocks where it keeps them from every node or their scheduler."""
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
