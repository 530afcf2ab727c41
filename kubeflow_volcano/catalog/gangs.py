"""The gang schedulers: their names, the PodGroups that each reads, and how pods name their PodGroup."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.operator import era_of


@dataclass(frozen=True, slots=True)
class GangScheduler:
    """A gang scheduler. `name` is its component, and its value of `gang_scheduling_scheduler`.

    `scheduler` is the `schedulerName` of its pods. `mark` is the path in a pod to the name of its PodGroup, `minimum`
    the path in the spec of a PodGroup to the number of pods that start together. `placed` is what `phase_of` says of a
    PodGroup whose pods have places. `policy` is its key in `podGroupPolicy` of Trainer runtimes; empty where Trainer
    has none. `writes_status`: it reports its decisions in the status of PodGroups. `has_queues`: PodGroups wait in
    queues. `operator_since` is the first minor of the training operator that creates its PodGroups; empty where none
    does.
    """

    name: str
    title: str
    group: str
    version: str
    scheduler: str
    mark: tuple[str, ...]
    minimum: tuple[str, ...]
    placed: str
    policy: str
    writes_status: bool
    has_queues: bool
    operator_since: str

    @property
    def api_version(self) -> str:
        """The apiVersion of its PodGroups."""
        return f"{self.group}/{self.version}"

    @property
    def podgroup(self) -> tuple[str, str]:
        """The apiVersion and kind of its PodGroups."""
        return self.api_version, "PodGroup"

    @property
    def podgroups(self) -> str:
        """The name of the CRD of its PodGroups."""
        return f"podgroups.{self.group}"

    @property
    def has_makers(self) -> bool:
        """Whether operators create its PodGroups."""
        return bool(self.operator_since)

    @property
    def mark_text(self) -> str:
        """Where pods name their PodGroup, in words."""
        if self.mark[0] == "metadata":
            return f"{self.mark[1].removesuffix('s')} {self.mark[-1]}"
        return ".".join(self.mark)

    def marks(self, group: str) -> dict[str, Any]:
        """The part of a pod that names that PodGroup."""
        return _nested(self.mark, group)

    def named_by(self, pod: Mapping[str, Any]) -> str:
        """The PodGroup that a pod names for this scheduler; empty where it names none."""
        return str(_at(pod, self.mark) or "")

    def group_spec(self, minimum: int) -> dict[str, Any]:
        """The spec of a PodGroup of that many pods that start together."""
        return _nested(self.minimum, minimum)

    def minimum_of(self, group: Mapping[str, Any]) -> int:
        """How many pods of that PodGroup start together; 0 where it does not say."""
        found = _at(group.get("spec"), self.minimum)
        return found if isinstance(found, int) else 0

    def phase_of(self, group: Mapping[str, Any]) -> str:
        """What its status says in one word; empty where it says nothing yet.

        PodGroups of Kubernetes have conditions and no phase: it is the name of the condition that holds, or the reason
        why it does not.
        """
        if self is not KUBERNETES:
            return str((group.get("status") or {}).get("phase") or "")
        found = _condition(group, self.placed)
        return str(found.get("type" if found.get("status") == "True" else "reason") or "")

    def refusal_of(self, group: Mapping[str, Any]) -> Mapping[str, Any]:
        """The condition by which its scheduler says that it has looked and placed none; empty where there is none.

        Volcano's controller creates PodGroups with that condition; the scheduler's has an ID of its session, and comes
        with a phase.
        """
        if self is KUBERNETES:
            found = _condition(group, self.placed)
            return found if found.get("status") == "False" else {}
        found = _condition(group, "Unschedulable")
        return found if self.writes_status and self.phase_of(group) and found.get("transitionID") else {}

    def is_supported_by(self, operator_version: str) -> bool:
        """Whether that version of the training operator creates its PodGroups."""
        return self.has_makers and version_key(operator_version)[:2] >= version_key(self.operator_since)

    def arguments(self, operator_version: str) -> tuple[str, ...]:
        """The arguments with which that version of the training operator creates its PodGroups.

        Raises:
            InvalidInput: the version is not in the catalog.
        """
        if self.name == "volcano":
            return era_of(operator_version).required_arguments
        # From 1.7 on, every other name means scheduler-plugins and becomes the schedulerName of the pods.
        return (f"--gang-scheduler-name={self.scheduler}",)


VOLCANO = GangScheduler(
    name="volcano",
    title="Volcano",
    group="scheduling.volcano.sh",
    version="v1beta1",
    scheduler="volcano",
    mark=("metadata", "annotations", "scheduling.k8s.io/group-name"),
    minimum=("minMember",),
    placed="Running",
    policy="volcano",
    writes_status=True,
    has_queues=True,
    operator_since="1.0",
)

# training-operator 1.6 accepts its name, but uses PodGroups of scheduling.sigs.k8s.io, an API group that
# scheduler-plugins dropped in 0.25 (its go.mod: sigs.k8s.io/scheduler-plugins v0.24.9; cluster-role.yaml at v1.6.0).
SCHEDULER_PLUGINS = GangScheduler(
    name="scheduler-plugins",
    title="scheduler-plugins",
    group="scheduling.x-k8s.io",
    version="v1alpha1",
    scheduler="scheduler-plugins-scheduler",
    mark=("metadata", "labels", "scheduling.x-k8s.io/pod-group"),
    minimum=("minMember",),
    placed="Running",
    policy="coscheduling",
    writes_status=False,
    has_queues=False,
    operator_since="1.7",
)

# v1beta1 of Kubernetes 1.37 (k8s.io/api v0.37.2). Those of 1.36 (v1alpha2) have another condition, and in 1.35 pods
# name a Workload: neither is used here. No training operator creates them: training-operator v1.9.4 and Trainer v2.2.0
# know two schedulers (pkg/controller.v1/control, pkg/runtime/framework/plugins), and neither is this one.
KUBERNETES = GangScheduler(
    name="kubernetes",
    title="Kubernetes",
    group="scheduling.k8s.io",
    version="v1beta1",
    scheduler="default-scheduler",
    mark=("spec", "schedulingGroup", "podGroupName"),
    minimum=("schedulingPolicy", "gang", "minCount"),
    placed="PodGroupInitiallyScheduled",
    policy="",
    writes_status=True,
    has_queues=False,
    operator_since="",
)

GANG_SCHEDULERS: Mapping[str, GangScheduler] = MappingProxyType(
    {item.name: item for item in (VOLCANO, SCHEDULER_PLUGINS, KUBERNETES)}
)
"""Every gang scheduler, by name."""


@dataclass(frozen=True, slots=True)
class OtherGangScheduler:
    """A gang scheduler that is recognised, and that nothing here installs or proves.

    `scheduler` is the `schedulerName` of its pods, `podgroups` the CRD of its PodGroups. `marks` are fields of pod
    metadata with the keys in them that name a queue or a gang.
    """

    title: str
    scheduler: str
    podgroups: str
    marks: tuple[tuple[str, str], ...]


# Labels since v0.6.0 of kai-scheduler/KAI-Scheduler, before it runai/queue (its CHANGELOG.md); the annotation is its
# podgrouper's. Koordinator: apis/extension/scheduling.go and elasticquota.go of koordinator-sh/koordinator.
OTHERS: Mapping[str, OtherGangScheduler] = MappingProxyType(
    {
        item.scheduler: item
        for item in (
            OtherGangScheduler(
                "KAI Scheduler",
                "kai-scheduler",
                "podgroups.scheduling.run.ai",
                (("labels", "kai.scheduler/queue"), ("labels", "runai/queue"), ("annotations", "pod-group-name")),
            ),
            OtherGangScheduler(
                "Koordinator",
                "koord-scheduler",
                "podgroups.scheduling.sigs.k8s.io",
                (
                    ("annotations", "gang.scheduling.koordinator.sh/name"),
                    ("labels", "pod-group.scheduling.sigs.k8s.io"),
                    ("labels", "quota.scheduling.koordinator.sh/name"),
                ),
            ),
        )
    }
)
"""Further gang schedulers, by the schedulerName of their pods."""


def gang_scheduler(name: str) -> GangScheduler | None:
    """The gang scheduler of that name; None for `none`."""
    return GANG_SCHEDULERS.get(name)


def made_by_operators(name: str) -> GangScheduler | None:
    """The gang scheduler of that name whose PodGroups operators create; None for `none`, and where none does."""
    found = gang_scheduler(name)
    return found if found and found.has_makers else None


def podgroup_of(pod: Mapping[str, Any]) -> str:
    """The PodGroup that a pod names for any gang scheduler; empty where it names none."""
    return membership(pod)[1]


def membership(pod: Mapping[str, Any]) -> tuple[GangScheduler | None, str]:
    """The scheduler of the gang that a pod is in, and the name of its PodGroup; None and empty where it names none.

    Of a pod that names PodGroups of several, it is that of the pod's own scheduler, which reads no other.
    """
    named = [(item, name) for item in GANG_SCHEDULERS.values() if (name := item.named_by(pod))]
    own = _at(pod, ("spec", "schedulerName"))
    return next((pair for pair in named if pair[0].scheduler == own), named[0] if named else (None, ""))


def scheduler_of(group: Mapping[str, Any]) -> GangScheduler:
    """The scheduler that reads a PodGroup, by its API group; Volcano of an unknown one."""
    api = str(group.get("apiVersion")).partition("/")[0]
    return next((item for item in GANG_SCHEDULERS.values() if item.group == api), VOLCANO)


def _condition(group: Mapping[str, Any], type_: str) -> Mapping[str, Any]:
    found = (group.get("status") or {}).get("conditions") or ()
    return next((item for item in found if item.get("type") == type_), {})


def _nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    first, *rest = path
    return {first: _nested(tuple(rest), value) if rest else value}


def _at(obj: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        obj = obj.get(key) if isinstance(obj, Mapping) else None
    return obj
