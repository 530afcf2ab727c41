"""Whether applying an object would change nothing, judged by the live object: a run without changes sends nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubernetes.utils.quantity import parse_quantity

from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.quantities import QUANTITY_FIELDS
from kubeflow_volcano.foreign import read_json

# Fields whose values, or the values below whose names, are quantities: the server writes 1000m as 1.
_QUANTITIES = QUANTITY_FIELDS | {"averageValue"}
_IDENTITY = frozenset({"name", "namespace"})
# No controller fills these lists, so an empty one declares that there are none. Others may be filled by a controller,
# such as `rules` of an aggregated ClusterRole.
_NONE_IF_EMPTY = frozenset({"args", "command"})


def is_up_to_date(declared: Object, live: Object) -> bool:
    """Whether `live` has every declared field, owned by this project, and this project owns no other field.

    The comparison reads the declared object, the live one, and this project's fields in managedFields, which
    distinguish lists by key from atomic lists. A field that another manager took over counts as different even if its
    value is the same, because a later change by that manager would not be a visible conflict; the object is applied
    once more. Defaults of the API server, quantities in another form and dropped zero values count as equal.

    False may also mean that only the API server can decide. True saves the merge of the whole object, which is most of
    the cost of a run without changes.
    """
    text = _declared_part(declared)
    if not text:
        return True
    entry = own_entry(live)
    return (
        entry is not None
        and entry["apiVersion"] == declared["apiVersion"]
        and _agrees(text, live, entry.get("fieldsV1") or {})
    )


def own_entry(live: Object) -> Mapping[str, Any] | None:
    """The managedFields entry of what this project applied; None if it applied nothing."""
    for entry in live["metadata"].get("managedFields") or ():
        if (entry["manager"], entry["operation"], entry.get("subresource", "")) == (FIELD_MANAGER, "Apply", ""):
            fields: Mapping[str, Any] = entry
            return fields
    return None


def _declared_part(declared: Object) -> dict[str, Any]:
    """The object without its address; empty if it declares nothing else."""
    text = {key: value for key, value in declared.items() if key not in {"apiVersion", "kind", "metadata"}}
    meta = {key: value for key, value in declared["metadata"].items() if key not in _IDENTITY}
    return text | {"metadata": meta} if meta else text


def _agrees(declared: Any, live: Any, fields: Mapping[str, Any], *, quantity: bool = False) -> bool:
    if (declared is None and _empty(live)) or (live is None and _empty(declared)):
        return True
    if isinstance(declared, dict) and any(key.startswith("f:") for key in fields):
        return isinstance(live, dict) and _same_struct(declared, live, fields, quantity=quantity)
    if isinstance(declared, list) and isinstance(live, list):
        if any(key.startswith("k:") for key in fields):
            return _same_by_key(declared, live, fields)
        if any(key.startswith("v:") for key in fields):
            values = [read_json(key[2:]) for key in fields if key.startswith("v:")]
            return len(declared) == len(values) and all(item in values and item in live for item in declared)
    return _contained(declared, live, quantity=quantity)


def _same_struct(
    declared: Mapping[str, Any], live: Mapping[str, Any], fields: Mapping[str, Any], *, quantity: bool
) -> bool:
    owned = {key[2:] for key in fields if key.startswith("f:")}
    if not owned <= declared.keys():
        return False
    for name, value in declared.items():
        if name not in owned:
            if _declares_nothing(name, value, live.get(name)):
                continue
            return False
        inside = quantity or name in _QUANTITIES
        if not _agrees(value, live.get(name), fields[f"f:{name}"], quantity=inside):
            return False
    return True


def _declares_nothing(name: str, value: Any, live: Any) -> bool:
    """Whether a declared value without an owner equals no value: null, a dropped zero, or an empty collection.

    An empty collection that is absent from the live object may be a choice (`emptyDir: {}`).
    """
    if name in _NONE_IF_EMPTY and live:
        return False
    if isinstance(value, dict | list):
        return not value and isinstance(live, type(value))
    return value is None or (_empty(value) and live is None)


def _same_by_key(declared: Sequence[Any], live: Sequence[Any], fields: Mapping[str, Any]) -> bool:
    """Compare a list whose items have keys; others may have added items, but ours must be in the declared order."""
    keys = {text: read_json(text[2:]) for text in fields if text.startswith("k:")}
    if len(keys) != len(declared):
        return False
    place = -1
    for item in declared:
        text = next((text for text, key in keys.items() if is_item(item, key)), None)
        if text is None:
            return False
        position = next((number for number, other in enumerate(live) if is_item(other, keys[text])), -1)
        if position <= place or not _agrees(item, live[position], fields[text]):
            return False
        place = position
    return True


def is_item(item: Any, key: Mapping[str, Any]) -> bool:
    """Whether a list item has that key; the API server defaults some parts of it, such as the protocol of a port."""
    return (
        isinstance(item, dict)
        and bool(item.keys() & key)
        and all(item.get(name, value) == value for name, value in key.items())
    )


def _contained(declared: Any, live: Any, *, quantity: bool = False) -> bool:
    """Whether `live` equals the declared value, apart from defaults that the API server added."""
    if isinstance(declared, dict) and isinstance(live, dict):
        return all(
            _contained(value, live.get(name), quantity=quantity or name in _QUANTITIES)
            for name, value in declared.items()
        )
    if isinstance(declared, list) and isinstance(live, list):
        return len(declared) == len(live) and all(map(_contained, declared, live))
    if isinstance(declared, bool) == isinstance(live, bool) and declared == live:
        return True
    return (_empty(declared) and live is None) or (quantity and _same_quantity(declared, live))


def _empty(value: Any) -> bool:
    """Whether it is a zero value, which the API server may drop."""
    return value is None or value in ("", 0, False) or value in ({}, [])


def _same_quantity(declared: Any, live: Any) -> bool:
    try:
        return bool(parse_quantity(declared) == parse_quantity(live))
    except (ValueError, TypeError):
        return False
