"""What a kustomization reads: local files, and entries that kustomize would fetch from other machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from kubeflow_volcano import foreign

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_BASES = ("resources", "bases", "components")
_FILES = ("configurations", "crds", "patchesStrategicMerge")
_WITH_PATH = ("patches", "patchesJson6902", "replacements")
_MAKERS = ("configMapGenerator", "secretGenerator")
_PLUGINS = ("generators", "transformers", "validators")
"""Their configuration may name further files in ways that are not known here."""

_REMOTE = re.compile(r"^(?:git::)?(?:https?://|ssh://|git@|github\.com/)|[?&]ref=")
_LONGEST_NAME = 255


class Remote(NamedTuple):
    """An entry of a kustomization file that names another machine."""

    file: Path
    text: str


@dataclass(frozen=True, slots=True)
class _Kustomization:
    files: frozenset[Path]
    bases: tuple[Path, ...]
    remotes: tuple[Remote, ...]


class Kustomizations:
    """Reads each kustomization once, however many others name it."""

    def __init__(self) -> None:
        self._known: dict[Path, _Kustomization] = {}

    def files(self, folder: Path) -> frozenset[Path]:
        """Every local file that a build of `folder` reads.

        Raises:
            InvalidInput: a kustomization that is no YAML.
        """
        return frozenset().union(*(item.files for item in self._closure(folder)))

    def remotes(self, folder: Path) -> tuple[Remote, ...]:
        """Every entry that a build of `folder` would fetch from another machine; raises InvalidInput like `files`."""
        return tuple(remote for item in self._closure(folder) for remote in item.remotes)

    def _closure(self, folder: Path) -> Iterator[_Kustomization]:
        open_, seen = [folder.resolve()], set[Path]()
        while open_:
            place = open_.pop()
            if place not in seen:
                seen.add(place)
                kustomization = self._known.get(place) or self._known.setdefault(place, _read(place))
                open_ += kustomization.bases
                yield kustomization


def has_kustomization(folder: Path) -> bool:
    """Whether kustomize can build that directory."""
    return kustomization_in(folder) is not None


def kustomization_in(folder: Path) -> Path | None:
    """The kustomization file of that directory; None if it has none."""
    return next((folder / name for name in _NAMES if (folder / name).is_file()), None)


def _read(folder: Path) -> _Kustomization:
    own = kustomization_in(folder)
    if own is None:
        return _Kustomization(frozenset(), (), ())
    files, bases, remotes = {own}, [], []
    for document in foreign.parse(own.read_bytes(), str(own)):
        if not isinstance(document, dict):
            continue
        if any(name in document for name in _PLUGINS):
            files |= {path for path in folder.rglob("*") if path.is_file()}
        for text in _references(document):
            if "\n" in text or len(text) > _LONGEST_NAME:
                continue  # an inline patch
            place = folder / text
            if place.is_dir():
                bases.append(place.resolve())
            elif place.is_file():
                files.add(place.resolve())
            elif _REMOTE.search(text):
                remotes.append(Remote(own, text))
    return _Kustomization(frozenset(files), tuple(bases), tuple(remotes))


def _references(document: dict[str, Any]) -> Iterator[str]:
    """Every text that kustomize reads as the name of a file, a directory or an address."""
    for name in (*_BASES, *_FILES, *_PLUGINS):
        yield from _texts(document.get(name))
    for name in _WITH_PATH:
        yield from (item["path"] for item in _mappings(document.get(name)) if isinstance(item.get("path"), str))
    for name in _MAKERS:
        for item in _mappings(document.get(name)):
            yield from (text.rpartition("=")[2] for text in _texts(item.get("files")))
            yield from (*_texts([item.get("env")]), *_texts(item.get("envs")))
    for item in _mappings([document.get("openapi")]):
        yield from _texts([item.get("path")])


def _texts(value: Any) -> Iterator[str]:
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, str))


def _mappings(value: Any) -> Iterator[dict[str, Any]]:
    yield from (item for item in (value if isinstance(value, list) else ()) if isinstance(item, dict))
