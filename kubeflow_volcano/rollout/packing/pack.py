"""One run over all parts of a bundle: what is whole stays, what is missing or wrong is fetched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kubeflow_volcano import __version__
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.bundle.contents import CATALOG, FOLDERS, IMAGES, SUMS, Contents
from kubeflow_volcano.rollout.bundle.sums import Summing, size_of
from kubeflow_volcano.rollout.bundle.writing import Writer
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.images.registry import copying
from kubeflow_volcano.rollout.images.registry.plan import copies
from kubeflow_volcano.rollout.images.report.image_list import report
from kubeflow_volcano.rollout.manifests.kustomize_binary import provide
from kubeflow_volcano.rollout.manifests.trees import scratch
from kubeflow_volcano.rollout.packing.files import architectures, catalog_items, kustomize_items, manifest_items
from kubeflow_volcano.rollout.packing.images import Images
from kubeflow_volcano.rollout.packing.item import Item
from kubeflow_volcano.rollout.packing.wheels import Wheels, python_version
from kubeflow_volcano.rollout.settings.settings import Settings


@dataclass(slots=True)
class Packed:
    """What became of a bundle: names of what was `fetched` (in check mode: would be) and `kept`.

    `sizes` has the bytes of each folder, `sum` the sha256 of SHA256SUMS where the bundle is complete.
    """

    directory: Path
    fetched: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    sum: str = ""
    warnings: list[Problem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def pack(settings: Settings, progress: Progress, *, check: bool) -> Packed:
    """Fill the bundle of the inventory, or say with `check` what would be fetched.

    Problems of single images are in the result, and leave the bundle incomplete; a further run goes on.

    Raises:
        InvalidInput: the inventory names no bundle, or something cannot be fetched; what was fetched stays.
        Busy: another process is filling it.
    """
    if settings.bundle.directory is None:
        raise InvalidInput.problem(
            "kubeflow_bundle is empty.",
            "the directory that becomes the bundle, such as ./bundle.",
            "set kubeflow_bundle in the inventory, or -e kubeflow_bundle=DIRECTORY for this run.",
        )
    directory = settings.bundle.directory.absolute()
    online = replace(settings, bundle=replace(settings.bundle, directory=None))
    header = Contents(
        version=__version__,
        release=settings.release.version,
        architectures=architectures(settings),
        python=python_version(),
        complete=False,
        files=(),
    )
    with (
        scratch(settings.cache_directory / "bundles") as room,
        Writer.open(directory, header, progress, check=check) as writer,
    ):
        run = _Run(online, writer, room, progress, check=check)
        run.all()
    return run.packed


class _Run:
    def __init__(self, settings: Settings, writer: Writer, room: Path, progress: Progress, *, check: bool) -> None:
        self._settings, self._writer, self._room = settings, writer, room
        self._progress, self._check = progress, check
        self._wanted: set[str] = set()
        self.packed = Packed(writer.directory)

    def all(self) -> None:
        """Every part that bundle_contents names, and the user's entries; the others stay as they are."""
        parts = self._settings.bundle.contents
        for folder in FOLDERS:
            if folder not in (*parts, CATALOG):
                self._wanted |= self._writer.entries(folder).keys()
        self._items(catalog_items())
        if "manifests" in parts:
            self._items(manifest_items(self._settings, self._progress, self._room))
        if "kustomize" in parts:
            self._kustomize()
        if "wheels" in parts:
            self._wheels()
        if IMAGES in parts:
            self._images()
        if not self._check and not self.packed.problems:
            self._writer.keep_only(self._wanted)
            contents = self._writer.finish()
            self.packed.sum = Summing(self._progress).measure(self._writer.directory / SUMS)[1]
            for entry in contents.files:
                folder = entry.path.partition("/")[0]
                self.packed.sizes[folder] = self.packed.sizes.get(folder, 0) + entry.size

    def _items(self, items: Iterable[Item]) -> None:
        for item in items:
            same_as = item.fetch() if item.may_change else None
            self._wanted.add(item.path)
            if self._writer.is_whole(item.path, item.source, same_as):
                self.packed.kept.append(item.path)
                continue
            self.packed.fetched.append(item.path)
            size = f", {size_of(item.size)}" if item.size is not None else ""
            if self._check:
                self._progress(f"would fetch {item.path}{size}, from {item.source}")
            else:
                self._progress(f"fetching {item.path}{size}")
                self._writer.put(item.path, item.source, same_as or item.fetch())

    def _kustomize(self) -> None:
        if self._settings.own_kustomize:
            self.packed.warnings.append(
                Problem(
                    f"kustomize_binary is {self._settings.kustomize}, and is not in the bundle.",
                    "that program on the machine that installs, too.",
                    "copy it to the same path there, or remove kustomize_binary.",
                )
            )
            return
        items, missing = kustomize_items(self._settings, self._progress)
        self._items(items)
        self.packed.warnings += missing

    def _wheels(self) -> None:
        wheels = Wheels(self._writer, self._progress, self._room)
        lock = Item.of_file("wheels/requirements.txt", "requirements/run.txt", wheels.lock)
        own = None if self._check else wheels.own()
        for architecture in architectures(self._settings):
            present = wheels.present(architecture)
            missing = wheels.missing(present)
            self.packed.kept += present.values()
            self._wanted |= {*present.values()}
            if self._check:
                self.packed.fetched += [f"{name} for {architecture}" for name in missing]
                for name in missing:
                    self._progress(f"would download the wheel of {name} for {architecture}")
                continue
            for path in wheels.fetch(architecture, missing):
                self.packed.fetched.append(path)
                self._wanted.add(path)
            if own:
                place = f"wheels/{architecture}/{own.name}"
                self._items([Item.of_file(place, f"kubeflow-volcano=={__version__}", own)])
        self._items([lock])

    def _images(self) -> None:
        provide(self._settings, self._progress)
        found = report(desired(self._settings, self._settings.components, self._progress).images, self._settings)
        images = Images(self._writer, copies(found, self._settings), self._settings, self._progress)
        done = images.copy(check=self._check)
        self.packed.fetched += done.copied
        self.packed.kept += done.present
        self.packed.warnings += copying.warnings(done)
        self.packed.problems += copying.problems(done)
        if not self._check:
            self._wanted |= {*images.adopt(done)}
            if lacking := images.lacking(self._settings.plan.architectures):
                self.packed.warnings.append(lacking)
