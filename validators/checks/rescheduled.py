"""What is said where admission changes what makes the pods of an experiment a gang."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kubeflow_volcano.catalog.gangs import GangScheduler
from kubeflow_volcano.cluster.admission.rescheduling import Rescheduling
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, failed

_OF_REHEARSAL = "rehearsal-"


def rescheduled(found: Rescheduling, facts: Facts, because: Sequence[str] = ()) -> Outcome:
    """The finding: the webhook that does it, how to exempt the pods, and the command that shows its selectors.

    Webhooks of the release and of a rehearsal leave the field alone; they are named where there are no others.
    """
    suspects, who = _suspects(found.hooks, facts)
    return failed(
        "SchedulerChanged",
        f"pods that name the scheduler {found.asked} are stored with {found.given}: {who} changes them at admission, "
        "so that no gang is scheduled as one.",
        expected=f"pods that keep schedulerName {found.asked}",
        observed={"asked": found.asked, "given": found.given, "webhooks": [str(ref) for ref in suspects]},
        objects=suspects,
        todo=f"let it leave out pods that name {found.asked}: by matchConditions (Kubernetes 1.28 and later), or the "
        "namespaces of jobs by its namespaceSelector.",
        commands=[f"kubectl get {ref.kind.lower()} {ref.name} -o yaml" for ref in suspects],
        because=tuple(because),
    )


def ungrouped(hooks: Sequence[Ref], gang: GangScheduler, facts: Facts, because: Sequence[str] = ()) -> Outcome:
    """The finding where pods are stored without the name of their PodGroup, which `hooks` are called for."""
    what = f"pods that name their PodGroup in {gang.mark_text} are stored without it", "each is scheduled alone"
    return replace(_changed(what, f"pods that keep {gang.mark_text}", hooks, facts), because=tuple(because))


def resized(
    given: int, hooks: Sequence[Ref], gang: GangScheduler, facts: Facts, because: Sequence[str] = ()
) -> Outcome:
    """The finding where PodGroups are stored with another number of pods, `given`, which `hooks` are called for."""
    field = gang.minimum[-1]
    what = f"PodGroups are stored with {field} {given}, whatever they say", "gangs start in part or never"
    found = _changed(what, f"PodGroups that keep {field}", hooks, facts)
    return replace(found, reason="MinimumChanged", because=tuple(because))


def _changed(what: tuple[str, str], needed: str, hooks: Sequence[Ref], facts: Facts) -> Outcome:
    """The finding for what is stored and what comes of it."""
    suspects, who = _suspects(hooks, facts)
    return failed(
        "NotInGroup",
        f"{what[0]}: {who} changes them at admission, so that {what[1]}.",
        expected=needed,
        observed={"webhooks": [str(ref) for ref in suspects]},
        objects=suspects,
        todo="let what changes them leave the field as it is, or leave out the namespaces of jobs by its "
        "namespaceSelector.",
        commands=[f"kubectl get {ref.kind.lower()} {ref.name} -o yaml" for ref in suspects],
    )


def _suspects(hooks: Sequence[Ref], facts: Facts) -> tuple[list[Ref], str]:
    """Those that are neither the release's nor a rehearsal's, or all where there are no others; and in words."""
    ours = facts.expectations.webhooks
    others = [ref for ref in hooks if ref not in ours and not ref.name.startswith(_OF_REHEARSAL)]
    suspects = others or [*hooks]
    return suspects, few([str(ref) for ref in suspects], 3) or "a webhook or an admission policy"
