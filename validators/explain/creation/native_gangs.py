"""Jobs whose gangs Kubernetes itself schedules: its PodGroups, which pods name in their spec.

kube-scheduler looks at no member before the PodGroup exists and minCount pods name it (PreEnqueue of plugin
GangScheduling); pods of one group must have the same scheduler, and the priority of the group (validatePodGroup). It
reports in the condition PodGroupInitiallyScheduled, once it has looked.

Rules: pkg/scheduler of Kubernetes v1.37.2, schedule_one_podgroup.go and framework/plugins/gangscheduling.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.gangs import KUBERNETES, OTHERS, VOLCANO, membership
from kubeflow_volcano.cluster.api.native_gangs import GATE
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding

_FIELD = ".".join(KUBERNETES.mark)
_STRANGERS = frozenset({VOLCANO.scheduler, *OTHERS})
"""Schedulers that are known not to be a kube-scheduler: these read no PodGroup of Kubernetes."""
_MANIFEST = "kubectl -n kube-system get pods -l component=kube-scheduler -o yaml"


def is_native(situation: Situation) -> bool:
    """Whether Kubernetes schedules the job's gang, by its PodGroup or else by what its pods name."""
    return situation.gang is KUBERNETES


def native_gang(situation: Situation) -> Iterator[Finding]:
    """The PodGroup is missing, can never reach minCount, or does not fit its pods.

    Rules: pkg/scheduler/schedule_one_podgroup.go (validatePodGroup) of Kubernetes v1.37.2.
    """
    group = situation.group
    if group is None:
        yield from _missing(situation)
        return
    ref, least = Ref.of(group), KUBERNETES.minimum_of(group)
    if since := group["metadata"].get("deletionTimestamp"):
        yield finding(
            "BeingDeleted",
            f"{ref} is being deleted since {since}: kube-scheduler still places its pods, and it goes after the last "
            "of them; pods that come after that wait for a PodGroup of its name.",
            needed="a PodGroup that stays as long as the job.",
            todo="create it again once it is gone, with an ownerReference to the job instead of deleting it by hand.",
            objects=[ref],
            blocks=False,
        )
    if len(situation.pods) < least:
        count = counted(len(situation.pods), "pod")
        yield finding(
            "NotEnoughPods",
            f"{ref} has minCount {least}, and {count} {'names' if len(situation.pods) == 1 else 'name'} it: "
            "kube-scheduler looks at none of them before the others exist.",
            needed="at least minCount pods in the group.",
            todo=f"create the missing pods with {_FIELD}: {ref.name}, or lower minCount, which may change.",
            objects=[ref],
        )
    yield from _disagreeing(situation, group)
    told = KUBERNETES.phase_of(group) or _strangers(situation)
    if situation.placed and not told and len(situation.placed) < least:
        yield finding(
            "GangOff",
            f"{counted(len(situation.placed), 'pod')} of {ref} {'has' if len(situation.placed) == 1 else 'have'} a "
            f"node, and no scheduler has written {KUBERNETES.placed}: they were placed one by one.",
            needed=f"a kube-scheduler with the feature gate {GATE} on.",
            todo=f"start kube-scheduler with --feature-gates={GATE}=true, and create the pods again.",
            objects=[ref],
            commands=[_MANIFEST],
        )


def read_by_others(situation: Situation) -> Iterator[Finding]:
    """Pods that name a PodGroup of Kubernetes, and that another gang scheduler places by a PodGroup of its own.

    Rule: pkg/scheduler/api/job_info.go of Volcano v1.15.1 takes the group from an annotation of the pod alone.
    """
    named = {name for pod in situation.pods if (name := KUBERNETES.named_by(pod))}
    if named and not is_native(situation):
        yield _not_read(few(sorted(named)), situation.job.ref, situation.gang.scheduler, blocks=False)


