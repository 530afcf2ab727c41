"""Rules about fields: schedulerName in the wrong place, fields that the API does not have, values of other types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubeflow_volcano.text import counted, few
from validators.core.facts import Facts
from validators.explain.manifest.model import Manifest, flaw
from validators.explain.manifest.schemas import SCHEMAS, unknown_fields
from validators.explain.manifest.templates import Path, shown
from validators.explain.model import Finding

__all__ = ["misplaced", "scheduler_name", "types", "unknown"]

_SCHEDULER = "schedulerName"
_OWN = frozenset({("batch.volcano.sh", "Job"), ("", "Pod")})
"""Kinds whose spec has a schedulerName itself."""


def types(manifest: Manifest, _facts: Facts) -> Iterator[Finding]:
    """Values of another type than the API's: all other rules rely on these."""
    if found := manifest.wrong_types:
        yield flaw(
            "WrongType",
            f"{counted(len(found), 'value')} of another type than the API's: {found[0]}.",
            needed="values that the API server accepts; nothing else was judged in this manifest.",
            todo="correct them.",
            details=found[1:],
        )


def scheduler_name(manifest: Manifest, _facts: Facts) -> Iterator[Finding]:
    """A schedulerName outside of the pod templates, where the kind has no such field."""
    places = misplaced(manifest)
    if not places:
        return
    targets = [shown((*item.path, "spec", _SCHEDULER)) for item in manifest.templates]
    where = few(targets) if targets else "schedulerName in the pod templates of its runtime"
    yield flaw(
        "SchedulerNameMisplaced",
        f"{few([shown(path) for path in places])}: a {manifest.kind} has no such field. Strict clients, as kubectl is "
        "since 1.25, refuse the manifest; others drop the field in silence, and the pods get the scheduler that the "
        "operator sets, else the default one.",
        needed=f"the field {where}.",
        todo="move it there.",
    )


def misplaced(manifest: Manifest) -> list[Path]:
    """Paths of each schedulerName that is no field of a kind whose pod templates are known."""
    if not manifest.is_known or manifest.kind == "PodGroup":
        return []
    own = {("spec", _SCHEDULER)} if (manifest.ref.group, manifest.kind) in _OWN else set()
    pods = {(*item.path, "spec") for item in manifest.templates}
    return [path for path in _named(manifest.obj.get("spec"), ("spec",), pods) if path not in own]


def _named(value: Any, path: Path, pods: set[Path]) -> Iterator[Path]:
    """Paths of each schedulerName outside of the specs of pods."""
    if path in pods:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if key == _SCHEDULER:
                yield (*path, key)
            else:
                yield from _named(item, (*path, key), pods)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _named(item, (*path, index), pods)


def unknown(manifest: Manifest, facts: Facts) -> Iterator[Finding]:
    """Fields that the API server's schema of the kind does not have."""
    schemas = facts.read(SCHEMAS).get(manifest.ref.api_version) or {}
    known = set(misplaced(manifest))
    found = [item for item in unknown_fields(manifest.obj, schemas) if item.path not in known]
    if found:
        lines = [f"{shown(item.path)}.{item.hint}" for item in found]
        yield flaw(
            "UnknownField",
            f"{counted(len(found), 'field')} that a {manifest.kind} of {manifest.ref.api_version} does not have: "
            f"{lines[0]} Strict clients refuse the manifest, others drop the field in silence.",
            needed="fields of the kind's schema (kubectl explain).",
            todo="correct, move or remove them.",
            details=lines[1:],
        )
