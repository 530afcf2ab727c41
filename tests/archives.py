"""Archives of releases, and of what they take from elsewhere: beside the checkout, or where KFV_TEST_ARCHIVES says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deriving.release import (
    Derived,
    Remotes,
    built,
    derive_release,
    opened,
    remotes_of,
    wanted_paths,
)
from tests.places import UPSTREAM

_ARGO = {"argo-workflows": "argo-workflows-3.7.3.tar.gz"}
REMOTE_BASES = {
    "1.11.0": _ARGO | {"jobset": "jobset-0.10.1.yaml.gz"},
    "26.03": _ARGO | {"jobset": "jobset-0.10.1.yaml.gz"},
    "26.03.1": _ARGO | {"jobset": "jobset-0.11.0.yaml.gz"},
}
"""Files with what releases take from elsewhere, by release and source."""


def file_beside(name: str) -> Path:
    """A file of upstream, beside the checkout or in the directory that KFV_TEST_ARCHIVES names; may not be there."""
    others = Path(os.environ.get("KFV_TEST_ARCHIVES", UPSTREAM)) / name
    return others if others.is_file() else UPSTREAM / name


def manifest_of(component: str, version: str) -> Path:
    """The manifest of Volcano or of the local path provisioner; may not be there."""
    packed = component == "volcano"
    return file_beside(f"volcano-{version}.yaml.gz" if packed else f"local-path-storage-{version}.yaml")


def archive_of(release: str) -> Path:
    """The archive of a release; may not be there."""
    name = "community-distribution" if release.startswith("26.") else "manifests"
    return file_beside(f"{name}-{release}.tar.gz")


class Again(NamedTuple):
    """What was derived of the archive of a release, what it takes from elsewhere, and all its objects."""

    found: Derived
    remotes: Remotes
    objects: tuple[Object, ...]


def derived_again(release: str, like: str, kustomize: Path) -> Again:
    """A release whose archive is at hand, derived with the help of the entry of the release `like`."""
    given = {name: str(file_beside(file)) for name, file in REMOTE_BASES.get(release, {}).items()}
    with opened(archive_of(release)) as root:
        paths = wanted_paths(root, like)
        remotes = remotes_of(root, paths, like, given)
        objects = built(root, paths, like, remotes, {"kustomize_binary": str(kustomize)})
        derived = derive_release(root, like, objects)
        return Again(derived, remotes, tuple(item for each in objects.values() for item in each))


def needed_archive(release: str) -> Path:
    """The archive of a release; the test is skipped where it is not."""
    found = archive_of(release)
    if not found.is_file():
        pytest.skip(f"no {found}; KFV_TEST_ARCHIVES names the directory of other archives")
    return found
