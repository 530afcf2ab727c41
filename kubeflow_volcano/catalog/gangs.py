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

    `scheduler` is the `schedulerName` of its pods. `mark` is the field of pod metadata, and the key in it, whose value
    is the name of the PodGroup. `policy` is its key in `podGroupPolicy` of Trainer runtimes. `writes_status`: it
    reports its decisions in the status of PodGroups. `has_queues`: PodGroups wait in queues. `operator_since` is the
    first minor of the training operator that supports it.
    """

    name: str
    title: str
    group: str
    version: str
    scheduler: str
    mark: tuple[str, str]
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

    def is_supported_by(self, operator_version: str) -> bool:
        """Whether that version of the training operator creates its PodGroups."""
        return version_key(operator_version)[:2] >= version_key(self.operator_since)

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
    mark=("annotations", "scheduling.k8s.io/group-name"),
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
    mark=("labels", "scheduling.x-k8s.io/pod-group"),
    policy="coscheduling",
    writes_status=False,
    has_queues=False,
    operator_since="1.7",
)

GANG_SCHEDULERS: Mapping[str, GangScheduler] = MappingProxyType(
    {item.name: item for item in (VOLCANO, SCHEDULER_PLUGINS)}
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


def podgroup_of(pod: Mapping[str, Any]) -> str:
    """The PodGroup that a pod names in the metadata of any gang scheduler; empty where it names none."""
    marks = ((pod["metadata"].get(field) or {}).get(key) for field, key in (g.mark for g in GANG_SCHEDULERS.values()))
    return next((str(name) for name in marks if name), "")
