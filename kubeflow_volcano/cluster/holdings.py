"""Which objects a roll-out leaves on a cluster, by component, as text: written when it is done, read when it is judged.

In a ConfigMap of the project's own namespace each component has a key; in a file all of them stand together.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["HOLDINGS", "SCHEMA", "document", "lasting", "parsed", "parsed_document", "text_of"]

HOLDINGS = Ref("v1", "ConfigMap", "kubeflow-volcano", "rollout-objects")
"""Where a roll-out writes down what it has brought."""

SCHEMA = "kfv.objects/v1"


def lasting(objects: Iterable[Object]) -> tuple[Ref, ...]:
    """The objects that stay, in order of their names; a Job that the cluster removes by itself does not."""
    return tuple(
        sorted(
            Ref.of(obj)
            for obj in objects
            if not (obj["kind"] == "Job" and "ttlSecondsAfterFinished" in (obj.get("spec") or {}))
        )
    )


def text_of(refs: Iterable[Ref]) -> str:
    """The objects of one component, by apiVersion and kind."""
    return json.dumps(_by_kind(refs), separators=(",", ":"), sort_keys=True)


def parsed(text: str) -> tuple[Ref, ...]:
    """The objects in `text_of`.

    Raises:
        ValueError: it is no such text.
    """
    return tuple(_refs(json.loads(text)))


def document(parts: Mapping[str, Iterable[Ref]], release: str) -> dict[str, Any]:
    """The objects of all components, for a file."""
    return {
        "schema": SCHEMA,
        "release": release,
        "components": {name: _by_kind(refs) for name, refs in parts.items()},
    }


def parsed_document(value: Any) -> dict[Ref, str]:
    """Component by object, of what `document` made.

    Raises:
        ValueError: it is no such document, or names no object.
    """
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise ValueError(f"it is no {SCHEMA}")
    components = value.get("components")
    known = components if isinstance(components, dict) else {}
    found = {ref: str(name) for name, kinds in known.items() for ref in _refs(kinds)}
    if not found:
        raise ValueError("it names no object")
    return found


def _by_kind(refs: Iterable[Ref]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for ref in sorted(refs):
        found[f"{ref.api_version} {ref.kind}"].append(f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name)
    return dict(found)


def _refs(kinds: Any) -> list[Ref]:
    found = []
    if not isinstance(kinds, dict):
        raise ValueError("its objects do not stand by apiVersion and kind")  # noqa: TRY004  the text is wrong, not the call
    for kind, names in kinds.items():
        api_version, _, word = kind.partition(" ")
        if not (api_version and word and isinstance(names, list)):
            raise ValueError(f"{kind!r} is no apiVersion and kind with a list of names")
        for name in names:
            namespace, _, own = str(name).rpartition("/")
            found.append(Ref(api_version, word, namespace, own))
    return found
