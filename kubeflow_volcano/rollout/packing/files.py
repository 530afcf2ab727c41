"""Manifests and kustomize: what the roll-out itself reads."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import platform
import tarfile
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import kubeflow_volcano
from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.kustomize import kustomize_release
from kubeflow_volcano.problems import InvalidInput, Problem, collecting
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.bundle.contents import CATALOG
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations
from kubeflow_volcano.rollout.manifests.kustomize_binary import ARCHITECTURES, asset, carried_name
from kubeflow_volcano.rollout.manifests.remote_bases import with_local_bases
from kubeflow_volcano.rollout.manifests.sources import Sources
from kubeflow_volcano.rollout.packing.item import Item
from kubeflow_volcano.rollout.settings.settings import Settings

_REPOSITORY = ".git"


def architectures(settings: Settings) -> tuple[str, ...]:
    """Those of the nodes and that of this machine, by Go's names: a controller may be either."""
    own = ARCHITECTURES.get(platform.machine(), platform.machine())
    return tuple(sorted({*settings.plan.architectures, own}))


def manifest_items(settings: Settings, progress: Progress, scratch: Path) -> Iterator[Item]:
    """The sources that the chosen components are rendered from. They are in the cache, or fetched now.

    Raises:
        InvalidInput: every source that cannot be fetched.
    """
    sources, problems = Sources(settings, progress), list[Problem]()
    places: dict[str, Path] = {}
    for part in settings.components:
        if part.name == "local-path" and settings.storage.mode != "local_path":
            continue
        with collecting(problems):
            places[part.name] = sources.place(part)
    with collecting(problems):
        with_local_bases(places, settings.release, sources, Kustomizations(), progress)
    if problems:
        raise InvalidInput(dict.fromkeys(problems))
    library = Path(kubeflow_volcano.__file__).parent
    for source, place in sources.originals().items():
        if not place.is_relative_to(library):  # the wheel brings these
            yield _item(source, place, scratch)


def catalog_items() -> Iterator[Item]:
    """The user's entries of the catalog, by which all else of the bundle was chosen."""
    if home := data.added():
        for path in data.own_texts():
            yield Item.of_file(f"{CATALOG}/{path}", f"catalog_directory: {path}", home / path)


def kustomize_items(settings: Settings, progress: Progress) -> tuple[list[Item], list[Problem]]:
    """The release's kustomize for each architecture, and warnings for those that upstream does not publish."""
    release = kustomize_release(settings.kustomize_version)
    items: list[Item] = []
    missing: list[Problem] = []
    for architecture in architectures(settings):
        if architecture in release.sums:
            name = carried_name(release, architecture)
            file = name.partition("#")[0].rpartition("/")[2]
            items.append(Item(f"kustomize/{file}", name, partial(asset, release, architecture, settings, progress)))
        else:
            missing.append(
                Problem(
                    f"no kustomize {release.version} for {architecture} in the bundle: "
                    f"{release.absent.get(architecture, 'upstream publishes none that is known here')}.",
                    "a machine of another architecture that runs Ansible, or a kustomize of your own.",
                    f"set kustomize_binary where Ansible runs on {architecture}.",
                )
            )
    return items, missing


def _item(source: str, place: Path, scratch: Path) -> Item:
    loose = "sha256=" not in source.partition("#")[2]
    mark = hashlib.sha256(source.encode()).hexdigest()[:8]  # two sources may have files of one name
    if place.is_file():
        return Item(f"manifests/{mark}-{_plain(place.name)}", source, lambda: place, place.stat().st_size, loose)
    address = source.partition("#")[0].rstrip("/").rpartition("/")[2]
    name = address.removesuffix(".tar.gz").removesuffix(".tgz") or "manifests"
    return Item(f"manifests/{mark}-{_plain(name)}.tar.gz", source, partial(_packed, place, scratch), None, loose)


def _plain(name: str) -> str:
    return "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in name)


def _packed(folder: Path, scratch: Path) -> Path:
    """An archive of the folder's content below one directory; the same content gives the same bytes."""
    descriptor, name = tempfile.mkstemp(dir=scratch, suffix=".tar.gz")
    with (
        os.fdopen(descriptor, "wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed,
        contextlib.closing(tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT)) as archive,
    ):
        for path in [folder, *sorted(folder.rglob("*"))]:
            near = path.relative_to(folder)
            if near.parts[:1] == (_REPOSITORY,):
                continue
            entry = archive.gettarinfo(path, str(Path("content", near)))
            entry.uid = entry.gid = entry.mtime = 0
            entry.uname = entry.gname = ""
            if entry.islnk():  # a second name of a file in the folder
                entry.type, entry.size = tarfile.REGTYPE, path.stat().st_size
            if entry.isfile():
                with path.open("rb") as content:
                    archive.addfile(entry, content)
            else:
                archive.addfile(entry)
    return Path(name)
