"""Jobs whose gangs scheduler-plugins make: what is to be told of their PodGroups, in place of what Volcano does.

Their scheduler places no member while fewer pods than minMember bear the group's label, and lets the others wait until
so many have a node (PreFilter and Permit of pkg/coscheduling, v0.30.6). It has no queues, and writes into no PodGroup
why it waits: that stands in the conditions of the pods.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS
from kubeflow_volcano.cluster.objects import Ref
from validators.explain.model import Finding, Situation, finding
from validators.explain.queueing.schedulers import unnoticed
from validators.subjects.gang.operator_flags import container_of, flags_of
from validators.subjects.gang.operators import TRAINING
from validators.subjects.gang.recognition import named_by
from validators.subjects.issues import age

__all__ = ["SECOND", "coscheduling", "made_by_plugins"]

SECOND = Ref("apps/v1", "Deployment", SCHEDULER_PLUGINS.name, SCHEDULER_PLUGINS.scheduler)
"""The scheduler of scheduler-plugins."""
_LABEL = SCHEDULER_PLUGINS.mark[1]


def made_by_plugins(situation: Situation) -> bool:
    """Whether the job's gang is one of scheduler-plugins: its PodGroup is, or is to be by the operator's arguments."""
    if situation.group:
        return Ref.of(situation.group).api_version == SCHEDULER_PLUGINS.api_version
    if situation.job.ref.group != TRAINING.job_group:
        return False
    operator = situation.facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)
    if operator is None or named_by(operator) is not SCHEDULER_PLUGINS:
        return False
    return flags_of(container_of(operator))["--gang-scheduler-name"] in {SCHEDULER_PLUGINS.name, SECOND.name}


def coscheduling(situation: Situation) -> Iterator[Finding]:
    """The PodGroup is missing, can never be whole, or is not heeded by whoever places its pods."""
    job, group = situation.job, situation.group_ref
    if group is None:
        situation.facts.demand(SCHEDULER_PLUGINS.podgroups)
        yield finding(
            "PodGroupMissing",
            f"{job.ref} has no PodGroup of {SCHEDULER_PLUGINS.group}.",
            needed=f"the PodGroup that {TRAINING.ref} makes for it.",
            todo="see that this kind is served, and read the operator's log: it looks for it once, at its start.",
            objects=[job.ref, TRAINING.ref],
            commands=[
                f"kubectl get crd {SCHEDULER_PLUGINS.podgroups}",
                f"kubectl -n {TRAINING.ref.namespace} logs deployment/{TRAINING.ref.name} --tail 50",
            ],
        )
        return
    if job.roles and situation.minimum > job.wanted:
        yield finding(
            "MinMemberTooHigh",
            f"{group} wants {situation.minimum} pods together, and the job has {job.wanted}.",
            needed="a minMember that the job's replicas can reach.",
            todo="lower minAvailable in the job, or raise replicas.",
            objects=[job.ref],
        )
    elif not job.roles and len(situation.pods) < situation.minimum:
        yield finding(
            "NotEnoughPods",
            f"{group} wants {situation.minimum} pods together; {len(situation.pods)} name it in their label {_LABEL}.",
            needed="as many pods as minMember says.",
            todo="create the missing pods with that label, or lower minMember.",
            objects=[job.ref],
        )
    unseen = [pod for pod in situation.unplaced if unnoticed(pod, situation)]
    if unseen:
        yield finding(
            "SchedulerSilent",
            f"no scheduler has looked at {Ref.of(unseen[0])} for {age(unseen[0], situation.facts):.0f} s.",
            needed="a scheduler of the name that its schedulerName says.",
            todo="see whether it is up, and read its log.",
            objects=[Ref.of(unseen[0]), SECOND],
            commands=[f"kubectl -n {SECOND.namespace} get deployment,pod"],
        )
    names = {pod["spec"].get("schedulerName") or "default-scheduler" for pod in situation.unplaced}
    if others := sorted(names - {SCHEDULER_PLUGINS.scheduler}):
        yield finding(
            "OtherScheduler",
            f"pods of {group} are for {', '.join(others)}, and not for {SCHEDULER_PLUGINS.scheduler}.",
            needed="the scheduler with the plugin Coscheduling, which alone heeds PodGroups.",
            todo=f"name it in schedulerName of the pod template and in the operator's --gang-scheduler-name, unless "
            f"{others[0]} has that plugin, too.",
            objects=[group],
            blocks=False,
        )
