"""Where the pod templates are in each kind that has some.

Fields: those of validators/explain/kinds.py, and of the API of Kubernetes, JobSet v0.10.1, trainer v2.1.0 and
ascend-operator of MindCluster (pkg/api/v1/ascendjob_types.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS
from kubeflow_volcano.cluster.objects import Object, group_of

Path = tuple[str | int, ...]
"""Keys and indexes from the top of an object."""

_WORKLOADS = ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet")
_KUBEFLOW = ("TFJob", "PyTorchJob", "MPIJob", "XGBoostJob", "PaddleJob", "MXJob", "JAXJob")
_REPLICATED = ("replicatedJobs", "*", "template", "spec", "template")
_PLACES: Mapping[tuple[str, str], tuple[str, ...]] = MappingProxyType(
    {
        ("", "Pod"): (),
        ("batch", "Job"): ("spec", "template"),
        ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
        ("batch.volcano.sh", "CronJob"): ("spec", "jobTemplate", "spec", "tasks", "*", "template"),
        ("batch.volcano.sh", "Job"): ("spec", "tasks", "*", "template"),
        ("flow.volcano.sh", "JobTemplate"): ("spec", "tasks", "*", "template"),
        ("jobset.x-k8s.io", "JobSet"): ("spec", *_REPLICATED),
        ("mindxdl.gitee.com", "AscendJob"): ("spec", "replicaSpecs", "*", "template"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"): ("spec", "template", "spec", *_REPLICATED),
        ("trainer.kubeflow.org", "TrainingRuntime"): ("spec", "template", "spec", *_REPLICATED),
        **{("apps", kind): ("spec", "template") for kind in _WORKLOADS},
        **{("kubeflow.org", kind): ("spec", "*ReplicaSpecs", "*", "template") for kind in _KUBEFLOW},
    }
)
_ASKING = frozenset({"batchScheduler", "ray.io/scheduler-name", "schedulerName"})
_GANGS = frozenset(item.scheduler for item in GANG_SCHEDULERS.values() if item.has_makers)
_ENDLESS = frozenset({("apps", kind) for kind in _WORKLOADS})


@dataclass(frozen=True, slots=True)
class Template:
    """A pod template: `path` leads to it, `replicas` pods are created from it; `role` is empty where it is the only."""

    path: Path
    role: str
    replicas: int
    content: Object

    @property
    def spec(self) -> Object:
        """The spec of its pods."""
        found: Object = self.content.get("spec") or {}
        return found

    def marked(self, field: str) -> Mapping[str, str]:
        """The `labels` or `annotations` of its pods."""
        found: Mapping[str, str] = (self.content.get("metadata") or {}).get(field) or {}
        return found

    @property
    def containers(self) -> Iterator[tuple[Path, Object]]:
        """Each container, init containers too, with its path."""
        for field in ("initContainers", "containers"):
            for index, item in enumerate(self.spec.get(field) or ()):
                yield (*self.path, "spec", field, index), item


def has_templates(obj: Object) -> bool:
    """Whether its kind has pod templates, or is a Pod."""
    return _key(obj) in _PLACES


def asks_for_gang(value: Any) -> bool:
    """Whether something in an object names a gang scheduler, wherever that is."""
    if isinstance(value, dict):
        return any((key in _ASKING and str(each) in _GANGS) or asks_for_gang(each) for key, each in value.items())
    return isinstance(value, list) and any(map(asks_for_gang, value))


def ends(obj: Object) -> bool:
    """Whether its pods are to end."""
    return has_templates(obj) and _key(obj) not in _ENDLESS


def templates_of(obj: Object) -> tuple[Template, ...]:
    """Its pod templates, in their order; of a Pod, the pod itself."""
    place = _PLACES.get(_key(obj))
    return () if place is None else tuple(_below(obj, place, (), "", 1))


def shown(path: Path) -> str:
    """The path as people write it: spec.tasks[0].template."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _key(obj: Object) -> tuple[str, str]:
    return group_of(str(obj["apiVersion"])), str(obj["kind"])


def _below(value: Any, place: tuple[str, ...], path: Path, role: str, replicas: int) -> Iterator[Template]:
    if not place:
        if isinstance(value, dict):
            yield Template(path, role, replicas, value)
        return
    items = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    for step, item in items:
        if not fnmatchcase(str(step), place[0]):
            continue
        if place[0] == "*":
            role = str(item.get("name", step)) if isinstance(step, int) and isinstance(item, dict) else str(step)
        count = replicas
        if step == "template":  # of so many replicas, and of a Job one pod for each of its parallelism
            count *= _count(value, "replicas") * _count(value, "parallelism")
        yield from _below(item, place[1:], (*path, step), role, count)


def _count(item: Object, field: str) -> int:
    value = item.get(field)
    return 1 if value is None else int(value)
