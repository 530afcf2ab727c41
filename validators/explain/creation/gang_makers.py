"""What makes the gang of a kind of other projects: the switch of its operator, and fields of its own.

Rules: pkg/controller/podgroup.go of mpi-operator v0.8.0; controllers/ray/batchscheduler/volcano of KubeRay v1.6.0;
internal/scheduler/volcano of spark-operator v2.5.0; pkg/schedulerprovider of LeaderWorkerSet v0.8.0; the manual of
MindCluster about the arguments of its Ascend Operator. For pods whose controller makes none: buildPodGroupFromPod of
pkg/controllers/podgroup of Volcano, v1.14.1 and v1.15.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.catalog.gangs import VOLCANO as GANGS
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.explain.model import (
    VOLCANO,
    Finding,
    Situation,
    finding,
    is_for_single_pods,
    pod_group_name,
)


@dataclass(frozen=True, slots=True)
class Maker:
    """Which PodGroup `operator` makes once `switch` is given to it, and what the object itself says for that."""

    operator: str
    switch: str
    own: str
    podgroup: str

    @property
    def text(self) -> str:
        """All of it in one sentence without its end."""
        return f"the PodGroup {self.podgroup} that {self.operator} makes with {self.switch}" + (
            f", for objects with {self.own}" if self.own else ""
        )


_RAY = Maker("the operator of KubeRay", "--batch-scheduler=volcano", "", "ray-NAME-pg")
MAKERS: Mapping[tuple[str, str], Maker] = {
    ("kubeflow.org", "MPIJob"): Maker("mpi-operator", "--gang-scheduling=volcano", "", "of the job's name"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): Maker(
        "the controller of LeaderWorkerSet",
        "gangSchedulingManagement.schedulerProvider: volcano in its configuration",
        "schedulerName: volcano in both pod templates",
        "of each group",
    ),
    ("mindxdl.gitee.com", "AscendJob"): Maker(
        "Ascend Operator",
        "-enableGangScheduling=true",
        "spec.schedulerName: volcano, and minAvailable and queue in spec.runPolicy.schedulingPolicy",
        "of the job",
    ),
    ("ray.io", "RayCluster"): _RAY,
    ("ray.io", "RayJob"): _RAY,
    ("sparkoperator.k8s.io", "SparkApplication"): Maker(
        "spark-operator",
        "--enable-batch-scheduler=true",
        "spec.batchScheduler: volcano (its minMember is 1, so that the driver starts first, and its minResources are "
        "those of all)",
        "spark-NAME-pg",
    ),
}
"""By API group and kind."""
_OWNERS = frozenset(
    {("batch", "Job"), *(("apps", kind) for kind in ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet"))}
)
"""Kinds whose annotation Volcano reads of the owner of pods; a Deployment's are also those of its ReplicaSets."""
_FEWEST = 2
_MIN_MEMBER = f"{GANGS.group}/group-min-member"


def gang_maker(situation: Situation) -> Iterator[Finding]:
    """Pods of a kind of other projects that name Volcano, and whose PodGroup is gone or was never made."""
    job, group = situation.job, situation.group
    if not job.foreign or (group and (not is_for_single_pods(group) or situation.minimum > 1)):
        return
    pods = max(len(situation.pods), job.wanted)
    own = [pod for pod in situation.unplaced if pod["spec"].get("schedulerName") == VOLCANO]
    named = {name for pod in own if (name := pod_group_name(pod))}
    if named and group is None:
        yield _deleted(situation, sorted(named))
    elif pods >= _FEWEST and _asks(situation):
        yield _not_made(situation, pods)


def _deleted(situation: Situation, names: Sequence[str]) -> Finding:
    """Pods of a PodGroup that is gone; some operators delete it when the job ends, before its pods do."""
    job = situation.job
    situation.facts.demand(GANGS.podgroups)
    maker = MAKERS.get((job.ref.group, job.ref.kind))
    return finding(
        "PodGroupMissing",
        f"pods of {job.ref} name the PodGroup {few(names)}, which does not exist: Volcano places none of them.",
        needed=f"that PodGroup{f', which {maker.operator} makes' if maker else ''}.",
        todo=f"recreate the {job.ref.kind}, or create a PodGroup of that name with minMember: the pods may stay.",
        objects=[job.ref],
        commands=[f"kubectl -n {job.ref.namespace} get {GANGS.podgroups}"],
    )


def _not_made(situation: Situation, pods: int) -> Finding:
    job = situation.job
    maker = MAKERS.get((job.ref.group, job.ref.kind))
    name = GANGS.mark[-1]
    annotated = f"annotate the {job.ref.kind} so, or " if (job.ref.group, job.ref.kind) in _OWNERS else ""
    if maker:
        needed = maker.text
        todo = f"start it so{', and write these fields' if maker.own else ''}, and recreate the {job.ref.kind}."
    else:
        needed = f"the annotation {_MIN_MEMBER}, which Volcano 1.14 and later read of it" if annotated else "a PodGroup"
        todo = f"{annotated}create a PodGroup and name it in the pod template as {name}; then recreate its pods."
    return finding(
        "GangNotMade",
        f"{job.ref} has {counted(pods, 'pod')} for Volcano and no PodGroup for them together: they are placed one by "
        "one.",
        needed=f"{needed}, for pods that start as a gang.",
        todo=todo,
        objects=[job.ref],
        blocks=False,
    )


def _asks(situation: Situation) -> bool:
    spec = situation.obj.get("spec") or {}
    named = [pod["spec"].get("schedulerName") for pod in situation.pods]
    named += [role.template["spec"].get("schedulerName") for role in situation.job.roles]
    return VOLCANO in {*named, spec.get("schedulerName"), spec.get("batchScheduler")}
