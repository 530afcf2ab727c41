"""The scheduler of the pods: does it run, is it configured for gangs, do all members name it, has it seen them."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.gangs import OTHERS, OtherGangScheduler
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.cluster.volcano import scheduler_names
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.model import GROUP_NAME, VOLCANO, Finding, Situation, finding, pod_group_name
from kubeflow_volcano.validators.explain.scheduling.kueue import GATES, GROUP, holds, is_served
from kubeflow_volcano.validators.subjects.gang import scheduler_configuration
from kubeflow_volcano.validators.subjects.issues import age

_DEFAULT = "default-scheduler"
_PATIENCE_SECONDS = 10.0


def scheduler(situation: Situation) -> Iterator[Finding]:
    """The pods' scheduler is not working, or does not schedule them as one gang.

    Rules: responsibleForPod and getJobID of pkg/scheduler/cache and api of Volcano, v1.8.0 to v1.15.1 (schedulerName,
    the annotation of the PodGroup), and those of subjects/gang about the configuration.
    """
    names = {_name_of(pod) for pod in situation.unplaced}
    if situation.group and not situation.pods and situation.unscheduled > 0:
        names |= {VOLCANO}  # it admits the PodGroup before the controller creates pods
    if VOLCANO in names:
        yield from _volcano(situation)
    if situation.group:
        yield from _scheduled_alone(situation)
    for pod in situation.unplaced:
        name = _name_of(pod)
        if (other := OTHERS.get(name)) and ("message" in _scheduled(pod) or is_unnoticed(pod, situation)):
            yield _of_other(other, pod, situation)
            return
        if name not in {VOLCANO, _DEFAULT, *OTHERS} and is_unnoticed(pod, situation):
            yield finding(
                "SchedulerUnknown",
                f"{Ref.of(pod)} names the scheduler {name}, but no scheduler has handled it for "
                f"{age(pod, situation.facts):.0f} s.",
                needed=f"a running scheduler {name}.",
                todo=f"correct schedulerName in the pod template ({VOLCANO} for gangs), and recreate the job.",
                objects=[Ref.of(pod)],
            )
            return


def _of_other(other: OtherGangScheduler, pod: Object, situation: Situation) -> Finding:
    """What is known of a pod that another gang scheduler is to place: its marks, and the last words about it."""
    meta = pod["metadata"]
    marks = [f"{key}: {value}" for field, key in other.marks for value in [(meta.get(field) or {}).get(key)] if value]
    message = _scheduled(pod).get("message")
    silent = f"nothing has handled it for {age(pod, situation.facts):.0f} s"
    words = f'it says "{message}"' if message else silent
    return finding(
        "SchedulerOfOthers",
        f"{Ref.of(pod)} is for {other.title} (schedulerName {other.scheduler}), whose rules are not known here: "
        f"{words}.",
        needed=f"a running {other.title} with room in its queue for the gang.",
        todo=f"look at its queue and at {other.podgroups}, and read its log; for gangs of Volcano, set schedulerName "
        f"{VOLCANO} and recreate the job.",
        objects=[Ref.of(pod)],
        commands=[f"kubectl get crd {other.podgroups}", f"kubectl -n {meta['namespace']} get {other.podgroups}"],
        details=marks or [f"it has none of its marks: {', '.join(key for _, key in other.marks)}"],
    )


def gates(situation: Situation) -> Iterator[Finding]:
    """Pods that no scheduler may place until a controller removes their scheduling gates.

    The gates of Kueue are left out where its own findings explain them.

    Rules: pkg/scheduler/framework/plugins/schedulinggates of Kubernetes, v1.27 to v1.37; the API server binds no such
    pod for any scheduler (setPodHostAndAnnotations of pkg/registry/core/pod/storage).
    """
    told = GATES if holds(situation) else frozenset()
    gated = [
        pod for pod in situation.unplaced if {item["name"] for item in pod["spec"].get("schedulingGates") or ()} - told
    ]
    every = (item["name"] for pod in gated for item in pod["spec"]["schedulingGates"])
    names = dict.fromkeys(name for name in every if name not in told)
    if gated and names.keys() <= GATES and is_served(situation) is False:
        yield finding(
            "Gated",
            f"{counted(len(gated), 'pod')} with gates of Kueue: {', '.join(names)}. The API server serves no {GROUP}.",
            needed="Kueue, which removes these gates, or pods without them.",
            todo="install Kueue, or recreate the job without its label.",
            objects=[Ref.of(pod) for pod in gated[:1]],
        )
    elif gated:
        yield finding(
            "Gated",
            f"{counted(len(gated), 'pod')} with scheduling gates: {', '.join(names)}.",
            needed="pods without scheduling gates.",
            todo="check the controllers that set these gates: they must remove them.",
            objects=[Ref.of(pod) for pod in gated[:1]],
        )


def _volcano(situation: Situation) -> Iterator[Finding]:
    place = situation.facts.expectations.scheduler
    live = situation.facts.get("deployments.apps", place.namespace, place.name)
    state = assess(live) if live else None
    if state is None or state.state is not State.READY:
        yield finding(
            "SchedulerDown" if state else "SchedulerMissing",
            state.message if state else f"{place} does not exist.",
            needed="Volcano's scheduler, which the pods name.",
            todo="bring it up." if state else "install Volcano.",
            objects=[place],
            commands=[f"kubectl -n {place.namespace} get deployment,pod"],
        )
        return
    if live and VOLCANO not in (names := scheduler_names(live)):
        yield finding(
            "OtherName",
            f"{place} was started with --scheduler-name {', '.join(names)}, and passes over pods of schedulerName "
            f"{VOLCANO}.",
            needed=f"a scheduler that answers to {VOLCANO}.",
            todo=f"remove --scheduler-name from its arguments, or add --scheduler-name={VOLCANO}.",
            objects=[place],
        )
        return
    configuration = scheduler_configuration.read(live or {}, situation.facts)
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
    faults = scheduler_configuration.faults(configuration, scheduler_configuration.version(situation.facts))
    failing = [item for item in faults if item.fails]
    # A configuration that the scheduler refuses does not count: it goes on with the one before, which allocates.
    refused = any(item.reason in {"ActionUnknown", "Contradiction"} for item in failing)
    for item in failing:
        yield finding(
            item.reason,
            f"{configuration.ref}: {item.text.rstrip('?')}.",
            needed="actions that Volcano knows, allocate among them, and the plugin gang.",
            todo="correct the scheduler's configuration; Volcano reloads it within a minute.",
            objects=[configuration.ref],
            blocks=item.reason == "ActionMissing" and not refused,
        )


def _scheduled_alone(situation: Situation) -> Iterator[Finding]:
    """Members of another scheduler, or without the PodGroup's name, are not scheduled with the gang."""
    others = [pod for pod in situation.pods if _name_of(pod) != VOLCANO]
    if others:
        names = ", ".join(sorted({_name_of(pod) for pod in others}))
        yield finding(
            "OtherScheduler",
            f"{len(others)} of {len(situation.pods)} pods name the scheduler {names}, which ignores "
            f"{situation.group_ref} and places them one by one.",
            needed=f"schedulerName {VOLCANO} in every pod, for jobs that start as a gang.",
            todo=f"remove schedulerName from the pod templates, or set it to {VOLCANO}, and recreate the job.",
            objects=[Ref.of(pod) for pod in others[:1]],
            blocks=False,
        )
    name = situation.group["metadata"]["name"] if situation.group else ""
    strays = [pod for pod in situation.pods if pod_group_name(pod) != name]
    if strays and not others:
        yield finding(
            "NotInGroup",
            f"{len(strays)} of {len(situation.pods)} pods do not name {situation.group_ref}: Volcano places "
            "each of them alone.",
            needed=f"the annotation {GROUP_NAME}: {name} on every pod of the gang.",
            todo="find what removes this annotation, which the operator sets: a webhook, or a pod template.",
            objects=[Ref.of(pod) for pod in strays[:1]],
        )


def _name_of(pod: Object) -> str:
    name: str = pod["spec"].get("schedulerName") or _DEFAULT
    return name


def _scheduled(pod: Object) -> Object:
    """The condition PodScheduled of a pod that no gate holds back; empty where a scheduler has not judged it."""
    return {} if pod["spec"].get("schedulingGates") else conditions(pod).get("PodScheduled", {})


def is_unnoticed(pod: Object, situation: Situation) -> bool:
    """Whether no scheduler has handled the pod, although it has existed for some seconds."""
    return "PodScheduled" not in conditions(pod) and age(pod, situation.facts) > _PATIENCE_SECONDS
