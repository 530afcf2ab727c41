"""Whether applying an object would change nothing: judged from its live text, so that a quiet run sends nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Object

__all__ = ["settled"]


def settled(declared: Object, live: Object, manager: str) -> bool:
    """Whether every declared value stands in `live`, and `manager` owns no field there that is declared no more.

    A cautious answer: False may also mean that the server would have to be asked, for example because it writes a
    value in another form (a quantity, a default inside a list). It saves the API server the merge of the whole
    object, which is what a run without changes mostly costs.
    """
    if not all(_stands(value, live.get(key)) for key, value in declared.items() if key not in {"apiVersion", "kind"}):
        return False
    if not _fields(declared):
        return True
    for entry in live["metadata"].get("managedFields") or ():
        if (entry["manager"], entry["operation"], entry.get("subresource", "")) == (manager, "Apply", ""):
            return entry["apiVersion"] == declared["apiVersion"] and _declares(declared, entry["fieldsV1"])
    return False


def _fields(declared: Object) -> bool:
    """Whether the text says more than which object it is about."""
    return bool(
        declared.keys() - {"apiVersion", "kind", "metadata"} or declared["metadata"].keys() - {"name", "namespace"}
    )


def _stands(declared: Any, live: Any) -> bool:
    if isinstance(declared, dict):
        return isinstance(live, dict) and all(_stands(value, live.get(key)) for key, value in declared.items())
    if isinstance(declared, list):
        return (
            isinstance(live, list)
            and len(declared) == len(live)
            and all(_stands(value, other) for value, other in zip(declared, live, strict=True))
        )
    return isinstance(declared, bool) == isinstance(live, bool) and bool(declared == live)


def _declares(declared: Any, fields: Mapping[str, Any]) -> bool:
    """Whether `declared` has every field of a FieldsV1 set."""
    for key, below in fields.items():
        form, _, text = key.partition(":")
        found: list[Any]
        if form == "f":
            found = [declared[text]] if isinstance(declared, dict) and text in declared else []
        elif form == "k" and isinstance(declared, list):
            found = [item for item in declared if _is_item(item, json.loads(text))]
        elif form == "v" and isinstance(declared, list):
            found = [item for item in declared if item == json.loads(text)]
        else:
            found = [declared] if key == "." else []
        if not any(_declares(item, below) for item in found):
            return False
    return True


def _is_item(item: Any, keys: Mapping[str, Any]) -> bool:
    """Whether a list item has those merge keys; the server fills in some of them, such as the protocol of a port."""
    return (
        isinstance(item, dict)
        and bool(item.keys() & keys)
        and all(item.get(key, value) == value for key, value in keys.items())
    )
