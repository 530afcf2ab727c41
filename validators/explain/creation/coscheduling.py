"""Jobs whose gangs scheduler-plugins schedules: its PodGroups, in place of Volcano's.

Its scheduler places no member while fewer pods than minMember have the group's label, and makes the others wait until
that many have a node (PreFilter and Permit of pkg/coscheduling, v0.30.6). It has no queues, and reports in the
conditions of the pods, not of the PodGroup, why a gang waits.

Rules: pkg/coscheduling and pkg/controllers of scheduler-plugins, v0.29.7 to v0.34.7.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.gangs import SCHEDULER_PLUGINS
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.explain.creation.podgroups import not_enough_pods, too_high_minimum
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.scheduling.schedulers import is_unnoticed
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of, flags_of
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING
from kubeflow_volcano.validators.subjects.gang.recognition import named_by
from kubeflow_volcano.validators.subjects.issues import age

SECOND_SCHEDULER = Ref("apps/v1", "Deployment", SCHEDULER_PLUGINS.name, SCHEDULER_PLUGINS.scheduler)
"""The scheduler of scheduler-plugins, beside the default one."""


def is_coscheduled(situation: Situation) -> bool:
    """Whether scheduler-plugins schedules the job's gang, by its PodGroup or else by the operator's arguments."""
    if situation.group:
        return Ref.of(situation.group).api_version == SCHEDULER_PLUGINS.api_version
    if situation.job.family != TRAINING.job_group:
        return False
    operator = situation.facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)
    if operator is None or named_by(operator) is not SCHEDULER_PLUGINS:
        return False
    name = flags_of(container_of(operator))["--gang-scheduler-name"]
    return name in {SCHEDULER_PLUGINS.name, SCHEDULER_PLUGINS.scheduler}


def coscheduling(situation: Situation) -> Iterator[Finding]:
    """The PodGroup is missing, can never reach minMember, or is ignored by the scheduler of its pods."""
    job, group = situation.job, situation.group_ref
    if group is None:
        situation.facts.demand(SCHEDULER_PLUGINS.podgroups)
        yield finding(
            "PodGroupMissing",
            f"{job.ref} has no PodGroup of {SCHEDULER_PLUGINS.group}.",
            needed=f"the PodGroup that {TRAINING.ref} creates for it.",
            todo="check that the API server serves this kind, and read the operator's log: the operator looks for the "
            "kind only at its start.",
            objects=[job.ref, TRAINING.ref],
            commands=[
                f"kubectl get crd {SCHEDULER_PLUGINS.podgroups}",
                f"kubectl -n {TRAINING.ref.namespace} logs deployment/{TRAINING.ref.name} --tail 50",
            ],
        )
        return
    if job.roles and situation.minimum > job.wanted:
        yield too_high_minimum(situation)
    elif not job.roles and len(situation.pods) < situation.minimum:
        yield not_enough_pods(situation, SCHEDULER_PLUGINS)
    unseen = [pod for pod in situation.unplaced if is_unnoticed(pod, situation)]
    if unseen:
        yield finding(
            "SchedulerSilent",
            f"no scheduler has handled {Ref.of(unseen[0])} for {age(unseen[0], situation.facts):.0f} s.",
            needed="a running scheduler with the name in the pod's schedulerName.",
            todo="check that the scheduler is up, and read its log.",
            objects=[Ref.of(unseen[0]), SECOND_SCHEDULER],
            commands=[f"kubectl -n {SECOND_SCHEDULER.namespace} get deployment,pod"],
        )
    names = {pod["spec"].get("schedulerName") or "default-scheduler" for pod in situation.unplaced}
    if others := sorted(names - {SCHEDULER_PLUGINS.scheduler}):
        yield finding(
            "OtherScheduler",
            f"pods of {group} name the scheduler {', '.join(others)} instead of {SCHEDULER_PLUGINS.scheduler}.",
            needed="a scheduler with the plugin Coscheduling: others ignore PodGroups.",
            todo=f"set schedulerName {SCHEDULER_PLUGINS.scheduler} in the pod template, and the same name in the "
            f"operator's --gang-scheduler-name, unless {others[0]} also has that plugin.",
            objects=[group],
            blocks=False,
        )