def waits(situation: Situation) -> Iterator[Finding]:
    """What the scheduler itself says of a gang that it does not place, or that it has said nothing."""
    group = situation.group
    if group is None:
        return
    ref = Ref.of(group)
    if refusal := KUBERNETES.refusal_of(group):
        yield finding(
            "GangWaits",
            f"{ref} waits, and kube-scheduler says of it ({refusal.get('reason')}): "
            f"{str(refusal.get('message') or 'nothing more').rstrip('.')}.",
            needed=f"room for {counted(situation.minimum, 'pod')} at one time.",
            todo="free that room, or lower minCount if the job can start smaller.",
            objects=[ref],
        )
    else:
        yield finding(
            "SchedulerSilent",
            f"no scheduler has looked at {ref}: it has no condition {KUBERNETES.placed}.",
            needed=f"a kube-scheduler that runs with the feature gate {GATE} on.",
            todo=f"see that kube-scheduler runs, and has --feature-gates={GATE}=true.",
            objects=[ref],
            commands=[_MANIFEST],
        )


def _missing(situation: Situation) -> Iterator[Finding]:
    situation.facts.demand(KUBERNETES.podgroups)
    name = next(name for gang, name in map(membership, situation.pods) if gang is KUBERNETES)
    space = situation.job.ref.namespace
    yield finding(
        "PodGroupMissing",
        f"pods of {situation.job.ref} name the PodGroup {space}/{name} of {KUBERNETES.api_version}, which does not "
        "exist: kube-scheduler does not look at them.",
        needed="that PodGroup; no training operator makes it.",
        todo=f"create the PodGroup {name} with spec.{'.'.join(KUBERNETES.minimum)}; the pods may stay.",
        objects=[situation.job.ref],
        commands=[f"kubectl -n {space} get {KUBERNETES.podgroups}"],
    )


def _schedulers(situation: Situation) -> set[str]:
    return {pod["spec"].get("schedulerName") or KUBERNETES.scheduler for pod in situation.pods}


def _strangers(situation: Situation) -> list[str]:
    return sorted(_schedulers(situation) & _STRANGERS)


def _disagreeing(situation: Situation, group: Object) -> Iterator[Finding]:
    """Pods that kube-scheduler refuses to take as one group, or that another scheduler places alone."""
    ref = Ref.of(group)
    names = _schedulers(situation)
    if strangers := _strangers(situation):
        yield _not_read(ref.name, ref, few(strangers), blocks=True)
    elif len(names) > 1:
        yield finding(
            "PodsDisagree",
            f"pods of {ref} name different schedulers ({few(sorted(names))}): kube-scheduler places none of them.",
            needed="one schedulerName in all pods of a group.",
            todo="write the same schedulerName into all pod templates, and create the pods again.",
            objects=[ref],
        )
    wanted = group["spec"].get("priority") or 0
    others = {pod["spec"].get("priority") or 0 for pod in situation.pods} - {wanted}
    if others:
        yield finding(
            "PodsDisagree",
            f"{ref} has priority {wanted}, and its pods have {few([str(item) for item in sorted(others)])}: "
            "kube-scheduler places none of them.",
            needed="the same priority in the PodGroup and in all of its pods.",
            todo="name the same class in priorityClassName of the PodGroup and of the pod template; neither changes "
            "later, so create both again.",
            objects=[ref],
        )


def _not_read(group: str, ref: Ref, scheduler: str, *, blocks: bool) -> Finding:
    """Another scheduler places the pods of a group: they start in part, for all that the group says."""
    return finding(
        "OtherScheduler",
        f"pods of {ref} name the PodGroup {group} of {KUBERNETES.api_version} and the scheduler {scheduler}, which "
        "reads no such PodGroup: it places them without that gang.",
        needed="a kube-scheduler, which places all pods of the group.",
        todo=f"remove schedulerName from the pod template; or remove {_FIELD}, and use that scheduler's PodGroup.",
        objects=[ref],
        blocks=blocks,
    )
