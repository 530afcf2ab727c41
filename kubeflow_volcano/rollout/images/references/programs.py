"""References inside programs: compiled in, or defaults of a hook. Flags and variables replace them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.names import ImageName, version_tag
from kubeflow_volcano.catalog.images.tables import Compiled, Hook
from kubeflow_volcano.catalog.operator import version_of_image
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.images.references.find import Reference, describe_path
from kubeflow_volcano.rollout.images.references.places import Path, ToSetting

_POD: Path = ("spec", "template", "spec", "containers")


def compiled_in(objects: Iterable[Object]) -> Iterator[Reference]:
    """The images that programs among `objects` use by themselves, unless a flag or a variable replaces them."""
    for obj, number, container in _containers(objects):
        version = _version(container)
        for entry in tables.compiled():
            if not _is(entry, obj, container) or version is None or not entry.versions.covers(version):
                continue
            image = ImageName.parse(entry.image)
            if image and not _is_set(entry, container):
                put = ToSetting((*_POD, number), entry.flag, entry.environment)
                yield Reference(image, entry.image, Ref.of(obj), f"in the program: {entry.use}", "compiled", put)


def unknown_programs(objects: Iterable[Object]) -> Iterator[tuple[Ref, str]]:
    """Programs with compiled-in images in a version that the catalog does not know, with their own image."""
    for obj, _, container in _containers(objects):
        entries = [entry for entry in tables.compiled() if _is(entry, obj, container)]
        if entries and _version(container) is None and not all(_is_set(entry, container) for entry in entries):
            yield Ref.of(obj), container["image"]


def of_hooks(objects: Sequence[Object], references: Sequence[Reference]) -> Iterator[Reference]:
    """The references, with those of hooks completed by the tag that they add and the variables that replace them."""
    hooks = {name: hook for hook in tables.sites().hooks for name in hook.images}
    own = set(_variables(objects))
    for item in references:
        hook = hooks.get(item.site.rpartition(": ")[2]) if item.kind == "code" else None
        if hook:
            yield _completed(item, hook, objects)
        elif item.kind != "environment" or (item.ref, item.site) not in own:
            yield item


def _variables(objects: Iterable[Object]) -> Iterator[tuple[Ref, str]]:
    """The variables of the hooks themselves, which contain names without tags."""
    for obj, number, container in _containers(objects):
        names = [name for hook in tables.sites().hooks if _runs(hook, obj, container) for name in hook.images]
        for index, entry in enumerate(container.get("env") or ()):
            if entry["name"] in names:
                yield Ref.of(obj), describe_path((*_POD, number, "env", index, "value"))


def _completed(item: Reference, hook: Hook, objects: Sequence[Object]) -> Reference:
    name = item.site.rpartition(": ")[2]
    tag = _text(objects, hook)
    for obj, number, container in _containers(objects):
        if not _runs(hook, obj, container):
            continue
        variables = {entry["name"]: entry.get("value", "") for entry in container.get("env") or ()}
        written = variables.get(name) or item.text
        tag = variables.get(_tag_of(name)) or tag
        image = ImageName.parse(f"{written}:{tag}" if tag else written)
        if image:
            put = ToSetting((*_POD, number), "", name, _tag_of(name))
            return Reference(image, written, Ref.of(obj), f"{item.site} in {item.ref}", "code", put)
    return replace(item, image=replace(item.image, tag=tag))


def _runs(hook: Hook, obj: Object, container: Mapping[str, Any]) -> bool:
    return (obj["metadata"]["name"], container["name"]) == (hook.workload, hook.container)


def _tag_of(name: str) -> str:
    return name.removesuffix("_IMAGE") + "_TAG"


def _text(objects: Iterable[Object], hook: Hook) -> str:
    for obj in objects:
        if (obj["kind"], obj["metadata"]["name"]) == (hook.version.kind, hook.version.name):
            return str((obj.get("data") or {}).get(hook.version.key, ""))
    return ""


def _containers(objects: Iterable[Object]) -> Iterator[tuple[Object, int, Mapping[str, Any]]]:
    for obj in objects:
        if obj["kind"] in {"Deployment", "StatefulSet"}:
            for number, container in enumerate(obj["spec"]["template"]["spec"].get("containers") or ()):
                yield obj, number, container


def _is(entry: Compiled, obj: Object, container: Mapping[str, Any]) -> bool:
    return obj["metadata"]["name"] == entry.workload and fnmatchcase(container["name"], entry.container)


def _version(container: Mapping[str, Any]) -> str | None:
    image = str(container.get("image", ""))
    version = version_of_image(image) or version_tag(image)
    return version if re.match(r"\d+\.\d+\.\d+(?:-|$)", version) else None


def _is_set(entry: Compiled, container: Mapping[str, Any]) -> bool:
    if entry.environment and any(item["name"] == entry.environment for item in container.get("env") or ()):
        return True
    words = [*(container.get("command") or ()), *(container.get("args") or ())]
    return bool(entry.flag) and any(str(word).partition("=")[0] == entry.flag for word in words)
