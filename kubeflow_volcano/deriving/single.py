"""Entries of components with one manifest: Volcano, the local path provisioner and scheduler-plugins.

A vendor's build counts as what it is a build of: names of objects show which, and images have the version. Upstream
publishes no manifest of scheduler-plugins but a chart; the manifest is the one that the catalog keeps, with its images.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kubeflow_volcano import foreign
from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.schedulers import known_plugins
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deriving.facts import FACTS, facts_of
from kubeflow_volcano.foreign import read_yaml
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.manifests.archives import DAMAGED, plain_bytes
from kubeflow_volcano.rollout.manifests.render import objects_in

CHART = "manifests/install/charts/as-a-second-scheduler"
"""Where the repository of scheduler-plugins has its chart."""
PROGRAMS = ("controller", "kube-scheduler")
"""Its images."""
KEPT = "scheduler_plugins/manifests"
"""Its manifests in the catalog."""


class Single(NamedTuple):
    """A component with one manifest: where upstream keeps it, and the object and images by which it is known."""

    name: str
    title: str
    folder: str
    repository: str
    path: str
    object: str
    images: str


PLUGINS = Single(
    "scheduler-plugins",
    "Scheduler-plugins",
    "scheduler_plugins",
    "kubernetes-sigs/scheduler-plugins",
    KEPT,
    "CustomResourceDefinition podgroups.scheduling.x-k8s.io",
    "registry.k8s.io/scheduler-plugins/",
)

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
    PLUGINS,
)
"""All of them."""


def objects_of(manifest: Path) -> tuple[bytes, tuple[Object, ...]]:
    """The bytes of a manifest, unpacked if it is compressed, and its objects.

    Raises:
        InvalidInput: it cannot be read, or is no YAML of Kubernetes objects.
    """
    try:
        raw = plain_bytes(manifest)
    except DAMAGED as error:
        problem = Problem(f"{manifest}: {error}.", "a manifest that can be read.", "correct SOURCE.")
        raise InvalidInput(problem) from error
    return raw, objects_in(raw, str(manifest))


def in_tree(root: Path) -> tuple[Single, bytes, tuple[Object, ...]] | None:
    """The component whose repository that is, with its manifest; None for other directories.

    Raises:
        InvalidInput: a file of it cannot be read.
    """
    for kind in SINGLE:
        if (root / kind.path).is_file():
            return kind, *objects_of(root / kind.path)
    values = root / CHART / "values.yaml"
    return (PLUGINS, b"", kept_objects(_images_of_chart(values))) if values.is_file() else None


def _images_of_chart(values: Path) -> tuple[str, ...]:
    content = read_yaml(values.read_bytes())
    try:
        return str(content["controller"]["image"]), str(content["scheduler"]["image"])
    except (KeyError, TypeError) as error:
        raise InvalidInput.problem(
            f"{values} has no {error}.", "scheduler.image and controller.image.", "correct SOURCE."
        ) from error


def kept_objects(images: Iterable[str]) -> tuple[Object, ...]:
    """The objects of scheduler-plugins with these images, as the catalog keeps them: upstream has only a chart."""
    home = data.HOME / KEPT
    (kustomization,) = foreign.parse((home / "kustomization.yaml").read_bytes(), KEPT)
    named = {image.rpartition(":")[0]: image for image in images}
    objects = [
        obj for name in kustomization["resources"] for obj in objects_in((home / name).read_bytes(), f"{KEPT}/{name}")
    ]
    for obj in (item for item in objects if item["kind"] == "Deployment"):
        for container in obj["spec"]["template"]["spec"]["containers"]:
            container["image"] = named.get(container["image"], container["image"])
    made = ({"name": item["name"], "namespace": item["namespace"]} for item in kustomization["configMapGenerator"])
    return *objects, *({"apiVersion": "v1", "kind": "ConfigMap", "metadata": item} for item in made)


def kind_of(objects: Sequence[Object]) -> Single | None:
    """The component that these objects are; None for others."""
    names = {f"{obj['kind']} {obj['metadata']['name']}" for obj in objects}
    return next((kind for kind in SINGLE if kind.object in names), None)


def derive_single(
    kind: Single, raw: bytes, objects: Sequence[Object], version: str = "", named: str = ""
) -> dict[str, Any]:
    """The derived fields of its entry, called `version`, else as its images say, else as `named`.

    The address is that of upstream's tag if all images and plugins of the scheduler are upstream's, and images have no
    other version: its file and no other has the sum.

    Raises:
        InvalidInput: the images have several versions or none, or objects are not what their kinds are.
    """
    facts = facts_of(objects)
    images = [image for of in facts.get("images", {}).values() for image in of.values()]
    version = version or _version(images, named)
    upstream = all(image.startswith(kind.images) for image in images) and _versions(images) <= {version}
    upstream = upstream and {*facts.get("scheduler_plugins", ())} <= known_plugins()
    path = CHART if kind is PLUGINS else kind.path
    origin = f"{path} of {kind.repository} v{version}" if upstream else f"the manifest of {kind.title} {version}"
    tag = f"https://raw.githubusercontent.com/{kind.repository}/v{version}/{kind.path}"
    published = upstream and kind is not PLUGINS
    return {
        "name": kind.name,
        "title": kind.title,
        "version": version,
        "manifests": origin,
        "address": f"{tag}#sha256={hashlib.sha256(raw).hexdigest()}" if published else None,
        "path": kind.path,
        **({"kubernetes": _of_a_scheduler(version)} if kind is PLUGINS else {}),
        **facts,
    }


def _of_a_scheduler(version: str) -> dict[str, str]:
    """The minor of Kubernetes that a kube-scheduler with that version is made of, and the next: the skew policy."""
    minor = version_key(version)[1]
    return {"lowest": f"1.{minor}", "highest": f"1.{minor + 1}"}


def _version(images: Sequence[str], named: str) -> str:
    tags, found = _tags(images), _versions(images)
    if len(found) == 1 or (named and not found):
        return (found or {named}).pop()
    raise InvalidInput.problem(
        f"images with {'the versions ' + ', '.join(sorted(tags)) if tags else 'no version'}.",
        "one version, by which inventories name the entry.",
        "name it with --version, such as --version 1.16.1.",
    )


def _tags(images: Iterable[str]) -> set[str]:
    return {name.tag for image in images if (name := ImageName.parse(image)) and name.tag}


def _versions(images: Iterable[str]) -> set[str]:
    matches = (re.fullmatch(r"v?([0-9]+(?:\.[0-9]+)+(?:-[a-z0-9.-]+)?)", tag) for tag in _tags(images))
    return {match[1] for match in matches if match}


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
