"""Whether a manifest has the types that the rules rely on; where it has not, no API server takes it either."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.manifest.schemas import Fault, Known, faults, find, of_releases

_POD = {"$ref": "V1PodTemplateSpec"}
_COUNT = {"type": "integer"}
_TEXT = {"type": "string"}


def _some(**properties: Any) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties}


_SET = _some(name=_TEXT, replicas=_COUNT, parallelism=_COUNT, minAvailable=_COUNT, template=_POD)
_JOB = _some(spec=_SET)
_REPLICATED = {"type": "array", "items": _some(name=_TEXT, replicas=_COUNT, template=_JOB)}
_RUNTIME = _some(metadata={"$ref": "V1ObjectMeta"}, spec=_some(replicatedJobs=_REPLICATED))
_SETS = {"type": "object", "additionalProperties": _SET}
_POLICY = _some(schedulingPolicy=_some(minAvailable=_COUNT, queue=_TEXT, priorityClass=_TEXT))
_SPEC = {
    **{f"{kind}ReplicaSpecs": _SETS for kind in ("jax", "mpi", "mx", "paddle", "pytorch", "tf", "xgb")},
    "jobTemplate": _JOB,
    "minAvailable": _COUNT,
    "minMember": _COUNT,
    "parallelism": _COUNT,
    "priorityClassName": _TEXT,
    "queue": _TEXT,
    "replicaSpecs": _SETS,
    "replicas": _COUNT,
    "replicatedJobs": _REPLICATED,
    "runPolicy": _POLICY,
    "tasks": {"type": "array", "items": _SET},
    "template": _POD,
}
_LIKE = Known(_some(metadata={"$ref": "V1ObjectMeta"}, spec=_some(**_SPEC)), find)
_LIKE_A_RUNTIME = Known(_some(metadata={"$ref": "V1ObjectMeta"}, spec=_some(template=_RUNTIME)), find)
"""What rules know of jobs and runtimes whose own fields are not known, as those of another version."""
_OF_TRAINJOBS = (("spec", "runtimeRef"), ("spec", "runtimeRef", "name"))
_WITH_SPEC = frozenset({"CustomResourceDefinition", "LimitRange"})


def all_faults(obj: Object, *, is_job: bool) -> tuple[Fault, ...]:
    """Everything that is wrong with its fields and values, as far as these are known without a cluster."""
    kind = str(obj["kind"])
    known = of_releases(str(obj["apiVersion"]), kind)
    found = list(faults(obj, known)) if known else []
    if known is None and is_job:
        like = _LIKE_A_RUNTIME if kind.endswith("TrainingRuntime") else _LIKE
        found += [item for item in faults(obj, like) if item.reason == "WrongType"]
    if is_job or kind in _WITH_SPEC:
        found += _missing(obj, (("spec",), *(_OF_TRAINJOBS if kind == "TrainJob" else ())))
    return tuple(found)


def _missing(obj: Object, paths: tuple[tuple[str, ...], ...]) -> Iterator[Fault]:
    """What rules rely on, whether the schema requires it or not."""
    for path in paths:
        value: Any = obj
        for step in path:
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            yield Fault(path, "WrongType", " is missing")
            return
