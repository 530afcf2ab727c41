"""Where manifests come from: the release's archive, and sources of single components and of remote bases.

Each is a path, or an address that ends in `#sha256=<sum of the file>` or `#content-sha256=<sum of its content>`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Component, Release
from kubeflow_volcano.catalog.read import INDEPENDENT
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.bundle.reading import Bundle
from kubeflow_volcano.rollout.manifests.archives import is_archive, is_compressed, top_of
from kubeflow_volcano.rollout.manifests.downloads import fetch, first_good, mirrored, without_credentials
from kubeflow_volcano.rollout.manifests.kustomizations import has_kustomization
from kubeflow_volcano.rollout.manifests.pruning import Uses
from kubeflow_volcano.rollout.manifests.trees import (
    Trees,
    content_sum,
    file_sum,
    keep_plain,
    other_content,
    page_instead,
)
from kubeflow_volcano.rollout.settings.settings import Settings

__all__ = ["Sources", "content_sum", "variable_of"]


class _Source(NamedTuple):
    """The parts of a source's text; `kind` of the sum is sha256, content-sha256 or empty."""

    place: str
    kind: str
    sum: str

    @classmethod
    def of(cls, text: str) -> _Source:
        match = re.fullmatch(r"(.*)#(sha256|content-sha256)=([0-9a-f]{64})", text, re.DOTALL)
        return cls(*match.groups()) if match else cls(text, "", "")

    @property
    def is_address(self) -> bool:
        return self.place.startswith(("http://", "https://"))

    @property
    def named(self) -> str:
        """Place and sum, without credentials."""
        return f"{self}#{self.kind}={self.sum}" if self.kind else str(self)

    def __str__(self) -> str:
        return without_credentials(self.place) if self.is_address else self.place


