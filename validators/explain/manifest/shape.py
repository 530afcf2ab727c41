"""Whether a manifest has the types that the rules rely on; where it has not, no API server takes it either."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.manifest.templates import shown

_QUANTITY = {
    "anyOf": [
        {"type": "number"},
        {"type": "string", "pattern": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+|[KMGTPE]i|[numkMGTPE])?$"},
    ]
}
_UNITS = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_TEXT, _WHOLE = {"type": "string"}, {"type": "integer", "minimum": 0}
_COUNT = {**_WHOLE, "type": ["integer", "null"]}
_AMOUNTS = {"type": ["object", "null"], "additionalProperties": _QUANTITY}
_TEXTS = {"type": ["object", "null"], "additionalProperties": _TEXT}


def _some(**properties: Any) -> dict[str, Any]:
    return {"type": ["object", "null"], "properties": properties}


def _list(item: Any) -> dict[str, Any]:
    return {"type": ["array", "null"], "items": item}


_NAMED = _list({**_some(name=_TEXT), "type": "object"})
_CONTAINER = {
    **_some(name=_TEXT, image=_TEXT, resources=_some(requests=_AMOUNTS, limits=_AMOUNTS, claims=_NAMED)),
    "type": "object",
}
_POD = _some(
    containers=_list(_CONTAINER),
    initContainers=_list(_CONTAINER),
    schedulerName=_TEXT,
    priorityClassName=_TEXT,
    overhead=_AMOUNTS,
    resourceClaims=_NAMED,
    resources=_some(requests=_AMOUNTS, limits=_AMOUNTS),
)
_META = _some(name=_TEXT, namespace=_TEXT, labels=_TEXTS, annotations=_TEXTS)
_TEMPLATE = _some(metadata=_META, spec=_POD)
_REPLICAS = {**_some(replicas=_COUNT, template=_TEMPLATE), "type": "object"}
_TASK = {
    "type": "object",
    "properties": {
        "name": _TEXT,
        "minAvailable": _COUNT,
        "replicas": _WHOLE,
        "template": _TEMPLATE,
        "dependsOn": _some(),
    },
}
_JOB = _some(parallelism=_COUNT, template=_TEMPLATE)
_REPLICATED = _list({**_some(name=_TEXT, replicas=_COUNT, template=_some(spec=_JOB)), "type": "object"})
_POLICY = _some(schedulingPolicy=_some(minAvailable=_COUNT, queue=_TEXT, priorityClass=_TEXT, minResources=_AMOUNTS))
_SPEC = {
    "type": "object",
    "properties": {
        "runPolicy": _POLICY,
        "tasks": _list(_TASK),
        "minAvailable": _COUNT,
        "minMember": _COUNT,
        "queue": _TEXT,
        "priorityClassName": _TEXT,
        "replicas": _COUNT,
        "parallelism": _COUNT,
        "jobTemplate": _some(spec=_JOB),
        "replicatedJobs": _REPLICATED,
        "template": _TEMPLATE,
    },
    "patternProperties": {"ReplicaSpecs$": {"type": ["object", "null"], "additionalProperties": _REPLICAS}},
}
_RUNTIME = _some(template=_some(metadata=_META, spec=_some(replicatedJobs=_REPLICATED)))
_TRAINJOB = {
    "type": "object",
    "required": ["runtimeRef"],
    "properties": {
        "runtimeRef": {"type": "object", "required": ["name"], "properties": {"name": _TEXT, "kind": _TEXT}},
        "trainer": _some(image=_TEXT, numNodes=_COUNT),
        "annotations": _TEXTS,
        "runtimePatches": _list({**_some(trainingRuntimeSpec=_some(template=_some(metadata=_META))), "type": "object"}),
    },
}
_LIMIT = {**_some(type=_TEXT, default=_AMOUNTS, defaultRequest=_AMOUNTS), "type": "object"}
_VERSION = {**_some(name=_TEXT), "type": "object"}
_CRD = {**_some(group=_TEXT, names=_some(kind=_TEXT), versions=_list(_VERSION)), "type": "object"}
_OF_KIND = {
    "ClusterTrainingRuntime": _RUNTIME,
    "CustomResourceDefinition": _CRD,
    "LimitRange": {**_some(limits=_list(_LIMIT)), "type": "object"},
    "Pod": {**_POD, "type": "object"},
    "TrainJob": _TRAINJOB,
    "TrainingRuntime": _RUNTIME,
}
"""Schema of the spec; other kinds with rules have that of all jobs together."""


@cache
def _validator(kind: str, *, with_spec: bool) -> jsonschema.Draft202012Validator:
    spec = {"required": ["spec"], "properties": {"spec": _OF_KIND.get(kind, _SPEC)}} if with_spec else {}
    return jsonschema.Draft202012Validator({"allOf": [{"properties": {"metadata": _META}}, spec]})


def faults(obj: Object, *, is_job: bool) -> Iterator[str]:
    """Each field of another type than the API's, with what it is: `spec.minAvailable: 'two' is not of type …`.

    The spec is looked at only where rules know its fields: that of a job, or of a kind that decides about jobs.
    """
    kind = str(obj["kind"])
    validator = _validator(kind, with_spec=is_job or kind in _OF_KIND)
    for error in sorted(validator.iter_errors(obj), key=lambda item: [str(step) for step in item.absolute_path]):
        said = error.message
        if error.schema is _QUANTITY and isinstance(error.instance, str):
            said = f"{error.instance!r} is no quantity{_meant(error.instance, str(error.absolute_path[-1]))}"
        yield f"{shown(tuple(error.absolute_path)) or kind}: {said}"


def _meant(text: str, resource: str) -> str:
    """The quantity that a text with another case or unit stands for: 500m for a CPU of '500mi', 2Gi for '2gb'."""
    found = re.fullmatch(r"([0-9.]+)\s*([a-z]+)", text.lower())
    if found is None:
        return ""
    number, unit = found.groups()
    if resource == "cpu":
        right = "m" if unit[0] == "m" else ""
    else:
        right = next((each for each in _UNITS if each.lower()[0] == unit[0]), "")
    return f": write {number}{right}"
