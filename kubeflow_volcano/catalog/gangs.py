"""The schedulers that make gangs: what each is called, which PodGroups it reads, how a pod says that it is a member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.operator import era_of

__all__ = ["GANG_SCHEDULERS", "SCHEDULER_PLUGINS", "VOLCANO", "GangScheduler", "gang_of", "gang_scheduler"]


@dataclass(frozen=True, slots=True)
class GangScheduler:
    """One scheduler. `name` is its component, and its value of `gang_scheduling_scheduler`.

    `scheduler` is what pods name as `schedulerName`; `mark` is the field of their metadata, and the key in it, that
    names their PodGroup. `policy` is its key in the `podGroupPolicy` of Trainer's runtimes. `tells` says whether it
    writes into a PodGroup that it has judged it, `queues` whether PodGroups wait in queues.
    `operator_since` is the first minor of the training operator that works with it.
    """

    name: str
    title: str
    group: str
    version: str
    scheduler: str
    mark: tuple[str, str]
    policy: str
    tells: bool
    queues: bool
    operator_since: str

    @property
    def api_version(self) -> str:
        """Group and version of its PodGroups."""
        return f"{self.group}/{self.version}"

    @property
    def podgroup(self) -> tuple[str, str]:
        """What the API calls its PodGroups: apiVersion and kind."""
        return self.api_version, "PodGroup"

    @property
    def podgroups(self) -> str:
        """Plural and group of its PodGroups, which is the name of their CRD."""
        return f"podgroups.{self.group}"

    def goes_with(self, operator_version: str) -> bool:
        """Whether that version of the training operator makes gangs for it."""
        return version_key(operator_version)[:2] >= version_key(self.operator_since)

    def arguments(self, operator_version: str) -> tuple[str, ...]:
        """What the training operator of that version is started with to make gangs for it.

        Raises:
            InvalidInput: the catalog knows nothing of that version.
        """
        if self.name == "volcano":
            return era_of(operator_version).required_arguments
        # From 1.7 on every name but Volcano's is taken for a scheduler of scheduler-plugins, and goes into the pods.
        return (f"--gang-scheduler-name={self.scheduler}",)


VOLCANO = GangScheduler(
    name="volcano",
    title="Volcano",
    group="scheduling.volcano.sh",
    version="v1beta1",
    scheduler="volcano",
    mark=("annotations", "scheduling.k8s.io/group-name"),
    policy="volcano",
    tells=True,
    queues=True,
    operator_since="1.0",
)

# training-operator 1.6 knows it by name, but reads PodGroups of scheduling.sigs.k8s.io, a group that scheduler-plugins
# left behind with 0.25 (its go.mod: sigs.k8s.io/scheduler-plugins v0.24.9; cluster-role.yaml at v1.6.0).
SCHEDULER_PLUGINS = GangScheduler(
    name="scheduler-plugins",
    title="scheduler-plugins",
    group="scheduling.x-k8s.io",
    version="v1alpha1",
    scheduler="scheduler-plugins-scheduler",
    mark=("labels", "scheduling.x-k8s.io/pod-group"),
    policy="coscheduling",
    tells=False,
    queues=False,
    operator_since="1.7",
)

GANG_SCHEDULERS: Mapping[str, GangScheduler] = MappingProxyType(
    {item.name: item for item in (VOLCANO, SCHEDULER_PLUGINS)}
)
"""All, by name."""


def gang_scheduler(name: str) -> GangScheduler | None:
    """The one that is asked for; None where nobody is to gang (`none`)."""
    return GANG_SCHEDULERS.get(name)


def gang_of(pod: Mapping[str, Any]) -> str:
    """Name of the PodGroup that a pod says it is a member of, whoever gangs; empty where it is in none."""
    marks = ((pod["metadata"].get(field) or {}).get(key) for field, key in (g.mark for g in GANG_SCHEDULERS.values()))
    return next((str(name) for name in marks if name), "")