class Sources:
    """The sources of the settings, each fetched and unpacked once; `notes` are for a person."""

    def __init__(self, settings: Settings, progress: Progress, *, offline: bool = False) -> None:
        """With `offline` nothing is downloaded: a source must be a path, or in the cache.

        Raises:
            InvalidInput: the inventory's bundle cannot be used.
        """
        self.notes: list[str] = []
        self._uses = Uses()
        self.trees = Trees(settings.cache_directory / "trees", self._uses)
        self._settings = settings
        self._progress = progress
        self._offline = offline
        self._downloads = settings.cache_directory / "downloads"
        self._opened: dict[str, Path | InvalidInput] = {}
        carried = settings.bundle.directory
        self._bundle = Bundle.open(carried, progress) if carried else None

    def place(self, component: Component) -> Path:
        """The YAML file or kustomization directory of a component.

        Raises:
            InvalidInput: the source does not exist, has another sum, or lacks the component.
        """
        own = self._settings.sources.get(component.name)
        variable = variable_of(component.name, self._settings) if own else "kubeflow_source"
        new = own is not None and own not in self._opened
        path = _inside(self._open(own, variable), [component.path]) if own else self.release()
        known = _Source.of(component.address or "")
        if own and new and known.sum and path.is_dir() == (known.kind == "content-sha256"):
            self.notes += _difference(_Source.of(own), path, component.manifests, known.sum, variable)
        if path.is_file() or (own and has_kustomization(path)):
            return path
        place = path / component.path
        if place.is_file() or has_kustomization(place):
            return place
        raise InvalidInput.problem(
            f"{_Source.of(own or self._settings.source)} has neither a kustomization nor {component.path}.",
            f"the manifests of {component.title} {component.version}: {component.manifests}.",
            f"correct {variable}.",
        )

    def release(self) -> Path:
        """The directory of the release's manifests.

        Raises:
            InvalidInput: it does not exist, has other content, or is that of another release.
        """
        text, release = self._settings.source, self._settings.release
        known = text in self._opened
        paths = [part.path for part in release.components.values()]
        root = _inside(self._open(text, "kubeflow_source"), paths)
        if not known and _Source.of(text).sum != release.source.content_sha256:
            try:
                self.notes += self._unknown_release(root, paths)
            except InvalidInput as error:
                self._opened[text] = error
                raise
        return root

    def remote(self, name: str) -> Path:
        """The directory or YAML file of a remote source; raises InvalidInput like `place`."""
        text, release = self._settings.sources[name], self._settings.release
        new = text not in self._opened
        held = [base.path for base in release.remote_bases if base.source == name]
        path = _inside(self._open(text, variable_of(name)), held)
        known = next(item for item in release.remote_sources if item.name == name)
        if new and path.is_dir():
            self.notes += _difference(_Source.of(text), path, known.title, known.content_sha256, variable_of(name))
        return path

    def originals(self) -> dict[str, Path]:
        """What was opened so far, without credentials: the file as it was published or named, else the directory."""
        places: dict[str, Path] = {}
        for text, place in self._opened.items():
            if isinstance(place, InvalidInput):
                continue
            source = _Source.of(text)
            places[source.named] = place
            if not source.is_address:
                places[source.named] = Path(source.place).expanduser().absolute()
            elif source.kind == "sha256":
                places[source.named] = fetch((source.place,), source.sum, self._downloads, self._progress)
        return places

    def _open(self, text: str, variable: str) -> Path:
        """The directory or plain file of a source; a second call repeats the answer, or the refusal."""
        if text not in self._opened:
            try:
                self._opened[text] = self._found(self._carried(_Source.of(text)), variable)
            except InvalidInput as error:
                self._opened[text] = error
        known = self._opened[text]
        if isinstance(known, InvalidInput):
            raise known
        return known

    def _carried(self, source: _Source) -> _Source:
        """The same source as a file of the inventory's bundle, whose sum was verified; itself without a bundle."""
        if self._bundle is None:
            return source
        if file := self._bundle.file(source.named):
            return source._replace(place=str(file))
        if source.is_address:
            raise InvalidInput.problem(
                f"{source} is not in the bundle {self._bundle.directory}.",
                "a bundle made with this inventory.",
                "run playbooks/bundle.yml with this inventory where the bundle was made, and carry the result.",
            )
        return source

    def _found(self, source: _Source, variable: str) -> Path:
        if source.kind == "content-sha256":
            return self._of_content(source, variable)
        if source.is_address:
            if not (self._downloads / source.sum).is_dir():
                self._require_online(source, variable)
            addresses = mirrored(source.place, self._settings.mirror.preset)
            with _naming(variable):
                return self._ready(fetch(addresses, source.sum, self._downloads, self._progress))
        path = _existing(source, variable)
        if source.kind and path.is_dir():
            raise InvalidInput.problem(
                f"{path} is a directory, and #sha256 is the sum of a file.",
                "the sum of its content.",
                f"set {variable} to {path}#content-sha256={content_sum(path)} if that is the content you expect.",
            )
        if source.kind and (actual := file_sum(path)) != source.sum:
            raise InvalidInput.problem(
                f"{path} has sha256 {actual}.", f"sha256 {source.sum}.", f"correct the file or {variable}."
            )
        return self._ready(path)

    def _of_content(self, source: _Source, variable: str) -> Path:
        if kept := self.trees.of_content(source.sum) or self._kept_file(source.sum):
            return kept
        if source.is_address:
            self._require_online(source, variable)
            addresses = mirrored(source.place, self._settings.mirror.preset)
            with _naming(variable):
                return first_good(
                    addresses,
                    lambda partial, address: self._checked(partial, address, source.sum),
                    self._downloads,
                    self._progress,
                )
        return self._checked(_existing(source, variable), source.place, source.sum)

    def _require_online(self, source: _Source, variable: str) -> None:
        if self._offline:
            raise InvalidInput.problem(
                f"{source} is not in the cache.",
                "a local path, or a source in the cache.",
                f"run playbooks/plan.yml, which downloads it, or {_setting(variable)} to a path.",
            )

    def _checked(self, path: Path, origin: str, content: str) -> Path:
        """The content of `path`, kept if it has that sum.

        Raises:
            InvalidInput: it has another one; nothing is kept.
        """
        if path.is_file() and (page := page_instead(path)):
            raise InvalidInput.problem(
                f"the download from {origin} is not the file{page}.", "the file.", "correct the address."
            )
        if path.is_file():
            if is_archive(path):
                return self.trees.unpacked(path, content, origin)
            return keep_plain(path, self._downloads, content, origin)
        if (total := content_sum(path)) != content:
            raise InvalidInput(other_content(origin, total, content))
        return path

    def _kept_file(self, content: str) -> Path | None:
        folder = self._downloads / content
        files = sorted(folder.iterdir()) if self._uses.hold(folder) else []
        return next((file for file in files if file_sum(file) == content), None)

    def _ready(self, path: Path) -> Path:
        if path.parent.parent == self._downloads:
            self._uses.hold(path.parent)
        if path.is_dir():
            return path
        if is_archive(path):
            return self.trees.unpacked(path)
        return keep_plain(path, self._downloads) if is_compressed(path) else path

    def _unknown_release(self, root: Path, paths: Iterable[str]) -> Iterator[str]:
        """The note about manifests that are not those of the release, as its marker file says.

        Raises:
            InvalidInput: they are those of another release, or of none.
        """
        release, name = self._settings.release, _Source.of(self._settings.source)
        if _is_that_of(root, release):
            yield from _difference(name, root, release.source.title, release.source.content_sha256, "kubeflow_source")
            return
        for other in map(read.load_release, read.releases()):
            if _is_that_of(root, other):
                raise InvalidInput.problem(
                    f"{name} is Kubeflow {other.version}.",
                    f"Kubeflow {release.version}, as kubeflow_release says.",
                    "correct kubeflow_source or kubeflow_release.",
                )
        if not any((root / path).is_dir() for path in paths):
            raise InvalidInput.problem(
                f"{name} has none of the components of Kubeflow {release.version}.",
                f"{release.source.title}: its archive, or a directory with its content.",
                "correct kubeflow_source; empty takes upstream's archive.",
            )
        yield f"{name} is no known release; whether it is compatible with Kubeflow {release.version} is not known."


