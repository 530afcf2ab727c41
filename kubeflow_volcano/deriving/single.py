"""Entries of components with one manifest: Volcano and the local path provisioner.

A vendor's build counts as what it is a build of: names of objects show which, and images have the version.
"""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deriving.facts import FACTS, facts_of
from kubeflow_volcano.problems import InvalidInput, Problem

_GZIP = b"\x1f\x8b"


class Single(NamedTuple):
    """A component with one manifest: where upstream keeps it, and the object and images by which it is known."""

    name: str
    title: str
    folder: str
    repository: str
    path: str
    object: str
    images: str


SINGLE = (
    Single(
        "volcano",
        "Volcano",
        "volcano",
        "volcano-sh/volcano",
        "installer/volcano-development.yaml",
        "CustomResourceDefinition podgroups.scheduling.volcano.sh",
        "docker.io/volcanosh/",
    ),
    Single(
        "local-path",
        "Local path provisioner",
        "local_path",
        "rancher/local-path-provisioner",
        "deploy/local-path-storage.yaml",
        "Deployment local-path-provisioner",
        "docker.io/rancher/local-path-provisioner",
    ),
)
"""All of them."""


def objects_of(manifest: Path) -> tuple[bytes, tuple[Object, ...]]:
    """The bytes of a manifest, unpacked if it is packed with gzip, and its objects.

    Raises:
        InvalidInput: it cannot be read, or is no YAML of Kubernetes objects.
    """
    try:
        raw = manifest.read_bytes()
        raw = gzip.decompress(raw) if raw.startswith(_GZIP) else raw
    except (OSError, EOFError, gzip.BadGzipFile) as error:
        problem = Problem(f"{manifest}: {error}.", "a manifest that can be read.", "correct SOURCE.")
        raise InvalidInput(problem) from error
    found = foreign.parse(raw, str(manifest))
    objects = [
        item
        for obj in found
        if isinstance(obj, dict)
        for item in (obj.get("items") or () if obj.get("kind") == "List" else (obj,))
    ]
    if odd := [obj for obj in objects if not ("kind" in obj and (obj.get("metadata") or {}).get("name"))]:
        raise InvalidInput(
            Problem(f"{manifest}: {len(odd)} documents without kind or name.", "Kubernetes objects.", "correct SOURCE.")
        )
    return raw, tuple(objects)


def kind_of(objects: Sequence[Object]) -> Single | None:
    """The component that these objects are; None for others."""
    names = {f"{obj['kind']} {obj['metadata']['name']}" for obj in objects}
    return next((kind for kind in SINGLE if kind.object in names), None)


def derive_single(kind: Single, raw: bytes, objects: Sequence[Object], version: str = "") -> dict[str, Any]:
    """The derived fields of its entry; `version` where the images do not tell one.

    The address is that of upstream's tag if all images are upstream's: its file and no other has the sum.

    Raises:
        InvalidInput: the images have several versions, or none.
    """
    facts = facts_of(objects)
    images = [image for of in facts["images"].values() for image in of.values()]
    version = version or _version(images)
    upstream = all(image.startswith(kind.images) for image in images)
    origin = f"{kind.path} of {kind.repository} v{version}" if upstream else f"the manifest of {kind.title} {version}"
    tag = f"https://raw.githubusercontent.com/{kind.repository}/v{version}/{kind.path}"
    return {
        "name": kind.name,
        "title": kind.title,
        "version": version,
        "manifests": origin,
        "address": f"{tag}#sha256={hashlib.sha256(raw).hexdigest()}" if upstream else None,
        "path": kind.path,
        **facts,
    }


def _version(images: Sequence[str]) -> str:
    tags = {name.tag for image in images if (name := ImageName.parse(image)) and name.tag}
    found = {match[1] for tag in tags if (match := re.fullmatch(r"v?([0-9]+(?:\.[0-9]+)+(?:-[a-z0-9.-]+)?)", tag))}
    if len(found) == 1:
        return found.pop()
    raise InvalidInput(
        Problem(
            f"images with {'the versions ' + ', '.join(sorted(tags)) if tags else 'no version'}.",
            "one version, by which inventories name the entry.",
            "name it with --version, such as --version 1.16.1.",
        )
    )


def changed(derived: Mapping[str, Any], like: Mapping[str, Any]) -> list[str]:
    """What is otherwise than in the entry `like`, a line for each field."""
    lines = []
    for field in sorted({*derived, *like} & {*FACTS}):
        new, old = derived.get(field), like.get(field)
        if _unversioned(new, derived["version"]) == _unversioned(old, like["version"]):
            continue
        if isinstance(new or old, list | dict):
            gone = [str(item) for item in old or () if item not in (new or ())]
            come = [str(item) for item in new or () if item not in (old or ())]
            parts = [f"without {', '.join(gone)}" if gone else "", f"with {', '.join(come)}" if come else ""]
            lines.append(f"{field}: {'; '.join(part for part in parts if part) or 'other values'}")
        else:
            lines.append(f"{field}: {new}, was {old}")
    return lines


def _unversioned(value: Any, version: str) -> str:
    """A value as text, in which images of that version are of none."""
    return str(value).replace(f":v{version}'", ":'")
