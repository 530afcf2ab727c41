"""Who is to place the pods: does that scheduler run, is it told of the gang, has it looked at the pods."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess
from validators.explain.model import GROUP_NAME, VOLCANO, Finding, Situation, finding
from validators.explain.queueing.queues import SCHEDULER
from validators.subjects.gang import scheduler_configuration
from validators.subjects.issues import age

__all__ = ["gates", "schedulers", "unnoticed"]

_DEFAULT = "default-scheduler"
_PATIENCE_SECONDS = 10.0


def schedulers(situation: Situation) -> Iterator[Finding]:
    """The scheduler of the pods, and whether the gang's members and their PodGroup have the same one."""
    names = {_scheduler(pod) for pod in situation.unplaced}
    if situation.group and not situation.pods and len(situation.placed) < situation.minimum:
        names |= {VOLCANO}  # which has to let the PodGroup in before pods are made
    if VOLCANO in names:
        yield from _volcano(situation)
    if situation.group:
        yield from _not_handed_over(situation)
    for pod in situation.unplaced:
        name = _scheduler(pod)
        if name not in {VOLCANO, _DEFAULT} and unnoticed(pod, situation):
            yield finding(
                "SchedulerUnknown",
                f"{Ref.of(pod)} is for the scheduler {name}, and none has looked at it for "
                f"{age(pod, situation.facts):.0f} s.",
                needed="a scheduler of that name.",
                todo=f"correct schedulerName in the pod template ({VOLCANO} for gangs), and make the job anew.",
                objects=[Ref.of(pod)],
            )
            return


def gates(situation: Situation) -> Iterator[Finding]:
    """Pods that nobody may place yet: somebody has to remove their gates."""
    gated = [pod for pod in situation.unplaced if pod["spec"].get("schedulingGates")]
    if gated:
        names = dict.fromkeys(item["name"] for pod in gated for item in pod["spec"]["schedulingGates"])
        yield finding(
            "Gated",
            f"{len(gated)} pods have scheduling gates: {', '.join(names)}.",
            needed="pods without gates.",
            todo="see who removes these gates; it is what put them there.",
            objects=[Ref.of(pod) for pod in gated[:1]],
        )


def _volcano(situation: Situation) -> Iterator[Finding]:
    found = situation.facts.get("deployments.apps", SCHEDULER.namespace, SCHEDULER.name)
    state = assess(found) if found else None
    if state is None or state.state is not State.READY:
        yield finding(
            "SchedulerDown" if state else "SchedulerMissing",
            state.message if state else f"{SCHEDULER} does not exist.",
            needed="Volcano's scheduler, for which the pods wait.",
            todo="bring it up." if state else "install Volcano.",
            objects=[SCHEDULER],
            commands=[f"kubectl -n {SCHEDULER.namespace} get deployment,pod"],
        )
        return
    configuration = scheduler_configuration.read(found or {}, situation.facts)
    if isinstance(configuration, scheduler_configuration.Unusable):
        yield finding(
            configuration.reason,
            configuration.message,
            needed="a configuration that the scheduler can read.",
            todo=configuration.todo,
            objects=[configuration.ref],
            blocks=False,
        )
        return
    for reason, text in scheduler_configuration.faults(configuration, scheduler_configuration.version(situation.facts)):
        yield finding(
            reason,
            f"{configuration.ref}: {text}.",
            needed="actions enqueue and allocate; plugins gang, predicates, and proportion or capacity.",
            todo="correct the scheduler's configuration; it is read again within a minute.",
            objects=[configuration.ref],
            blocks="allocate" not in configuration.actions,
        )


def _not_handed_over(situation: Situation) -> Iterator[Finding]:
    """Members that another scheduler places do not count for the gang, nor does it hold them back."""
    others = [pod for pod in situation.pods if _scheduler(pod) != VOLCANO]
    if others:
        names = ", ".join(sorted({_scheduler(pod) for pod in others}))
        yield finding(
            "OtherScheduler",
            f"{len(others)} of {len(situation.pods)} pods are for {names}, which knows nothing of "
            f"{situation.group_ref}: it places them one by one.",
            needed=f"schedulerName {VOLCANO} in every pod, where the job is to start as a gang.",
            todo=f"take schedulerName out of the pod templates, or set it to {VOLCANO}, and make the job anew.",
            objects=[Ref.of(pod) for pod in others[:1]],
            blocks=False,
        )
    name = situation.group["metadata"]["name"] if situation.group else ""
    strays = [pod for pod in situation.pods if (pod["metadata"].get("annotations") or {}).get(GROUP_NAME) != name]
    if strays and not others:
        yield finding(
            "NotInGroup",
            f"{len(strays)} of {len(situation.pods)} pods do not name {situation.group_ref}: they are placed singly.",
            needed=f"the annotation {GROUP_NAME}: {name} on every pod of the gang.",
            todo="see what changes annotations of pods; the operator sets this one.",
            objects=[Ref.of(pod) for pod in strays[:1]],
        )


def _scheduler(pod: Object) -> str:
    name: str = pod["spec"].get("schedulerName") or _DEFAULT
    return name


def unnoticed(pod: Object, situation: Situation) -> bool:
    """Whether no scheduler has looked at the pod, although it had the time."""
    return "PodScheduled" not in conditions(pod) and age(pod, situation.facts) > _PATIENCE_SECONDS
