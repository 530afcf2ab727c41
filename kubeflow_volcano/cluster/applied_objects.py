"""What roll-outs brought to a cluster: recorded by each of them, and expected by the validators.

A ConfigMap in the project's namespace has a key for each component; a file has all components in one document.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.decode import decode
from kubeflow_volcano.foreign import read_json

APPLIED_OBJECTS = Ref("v1", "ConfigMap", "kubeflow-volcano", "rollout-objects")
"""Where each roll-out records the objects that it brought."""

SCHEMA = "kfv.objects/v1"

GUARDED_KINDS = frozenset({"Namespace", "PersistentVolume", "PersistentVolumeClaim", "Profile", "Queue"})
"""Kinds that hold what people made or wait for: a stale object of theirs is removed only when it is named."""


class Place(NamedTuple):
    """Where an object is, whichever version of its group a manifest names: the same object as policy/v1beta1 and v1."""

    group: str
    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, ref: Ref) -> Self:
        """The place of `ref`."""
        return cls(ref.group, ref.kind, ref.namespace, ref.name)


@dataclass(frozen=True, slots=True)
class Brought:
    """What roll-outs brought of one component, with UIDs.

    `objects` are those that `version` declares. `left` are those that only an earlier version declares, by that
    version; they may have been deleted since.
    """

    version: str = ""
    objects: Mapping[Ref, str] = field(default_factory=dict)
    left: Mapping[str, Mapping[Ref, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Record:
    version: str
    objects: Mapping[str, Mapping[str, str]]
    left: Mapping[str, Mapping[str, Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class _Document:
    schema: str = ""
    components: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)


def lasting_objects(objects: Iterable[Object]) -> tuple[Ref, ...]:
    """The objects that stay on the cluster, sorted: all but Jobs with ttlSecondsAfterFinished."""
    return tuple(
        sorted(
            Ref.of(obj)
            for obj in objects
            if not (obj["kind"] == "Job" and "ttlSecondsAfterFinished" in (obj.get("spec") or {}))
        )
    )


def serialize(brought: Brought) -> str:
    """One component's record as JSON."""
    record = {
        "version": brought.version,
        "objects": _uids_by_kind(brought.objects),
        "left": {version: _uids_by_kind(refs) for version, refs in brought.left.items() if refs},
    }
    return json.dumps(record, separators=(",", ":"), sort_keys=True)


def parse(text: str) -> Brought:
    """The record in a text of `serialize`.

    Raises:
        ValueError: the text has another form.
    """
    record = decode(_Record, read_json(text), "record")
    left = {version: _with_uids(kinds) for version, kinds in record.left.items()}
    return Brought(record.version, _with_uids(record.objects), left)


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
    document = decode(_Document, value, "document")
    if document.schema != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    refs = {
        _ref(kind, name): component
        for component, kinds in document.components.items()
        for kind, names in kinds.items()
        for name in names
    }
    if not refs:
        raise ValueError("it lists no object")
    return refs


def _by_kind(refs: Iterable[Ref]) -> dict[str, list[str]]:
    return {kind: list(names) for kind, names in _uids_by_kind(dict.fromkeys(refs, "")).items()}


def _uids_by_kind(refs: Mapping[Ref, str]) -> dict[str, dict[str, str]]:
    uids: dict[str, dict[str, str]] = defaultdict(dict)
    for ref in sorted(refs):
        name = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
        uids[f"{ref.api_version} {ref.kind}"][name] = refs[ref]
    return dict(uids)


def _with_uids(kinds: Mapping[str, Mapping[str, str]]) -> dict[Ref, str]:
    return {_ref(kind, name): uid for kind, names in kinds.items() for name, uid in names.items()}


def _ref(kind: str, name: str) -> Ref:
    api_version, _, word = kind.partition(" ")
    if not (api_version and word):
        raise ValueError(f"{kind!r} is not an apiVersion and kind")
    namespace, _, own = name.rpartition("/")
    return Ref(api_version, word, namespace, own)
