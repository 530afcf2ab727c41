"""The fields of Kubernetes' own kinds, from the models of its client for Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from kubernetes import client

from kubeflow_volcano.cluster.pods.quantities import QUANTITY_FIELDS

_QUANTITIES = QUANTITY_FIELDS | {"maxLimitRequestRatio", "overhead"}
"""Names of fields with quantities, which the models have as text."""
_AMOUNTS = re.compile(
    r"V\w+(CapacityRequestPolicyRange.step|(Counter|DeviceCapacity|MetricTarget).(value|averageValue))"
)
"""Likewise, of certain models."""
_TYPES: Mapping[str, Mapping[str, Any]] = {
    "bool": {"type": "boolean"},
    "bytes": {"type": "string"},
    "datetime": {"type": "string"},
    "float": {"type": "number"},
    "int": {"type": "integer"},
    "object": {},
    "str": {"type": "string"},
}
_INSIDE = re.compile(r"(List|Dict)\[(?:str, )?(.+)\]")
_GROUP = ".k8s.io"
_STABLE = (
    "v1",
    "apps/v1",
    "autoscaling/v2",
    "batch/v1",
    "policy/v1",
    *(
        f"{group}.k8s.io/v1"
        for group in (
            "admissionregistration",
            "apiextensions",
            "apiregistration",
            "networking",
            "node",
            "rbac.authorization",
            "resource",
            "scheduling",
            "storage",
        )
    ),
)


def model_of(api_version: str, kind: str) -> str:
    """The name of the model of a kind; empty where Kubernetes does not have it in that version."""
    name = _api(api_version)
    found, call = getattr(client, f"{name}Api", None), _snake(kind)
    if not any(hasattr(found, f"{verb}_{call}") for verb in ("create", "create_namespaced")):
        return ""
    prefix = f"V{api_version.rpartition('/')[2][1:]}"
    names = (f"{name}{kind}", f"{prefix}{kind}")  # the first where groups have models of the same name
    return next((each for each in names if hasattr(client, each)), "")


def is_stable(api_version: str) -> bool:
    """Whether it is a stable API of Kubernetes."""
    return api_version in _STABLE


def _api(api_version: str) -> str:
    """CoreV1 or RbacAuthorizationV1; of groups of others a name that nothing has."""
    group, _, version = api_version.rpartition("/")
    if "." in group and not group.endswith(_GROUP):
        return ""
    name = "".join(map(str.capitalize, (group.removesuffix(_GROUP) or "core").split(".")))
    return f"{name}V{version[1:]}"


@cache
def versions_of(kind: str) -> tuple[str, ...]:
    """The API versions of Kubernetes that have the kind, without those of alpha and beta."""
    return tuple(version for version in _STABLE if model_of(version, kind))


@cache
def schema_of(model: str) -> Mapping[str, Any]:
    """The schema of a model."""
    found = getattr(client, model)
    names = found.attribute_map
    return {
        "type": "object",
        "properties": {
            names[key]: _typed(text, names[key] in _QUANTITIES or bool(_AMOUNTS.fullmatch(f"{model}.{names[key]}")))
            for key, text in found.openapi_types.items()
        },
        "required": tuple(names[key] for key, item in found.model_fields.items() if item.is_required()),
        "additionalProperties": False,
    }


def _typed(text: str, amount: bool) -> Mapping[str, Any]:  # noqa: FBT001
    if inside := _INSIDE.fullmatch(text):
        below = _typed(inside[2], amount)
        return (
            {"type": "array", "items": below}
            if inside[1] == "List"
            else {"type": "object", "additionalProperties": below}
        )
    return {"format": "quantity"} if amount and text == "str" else _TYPES.get(text, {"$ref": text})


def _snake(kind: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind).lower()