def variable_of(name: str, settings: Settings | None = None) -> str:
    """The variable that names the source of a component or of a remote base."""
    own = settings.training_operator if settings else None
    if name in INDEPENDENT or (own and name == own.name):
        return name.replace("-", "_") + "_source"
    return f"kubeflow_sources.{name}"


@contextlib.contextmanager
def _naming(variable: str) -> Iterator[None]:
    """Say in each problem of a download which variable takes a path instead."""
    try:
        yield
    except InvalidInput as error:
        way_out = f"or download the file and {_setting(variable)} to its path."
        raise InvalidInput(
            replace(problem, todo=f"{problem.todo.removesuffix('.')}; {way_out}") for problem in error.problems
        ) from error


def _setting(variable: str) -> str:
    name, _, key = variable.partition(".")
    return f"set the key {key} of {name}" if key else f"set {name}"


def _inside(found: Path, wanted: Iterable[str]) -> Path:
    """The directory; or the one directory in it if it has none of `wanted`, as in an archive unpacked by hand."""
    if found.is_file() or has_kustomization(found) or any((found / path).exists() for path in wanted):
        return found
    return top_of(found)


def _difference(source: _Source, path: Path, title: str, known: str, variable: str) -> Iterator[str]:
    """A note about a path without a sum, with other content than what the catalog knows of its release."""
    if source.kind:
        return
    total = content_sum(path) if path.is_dir() else file_sum(path)
    if total != known:
        yield (
            f"{source} is not {title} as published, but a copy with changes or damage: its content sum is {total}, not "
            f"{known}. If you know this copy, set {variable} to {source}#content-sha256={total}: no other is taken."
        )


def _existing(source: _Source, variable: str) -> Path:
    path = Path(source.place).expanduser().absolute()
    if not path.exists():
        raise InvalidInput.problem(
            f"no {path}, where manifests should be.",
            "a path that exists on the machine that runs Ansible.",
            f"correct {variable}.",
        )
    if not (path.is_file() or path.is_dir()):
        raise InvalidInput.problem(
            f"{path} is neither a file nor a directory, but a device, a pipe or a socket.",
            "a file or directory with manifests.",
            f"correct {variable}.",
        )
    return path


def _is_that_of(root: Path, release: Release) -> bool:
    marker = release.source.marker
    return marker is not None and (root / marker.path).is_file() and file_sum(root / marker.path) == marker.sha256
