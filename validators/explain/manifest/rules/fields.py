"""Rules about fields: schedulerName in the wrong place, fields that the API does not have, values of other types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, errored
from kubeflow_volcano.validators.explain.manifest.edits import Edit
from kubeflow_volcano.validators.explain.manifest.model import FILES, Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.rules.admission import OBJECTS
from kubeflow_volcano.validators.explain.manifest.rules.gangs import KUBE_BATCH
from kubeflow_volcano.validators.explain.manifest.schemas import (
    SCHEMAS,
    Fault,
    faults,
    of_files,
    of_releases,
    of_server,
    served_instead,
)
from kubeflow_volcano.validators.explain.manifest.templates import Path, shown
from kubeflow_volcano.validators.explain.model import VOLCANO

_SCHEDULER = "schedulerName"
_OWN = frozenset({("batch.volcano.sh", "Job"), ("", "Pod")})
"""Kinds whose spec has a schedulerName itself."""


def types(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Values of another type than the API's: all other rules rely on these."""
    if wrong := manifest.wrong_types:
        yield flaw(
            "WrongType",
            f"{counted(len(wrong), 'value')} of another type than the API's: {wrong[0]}.",
            needed="values that the API server accepts; nothing else was judged in this manifest.",
            todo="correct them.",
            details=wrong[1:],
        )


def scheduler_name(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """A schedulerName outside of the pod templates, where the kind has no such field.

    Rule: fieldValidation of apiserver/pkg/endpoints/handlers, which kubectl requests since 1.25; the types of kinds.py.
    """
    places = misplaced(manifest)
    if not places:
        return
    targets = [(*item.path, "spec", _SCHEDULER) for item in manifest.templates]
    where = few([shown(path) for path in targets]) if targets else "schedulerName in the pod templates of its runtime"
    values = [_value(path, manifest) for path in places]
    edits = [edit for path in places for edit in _moved(path, manifest)] if targets else []
    yield flaw(
        "SchedulerNameMisplaced",
        f"{few([shown(path) for path in places])}: a {manifest.kind} has no such field. Strict clients, as kubectl is "
        "since 1.25, refuse the manifest; others drop the field in silence, and the pods get the scheduler that the "
        "operator sets, else the default one.",
        needed=f"the field {where}.",
        todo=f"move it there{f', as {VOLCANO}' if KUBE_BATCH in values else ''}.",
        edits=edits,
    )


def _moved(path: Path, manifest: Manifest) -> Iterator[Edit]:
    """Into each pod template below the mapping that has it, where that names no scheduler itself; else into all."""
    value = _value(path, manifest)
    below = [item for item in manifest.templates if item.path[: len(path) - 1] == path[:-1]]
    for item in below or manifest.templates:
        if _SCHEDULER not in item.spec and isinstance(value, str):
            yield Edit((*item.path, "spec", _SCHEDULER), VOLCANO if value == KUBE_BATCH else value)
    yield Edit(path)


def _value(path: Path, manifest: Manifest) -> Any:
    value: Any = manifest.obj
    for step in path:
        value = value[step]
    return value


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


def unknown(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Fields that the kind does not have.

    Rule: apiserver/pkg/endpoints/handlers, as above, and the schemas that the API server publishes from 1.24 on.
    """
    known = {*misplaced(manifest)}
    unlisted = [item for item in _faults(manifest, facts) if item.reason == "UnknownField" and item.path not in known]
    if unlisted:
        lines = [f"{shown(item.path)}.{item.said}" for item in unlisted]
        places = [item.place for item in unlisted]
        yield flaw(
            "UnknownField",
            f"{counted(len(unlisted), 'field')} that a {manifest.kind} of {manifest.ref.api_version} does not have: "
            f"{lines[0]} Strict clients refuse the manifest, others drop the field in silence.",
            needed="fields of the kind's schema (kubectl explain).",
            todo=f"move to {few(places)}." if all(places) else "correct, move or remove them.",
            details=lines[1:],
            edits=_moves(unlisted, manifest),
        )


def limits(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Fields that are missing, and values that the kind does not allow; with a cluster, the dry run tells.

    Rule: the validation of CustomResources by their schemas in apiextensions-apiserver, and that of Kubernetes' kinds.
    """
    if not isinstance(facts.found.get(OBJECTS), Unread):
        return
    found = _faults(manifest, facts)
    if missing := [shown(item.path) for item in found if item.reason == "FieldMissing"]:
        yield flaw(
            "FieldMissing",
            f"{few(missing)}: a {manifest.kind} of {manifest.ref.api_version} must have this, and the API server "
            "refuses it without.",
            needed="all fields that the kind requires.",
            todo="add what is missing.",
        )
    if values := [f"{shown(item.path)}:{item.said}" for item in found if item.reason == "ValueNotAllowed"]:
        yield flaw(
            "ValueNotAllowed",
            f"{counted(len(values), 'value')} that the API server refuses: {values[0]}",
            needed="values that the kind's schema allows.",
            todo="correct them.",
            details=values[1:],
        )


def _faults(manifest: Manifest, facts: Facts) -> Sequence[Fault]:
    """By the schema of the API server, else by that of the files, of the releases or of Kubernetes."""
    ref, published = manifest.ref, facts.found.get(SCHEMAS)
    if isinstance(published, Mapping) and ref.api_version in published:
        known = of_server(manifest.obj, published[ref.api_version])
        return tuple(faults(manifest.obj, known)) if known else ()
    if of_releases(ref.api_version, ref.kind):
        return manifest.faults
    files = facts.known(FILES)
    if known := of_files(ref.api_version, ref.kind, files):
        return tuple(faults(manifest.obj, known))
    others = served_instead(ref.api_version, ref.kind)
    why = f", but that of {', '.join(others)}" if others else ""
    message = f"the fields of {ref.kind} of {ref.api_version} were not judged: its schema is not known{why}."
    todo = "correct apiVersion and kind, or name a cluster that serves it with --kubeconfig or --context."
    raise CannotJudgeError(errored("FieldsNotJudged", message, expected="a kind whose schema is known", todo=todo))


def _moves(unlisted: Sequence[Fault], manifest: Manifest) -> list[Edit]:
    """Into the places that they belong to, where each has one of its own that is free."""
    edits: list[Edit] = []
    for item in unlisted:
        place = tuple(item.place.split("."))
        there: Any = manifest.obj
        for step in place:
            there = there.get(step) if isinstance(there, dict) else None
        if not item.place or re.search(r"\[\]|\*", item.place) or there is not None:
            return []
        edits += [Edit(place, _value(item.path, manifest)), Edit(item.path)]
    return edits
