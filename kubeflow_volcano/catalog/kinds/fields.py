"""The fields of kinds that releases bring: `fields.json`, which `make generate` derives from their definitions.

A kind and a field have a shape: `string`, `integer`, `number`, `boolean`, `quantity`, `int-or-string`, `any` (whatever
it is, the API server keeps it), `none` (an object of which it keeps nothing), or a node by its name. With [] it is a
list of these, with {} a map. A node has `fields` with their shapes and those `required`, and further fields are kept
where it is `open`; or it is a value with limits: `type`, `enum`, `minimum`, `maximum`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from kubeflow_volcano.catalog.data import HOME
from kubeflow_volcano.foreign import read_json

FILE = "kinds/fields.json"
_PARAMETERS = [
    {
        "name": "string",
        "parameterType": ("double", "int", "discrete", "categorical"),
        "feasibleSpace": {
            "distribution": ("uniform", "logUniform", "normal", "logNormal"),
            "list": "string[]",
            "max": "string",
            "min": "string",
            "step": "string",
        },
    }
]
_ALGORITHM = {"algorithmName": "string", "algorithmSettings": [{"name": "string", "value": "string"}]}
_EXPERIMENT = {
    "algorithm": _ALGORITHM,
    "earlyStopping": _ALGORITHM,
    "maxFailedTrialCount": "integer",
    "maxTrialCount": "integer",
    "metricsCollectorSpec": {
        "collector": {
            "customCollector": "any",
            "kind": ("StdOut", "File", "TensorFlowEvent", "PrometheusMetric", "Custom", "None", "Push"),
        },
        "source": {
            "fileSystemPath": {"format": ("TEXT", "JSON"), "kind": ("File", "Directory"), "path": "string"},
            "filter": {"metricsFormat": "string[]"},
            "httpGet": "any",
        },
    },
    "nasConfig": {
        "graphConfig": {"inputSizes": "integer[]", "numLayers": "integer", "outputSizes": "integer[]"},
        "operations": [{"operationType": "string", "parameters": _PARAMETERS}],
    },
    "objective": {
        "additionalMetricNames": "string[]",
        "goal": "number",
        "metricStrategies": [{"name": "string", "value": ("min", "max", "latest")}],
        "objectiveMetricName": "string",
        "type": ("minimize", "maximize"),
    },
    "parallelTrialCount": "integer",
    "parameters": _PARAMETERS,
    "resumePolicy": ("Never", "LongRunning", "FromVolume"),
    "trialTemplate": {
        "configMap": {"configMapName": "string", "configMapNamespace": "string", "templatePath": "string"},
        "failureCondition": "string",
        "primaryContainerName": "string",
        "primaryPodLabels": "string{}",
        "retain": "boolean",
        "successCondition": "string",
        "trialParameters": [{"description": "string", "name": "string", "reference": "string"}],
        "trialSpec": "any",
    },
}
"""The spec of an Experiment in pkg/apis/controller of Katib, v0.14.0 to v0.19.0; its definition names no fields."""
_BY_HAND: Mapping[str, Any] = {"kubeflow.org/v1beta1 Experiment": {"spec": _EXPERIMENT}}

_PLAIN: Mapping[str, Any] = {
    "any": {},
    "int-or-string": {"format": "int-or-string"},
    "none": {"type": "object", "additionalProperties": False},
    "quantity": {"format": "quantity"},
}

Schema = Mapping[str, Any]
"""As in JSON Schema, as far as nodes go; `$ref` is the name of another one."""


@cache
def _nodes() -> Mapping[str, Any]:
    found: Mapping[str, Any] = read_json((HOME / FILE).read_text("utf-8"))
    return found


def sources() -> tuple[str, ...]:
    """The releases that it was derived of."""
    return tuple(_nodes()["sources"])


def has_kind(api_version: str, kind: str) -> bool:
    """Whether the fields of a kind are known."""
    return f"{api_version} {kind}" in {*_nodes(), *_BY_HAND}


def root_of(api_version: str, kind: str) -> Schema:
    """The schema of a kind that is known."""
    name = f"{api_version} {kind}"
    return schema_of(_BY_HAND[name]) if name in _BY_HAND else node(_nodes()[name])


@cache
def node(name: str) -> Schema:
    """The schema of a node."""
    found = _nodes()[name]
    if "fields" not in found:
        return found  # type: ignore[no-any-return]
    return {
        "type": "object",
        "properties": {key: schema_of(shape) for key, shape in found["fields"].items()},
        "required": found.get("required", ()),
        "additionalProperties": found.get("open", False),
    }


def schema_of(shape: str | Mapping[str, Any] | Sequence[Any]) -> Schema:
    """The schema of a shape; by hand, a mapping has fields, a list is of these, and a tuple has all values."""
    if isinstance(shape, Mapping):
        inside = {key: schema_of(each) for key, each in shape.items()}
        return {"type": "object", "properties": inside, "additionalProperties": False}
    if isinstance(shape, tuple):
        return {"enum": shape}
    text = shape if isinstance(shape, str) else ""
    if text.endswith("{}"):
        return {"type": "object", "additionalProperties": schema_of(text[:-2])}
    if not text or text.endswith("[]"):
        return {"type": "array", "items": schema_of(text[:-2] or shape[0])}
    return {"$ref": text} if text.startswith("#") else _PLAIN.get(text, {"type": text})
