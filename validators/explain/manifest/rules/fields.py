"""Rules about fields: schedulerName in the wrong place, fields that the API does not have, values of other types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.edits import Edit
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.rules.gangs import KUBE_BATCH
from kubeflow_volcano.validators.explain.manifest.schemas import SCHEMAS, unknown_fields
from kubeflow_volcano.validators.explain.manifest.templates import Path, shown
from kubeflow_volcano.validators.explain.model import VOLCANO

_SCHEDULER = "schedulerName"
_POLICY = frozenset(
    {
        "activeDeadlineSeconds",
        "backoffLimit",
        "cleanPodPolicy",
        "schedulingPolicy",
        "suspend",
        "ttlSecondsAfterFinished",
    }
)
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


def policy(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Fields of the policy of a Kubeflow job in its spec, where kinds had them before 1.4 of the operator.

    Rule: the types of pkg/apis/kubeflow.org/v1 of training-operator, v1.5.0 to v1.9.2 (RunPolicy).
    """
    if places := misplaced_policy(manifest):
        names = few([shown(path) for path in places])
        there = manifest.obj["spec"].get("runPolicy") or {}
        moved = [Edit(("spec", "runPolicy", str(path[-1])), _value(path, manifest)) for path in places]
        yield flaw(
            "PolicyMisplaced",
            f"{names}: a {manifest.kind} has this below spec.runPolicy. Strict clients refuse the manifest, others "
            "drop the field in silence.",
            needed="the field below spec.runPolicy.",
            todo="move it into spec.runPolicy.",
            edits=[] if any(path[-1] in there for path in places) else [*moved, *map(Edit, places)],
        )


def misplaced_policy(manifest: Manifest) -> list[Path]:
    """Paths of each field of the policy beside it; an MPIJob of v1 has cleanPodPolicy in both places."""
    spec = manifest.obj.get("spec")
    if manifest.ref.api_version != "kubeflow.org/v1" or not manifest.kind.endswith("Job") or not isinstance(spec, dict):
        return []
    own = {"cleanPodPolicy"} if manifest.kind == "MPIJob" else set()
    return [("spec", name) for name in spec if name in _POLICY - own]


def unknown(manifest: Manifest, facts: Facts) -> Iterator[Flaw]:
    """Fields that the API server's schema of the kind does not have.

    Rule: apiserver/pkg/endpoints/handlers, as above, and the schemas that the API server publishes from 1.24 on.
    """
    schemas = facts.read(SCHEMAS).get(manifest.ref.api_version) or {}
    known = {*misplaced(manifest), *misplaced_policy(manifest)}
    unlisted = [item for item in unknown_fields(manifest.obj, schemas) if item.path not in known]
    if unlisted:
        lines = [f"{shown(item.path)}.{item.hint}" for item in unlisted]
        yield flaw(
            "UnknownField",
            f"{counted(len(unlisted), 'field')} that a {manifest.kind} of {manifest.ref.api_version} does not have: "
            f"{lines[0]} Strict clients refuse the manifest, others drop the field in silence.",
            needed="fields of the kind's schema (kubectl explain).",
            todo="correct, move or remove them.",
            details=lines[1:],
        )
