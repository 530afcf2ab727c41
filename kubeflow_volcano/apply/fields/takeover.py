"""Taking an object over from the tool that applied it, so that fields that only the tool declared go.

Forcing conflicts takes the declared fields alone; what the other manifest had beside them would stay, such as probes
of another version. The tool's entries in metadata.managedFields therefore become this project's before it applies,
as kubectl does when an object moves from client-side to server-side apply (client-go util/csaupgrade).
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from kubeflow_volcano.apply.compare import is_item, own_entry
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.foreign import read_json

# Tools that declare whole objects. Controllers and injectors, which write parts of them, keep what they have written.
_TOOLS = re.compile(
    r"kubectl|kubectl-(client-side-apply|create|replace)|before-first-apply"
    r"|helm|helm-controller|argocd(-application)?-controller|kustomize-controller|Terraform"
)

Fields = Mapping[str, Any]


def appliers(live: Object) -> list[str]:
    """The tools that applied the object, by their field managers."""
    return sorted({entry["manager"] for entry in _entries(live) if _is_tools(entry)})


def take_over(live: Object) -> bool:
    """Give what tools own of `live` to this project, as if it had applied it; returns whether there was anything."""
    taken = [entry for entry in _entries(live) if _is_tools(entry)]
    if not taken:
        return False
    own = own_entry(live)
    last = own or max(taken, key=lambda entry: str(entry.get("time", "")))
    taken += [dict(own)] if own else []
    taken = [entry for entry in taken if entry["apiVersion"] == last["apiVersion"]]  # others name fields differently
    fields: Fields = {}
    for entry in taken:
        fields = _together(fields, entry.get("fieldsV1") or {})
    rest = [entry for entry in live["metadata"]["managedFields"] if entry not in taken]
    live["metadata"]["managedFields"] = [
        *rest,
        {**last, "manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": fields},
    ]
    return True


def without_left_fields(after: Object) -> Object:
    """What is left of the object when fields that only tools own go: a dry run cannot show that."""
    entries = _entries(after)
    tools = [entry.get("fieldsV1") or {} for entry in entries if _is_tools(entry)]
    others = [entry.get("fieldsV1") or {} for entry in entries if not _is_tools(entry)]
    kept = copy.deepcopy(after)
    for fields in tools:
        _remove(kept, fields, others)
    return kept


def has_left_fields(live: Object) -> bool:
    """Whether it has fields that only tools own."""
    return bool(appliers(live)) and without_left_fields(live) != live


def _entries(live: Object) -> list[Object]:
    return [entry for entry in live["metadata"].get("managedFields") or () if not entry.get("subresource")]


def _is_tools(entry: Object) -> bool:
    return bool(_TOOLS.fullmatch(entry["manager"]))


def _together(one: Fields, other: Fields) -> Fields:
    return {key: _together(one.get(key, {}), other.get(key, {})) for key in (*one, *(set(other) - set(one)))}


def _remove(value: Any, mine: Fields, others: Sequence[Fields]) -> None:
    """Remove what `mine` names and none of `others` does; an element of a set stays unless the whole set goes."""
    for key, inside in mine.items():
        theirs = [fields[key] for fields in others if key in fields]
        if key.startswith("f:") and isinstance(value, dict) and key[2:] in value:
            part = value[key[2:]]
            # A struct is owned by its leaves; a map or list that is owned as a whole has the key ".".
            if inside and (theirs or "." not in inside):
                _remove(part, inside, theirs)
            if not theirs and (not inside or "." in inside or part in ({}, [])):
                del value[key[2:]]
        elif key.startswith("k:") and isinstance(value, list):
            item = next((item for item in value if is_item(item, read_json(key[2:]))), None)
            if item is not None and theirs:
                _remove(item, inside, theirs)
            elif item is not None:
                value.remove(item)
