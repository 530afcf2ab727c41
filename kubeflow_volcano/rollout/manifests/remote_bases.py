"""Remote bases of a release, replaced by local copies of their sources, so that no build needs the network."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import yaml

from kubeflow_volcano.catalog.model import Release, RemoteBase
from kubeflow_volcano.problems import InvalidInput, Problem, collecting
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.manifests.kustomizations import Kustomizations, Remote, has_kustomization
from kubeflow_volcano.rollout.manifests.sources import Sources, variable_of
from kubeflow_volcano.rollout.manifests.trees import content_sum, file_sum

_BESIDE = ".remote-bases"
"""Directory for the sources at the top of the release's tree."""

Places = Mapping[str, Path]


def with_local_bases(
    places: Places, release: Release, sources: Sources, known: Kustomizations, progress: Progress
) -> Places:
    """The same places (by component), in a copy of the release without remote bases if it has any.

    Raises:
        InvalidInput: every remote base that the catalog does not know, or whose source is unavailable.
    """
    entries = {remote: name for name, place in places.items() for remote in known.remotes(place)}
    if not entries:
        return places
    root = sources.release().resolve()
    bases: dict[Remote, RemoteBase] = {}
    problems: list[Problem] = []
    for remote, component in sorted(entries.items()):
        base = _resolved(remote.text, release.remote_bases) if remote.file.is_relative_to(root) else None
        if base is None:
            problems.append(_unknown(component, remote, release))
        else:
            bases[remote] = base
    roots: dict[str, Path] = {}
    for name in sorted({base.source for base in bases.values()}):
        with collecting(problems):
            roots[name] = sources.remote(name)
    if problems:
        raise InvalidInput(problems)
    tree = _Beside(root, roots, bases).kept(sources, progress)
    return {name: _in(tree, place, root) for name, place in places.items()}


class _Beside:
    """A copy of a release's tree with the sources of remote bases in it."""

    def __init__(self, root: Path, roots: Places, bases: Mapping[Remote, RemoteBase]) -> None:
        self._root, self._roots, self._found = root, roots, bases

    def kept(self, sources: Sources, progress: Progress) -> Path:
        """The copy, created once per content."""
        sums = {name: content_sum(path) if path.is_dir() else file_sum(path) for name, path in self._roots.items()}
        entries = [(str(item.file.relative_to(self._root)), item.text, base) for item, base in self._found.items()]
        key = hashlib.sha256(repr((content_sum(self._root), sums, entries)).encode()).hexdigest()
        if tree := sources.trees.made_from(key):
            return tree
        progress(f"copying {', '.join(self._roots)} beside the release that refers to them")
        return sources.trees.make(key, self._fill)

    def _fill(self, folder: Path) -> Path:
        _copy(self._root, folder)
        for name, source in self._roots.items():
            beside = folder / _BESIDE / name
            if source.is_dir():
                _copy(source, beside)
            else:
                beside.mkdir(parents=True)
                shutil.copyfile(source, beside / source.name)
                _write_kustomization(beside, source.name, {})
        for number, (remote, base) in enumerate(self._found.items()):
            source = self._roots[base.source]
            place = folder / _BESIDE / base.source / (base.path if source.is_dir() else "")
            if not has_kustomization(place):
                raise InvalidInput(_lacking(source, base))
            if base.images:
                renamed = folder / _BESIDE / f"{base.source}-{number}"
                _write_kustomization(renamed, os.path.relpath(place, renamed), base.images)
                place = renamed
            _rewrite(folder / remote.file.relative_to(self._root), remote.text, place)
        return folder


def _write_kustomization(folder: Path, resource: str, images: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    renamed = [{"name": old, "newName": new} for old, new in images.items()]
    text = {"resources": [resource], **({"images": renamed} if renamed else {})}
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(text), "utf-8")


def _rewrite(file: Path, entry: str, place: Path) -> None:
    near = os.path.relpath(place, file.parent)
    text = re.sub(re.escape(entry) + r"(?=[\s\"']|$)", lambda _: near, file.read_text("utf-8"))
    file.write_text(text, "utf-8")


def _copy(source: Path, target: Path) -> None:
    """Copy, not link: later changes of a checkout must not change what is kept."""
    shutil.copytree(
        source, target, symlinks=True, dirs_exist_ok=True, copy_function=shutil.copyfile, ignore=_repository
    )


def _repository(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name == ".git"]


def _in(tree: Path, place: Path, root: Path) -> Path:
    real = place.resolve()
    return tree / real.relative_to(root) if real.is_relative_to(root) else place


def _resolved(entry: str, bases: Sequence[RemoteBase]) -> RemoteBase | None:
    """The catalog's base for an entry, with the rest of the entry added to its path; None if it has none."""
    place, ref = _parts(entry)
    for base in bases:
        prefix, wanted = _parts(base.prefix)
        if ref == wanted and f"{place}/".startswith(f"{prefix}/"):
            return replace(base, path=f"{base.path}{place.removeprefix(prefix)}")
    return None


def _parts(address: str) -> tuple[str, str]:
    """Host and path in one spelling, and the ref; a // after the repository is optional in kustomize."""
    parts = urlsplit(address.removeprefix("git::"))
    query = parse_qs(parts.query)
    ref = (query.get("ref") or query.get("version") or [""])[0]
    return re.sub(r"/+", "/", f"{parts.netloc}/{parts.path}".replace(".git/", "/")).rstrip("/"), ref


def _unknown(component: str, remote: Remote, release: Release) -> Problem:
    names = ", ".join(source.name for source in release.remote_sources) or "none"
    return Problem(
        f"{remote.file} of {component} refers to {remote.text} on another machine.",
        f"local bases, or remote ones that the catalog knows (of Kubeflow {release.version}: {names}).",
        f"put a copy of it beside that file, refer to the copy, and set {variable_of(component)} to the result.",
    )


def _lacking(source: Path, base: RemoteBase) -> Problem:
    return Problem(
        f"{source} has no kustomization in {base.path}.",
        f"the content of {base.prefix}.",
        f"correct {variable_of(base.source)}.",
    )
