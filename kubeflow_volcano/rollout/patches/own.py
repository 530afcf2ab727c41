"""Patches of the inventory, merged by kustomize, before images get new names and this project's patches follow."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from kubeflow_volcano.apply.fields.ceded import Pointer, as_pointer
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rollout.manifests.kustomize_binary import UnknownProgramError, require_known
from kubeflow_volcano.rollout.manifests.render import Renderer
from kubeflow_volcano.rollout.settings.own_patches import OwnPatch
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import did_you_mean


def with_own_patches(
    name: str, objects: Sequence[Object], settings: Settings, progress: Progress
) -> tuple[Object, ...]:
    """The objects of a component with the patches that the inventory has for it; the others are the same objects.

    Raises:
        InvalidInput: every patch that fits no object or several, that kustomize refuses, or that renames its object.
    """
    patches = settings.patches.get(name, ())
    if not patches or not objects:
        return tuple(objects)
    targets = _targets(name, patches, objects)
    changed = {Ref.of(obj): obj for obj in _merged(name, targets, settings)}
    problems = [
        Problem(
            f"kubeflow_patches.{name} gives {ref} another kind, name or namespace.",
            "the same object with other fields.",
            "remove these fields from the patch.",
        )
        for ref in dict.fromkeys(Ref.of(obj) for _, _, obj in targets)
        if ref not in changed
    ]
    if problems:
        raise InvalidInput(problems)
    for ref in changed:
        progress(f"note: {ref} is patched by the inventory (kubeflow_patches.{name})")
    return tuple(changed.get(Ref.of(obj), obj) for obj in objects)


def overruled(name: str, settings: Settings, before: Sequence[Object], after: Sequence[Object]) -> Iterator[Problem]:
    """Problems of patches whose fields this project's own patches set again, by `before` and `after` these."""
    last = {Ref.of(obj): obj for obj in after}
    for number, patch in enumerate(settings.patches.get(name, ())):
        for obj in before:
            ref = Ref.of(obj)
            if patch.target.selects(ref):
                fields = [path for path in _paths(patch.patch) if _at(obj, path) != _at(last.get(ref), path)]
                if fields:
                    yield Problem(
                        f"kubeflow_patches.{name}[{number}] sets {', '.join(map('.'.join, fields))} of {ref}, "
                        "which other variables of the inventory set as well.",
                        "one place for each setting.",
                        "set it by its variable, and remove the field from the patch.",
                    )


def _targets(name: str, patches: Sequence[OwnPatch], objects: Sequence[Object]) -> list[tuple[int, OwnPatch, Object]]:
    problems: list[Problem] = []
    targets: list[tuple[int, OwnPatch, Object]] = []
    for number, patch in enumerate(patches):
        fitting = [obj for obj in objects if patch.target.selects(Ref.of(obj))]
        if len(fitting) == 1:
            targets.append((number, patch, fitting[0]))
            continue
        same = sorted({obj["metadata"]["name"] for obj in objects if obj["kind"] == patch.target.kind})
        problems.append(
            Problem(
                f"kubeflow_patches.{name}[{number}] is about {patch.target}, of which the manifests have "
                f"{len(fitting) or 'none'}.{did_you_mean(patch.target.name, same)}",
                "exactly one object, by kind, name and, where there are several, namespace.",
                f"correct the target; of that kind there {'are' if same else 'is'} {', '.join(same) or 'none'}.",
            )
        )
    if problems:
        raise InvalidInput(problems)
    return targets


def _merged(name: str, targets: Sequence[tuple[int, OwnPatch, Object]], settings: Settings) -> tuple[Object, ...]:
    """The patched objects; several patches of one object follow each other."""
    objects = {Ref.of(obj): obj for _, _, obj in targets}
    verify = partial(require_known, settings)
    renderer = Renderer(settings.kustomize, settings.cache_directory, silent, verify=verify)
    with tempfile.TemporaryDirectory(prefix="kubeflow-volcano-patches-") as place:
        for step, (number, patch, obj) in enumerate(targets):
            folder = Path(place, str(step))
            folder.mkdir()
            _write(folder, objects[Ref.of(obj)], patch)
            try:
                built = renderer.render({name: folder})[name]
            except UnknownProgramError:
                raise
            except InvalidInput as error:
                raise InvalidInput([_refused(name, number, folder, item) for item in error.problems]) from error
            objects[Ref.of(obj)] = built[0]
    return tuple(objects.values())


def _write(folder: Path, obj: Object, patch: OwnPatch) -> None:
    meta = {key: obj["metadata"][key] for key in ("name", "namespace") if key in obj["metadata"]}
    group, _, version = obj["apiVersion"].rpartition("/")
    if isinstance(patch.patch, list):
        how: Any = {
            "patchesJson6902": [
                {"target": {"group": group, "version": version, "kind": obj["kind"], **meta}, "path": "patch.yaml"}
            ]
        }
        text: Any = patch.patch
    else:
        how = {"patchesStrategicMerge": ["patch.yaml"]}
        given = patch.patch.get("metadata") or {}
        text = {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **patch.patch, "metadata": {**given, **meta}}
    kustomization = {"resources": ["object.yaml"], **how}
    for file, content in (("object.yaml", obj), ("patch.yaml", text), ("kustomization.yaml", kustomization)):
        (folder / file).write_text(json.dumps(content), "utf-8")


def _refused(name: str, number: int, folder: Path, problem: Problem) -> Problem:
    said = problem.found.replace(f"{folder}", "").replace("kustomize build  failed: ", "")
    return replace(
        problem,
        found=f"kubeflow_patches.{name}[{number}] does not fit its object: {said}",
        needed="a mapping of fields to merge, or a list of operations whose paths exist.",
        todo="correct the patch; playbooks/plan.yml writes the manifests to look at.",
    )


def _paths(patch: Any) -> Iterator[Pointer]:
    """The fields that a patch sets."""
    if isinstance(patch, list):
        for step in patch:
            yield as_pointer(step["path"])
        return
    yield from _leaves(patch, ())


def _leaves(value: Any, path: Pointer) -> Iterator[Pointer]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, str(key)))
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
        for item in value:
            yield from _leaves({key: text for key, text in item.items() if key != "name"}, (*path, item["name"]))
    else:
        yield path


def _at(value: Any, path: Pointer) -> Any:
    """What is at the path; items of lists by name or number. The list itself for an item that does not exist."""
    for part in path:
        if isinstance(value, list):
            named = next((item for item in value if isinstance(item, Mapping) and item.get("name") == part), None)
            number = int(part) if part.isdigit() and int(part) < len(value) else None
            if named is None and number is None:
                return value
            value = named if named is not None else value[number or 0]
        elif isinstance(value, Mapping):
            value = value.get(part)
        else:
            return None
    return value
