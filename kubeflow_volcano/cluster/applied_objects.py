"""The objects that a roll-out applied, by component: recorded at its end, and expected by the validators.

A ConfigMap in the project's namespace has a key for each component; a file has all components in one document.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["APPLIED_OBJECTS", "SCHEMA", "lasting_objects", "parse", "parse_document", "serialize", "to_document"]

APPLIED_OBJECTS = Ref("v1", "ConfigMap", "kubeflow-volcano", "rollout-objects")
"""Where a roll-out records the objects that it applied."""

SCHEMA = "kfv.objects/v1"


def lasting_objects(objects: Iterable[Object]) -> tuple[Ref, ...]:
    """The objects that stay on the cluster, sorted: all but Jobs with ttlSecondsAfterFinished."""
    return tuple(
        sorted(
            Ref.of(obj)
            for obj in objects
            if not (obj["kind"] == "Job" and "ttlSecondsAfterFinished" in (obj.get("spec") or {}))
        )
    )


def serialize(refs: Iterable[Ref]) -> str:
    """The objects of one component as JSON, by apiVersion and kind."""
    return json.dumps(_by_kind(refs), separators=(",", ":"), sort_keys=True)


def parse(text: str) -> tuple[Ref, ...]:
    """The objects in a text of `serialize`.

    Raises:
        ValueError: the text has another form.
    """
    return tuple(_refs(json.loads(text)))


def to_document(parts: Mapping[str, Iterable[Ref]], release: str) -> dict[str, Any]:
    """The objects of all components as one document, for a file."""
    return {
        "schema": SCHEMA,
        "release": release,
        "components": {name: _by_kind(refs) for name, refs in parts.items()},
    }


def parse_document(value: Any) -> dict[Ref, str]:
    """The component of each object in a document of `to_document`.

    Raises:
        ValueError: the document has another schema, or lists no object.
    """
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    components = value.get("components")
    known = components if isinstance(components, dict) else {}
    found = {ref: str(name) for name, kinds in known.items() for ref in _refs(kinds)}
    if not found:
        raise ValueError("it lists no object")
    return found


def _by_kind(refs: Iterable[Ref]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for ref in sorted(refs):
        found[f"{ref.api_version} {ref.kind}"].append(f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name)
    return dict(found)


def _refs(kinds: Any) -> list[Ref]:
    found = []
    if not isinstance(kinds, dict):
        raise ValueError("its objects are not grouped by apiVersion and kind")  # noqa: TRY004  the text is wrong, not the call
    for kind, names in kinds.items():
        api_version, _, word = kind.partition(" ")
        if not (api_version and word and isinstance(names, list)):
            raise ValueError(f"{kind!r} is not an apiVersion and kind with a list of names")
        for name in names:
            namespace, _, own = str(name).rpartition("/")
            found.append(Ref(api_version, word, namespace, own))
    return found
