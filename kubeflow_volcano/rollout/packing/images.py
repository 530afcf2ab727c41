"""Images in a bundle: copied as into a registry of one's own, with all architectures, so that digests stay exact."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from http import HTTPStatus
from operator import attrgetter
from pathlib import Path

from kubeflow_volcano.parallel import meanwhile
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.bundle.contents import IMAGES
from kubeflow_volcano.rollout.bundle.sums import Summing, size_of
from kubeflow_volcano.rollout.bundle.writing import Writer
from kubeflow_volcano.rollout.images.registry.access import authfile, mirror_registry
from kubeflow_volcano.rollout.images.registry.client import Answer
from kubeflow_volcano.rollout.images.registry.copying import Copying, CopyResult
from kubeflow_volcano.rollout.images.registry.endpoints import Archive, RegistryEnd
from kubeflow_volcano.rollout.images.registry.plan import Copy
from kubeflow_volcano.rollout.images.registry.rate import rate_limit_for
from kubeflow_volcano.rollout.images.registry.skopeo import Skopeo
from kubeflow_volcano.rollout.packing.layout import StoredImage
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import counted, few

_BEAT_SECONDS = 5.0


class Images:
    """The images that are to be in a bundle."""

    def __init__(self, writer: Writer, wanted: Sequence[Copy], settings: Settings, progress: Progress) -> None:
        self._writer, self._wanted, self._settings, self._progress = writer, wanted, settings, progress
        self._archive = _Mended(writer.directory / IMAGES)

    def copy(self, *, check: bool) -> CopyResult:
        """Copy what is missing or damaged; with `check` nothing is copied.

        Raises:
            InvalidInput: there is no skopeo, or a file with credentials cannot be used.
        """
        self._verify()
        settings = self._settings
        rate = rate_limit_for((str(copy.source) for copy in self._wanted), settings.mirror.probe_per_minute)
        source = RegistryEnd(mirror_registry(settings, rate), attrgetter("source"))
        most = settings.mirror.refusals
        with authfile(settings) as logins, meanwhile(self._report, _BEAT_SECONDS):
            skopeo = Skopeo.find(logins, settings.pull.timeout_seconds)
            copying = Copying(
                source, self._archive, skopeo, rate=rate, most_refusals=most, progress=self._progress, check=check
            )
            return copying.run(self._wanted)

    def adopt(self, done: CopyResult) -> list[str]:
        """List the files of all images that are there; returns their paths."""
        listed: list[str] = []
        there = {*done.copied, *done.present}
        for copy in self._wanted:
            if str(copy.image) not in there:
                continue
            place = self._archive.place(copy)
            for file in sorted(place.iterdir()):
                path = file.relative_to(self._writer.directory).as_posix()
                if str(copy.image) in done.copied or path not in self._writer.entries(IMAGES):
                    self._writer.adopt(path, str(copy.image))
                listed.append(path)
        self._writer.save()
        return listed

    def lacking(self, architectures: Sequence[str]) -> Problem | None:
        """The images that are there and have nothing for an architecture of the nodes."""
        lacking: dict[str, list[str]] = {}
        for copy in self._wanted:
            found = StoredImage(self._archive.place(copy)).architectures()
            for name in architectures:
                if found and name not in found:
                    lacking.setdefault(name, []).append(str(copy.image))
        if not lacking:
            return None
        texts = [f"{counted(len(names), 'image')} for {name}: {few(names)}" for name, names in lacking.items()]
        return Problem(
            f"upstream does not publish {'; '.join(texts)}.",
            "images for every architecture in plan_architectures.",
            "name replacements in image_mirror_overrides, or run these components on other nodes.",
        )

    def _report(self) -> None:
        """Report how much of a large image has arrived: skopeo prints nothing until it has ended."""
        if size := self._archive.arrived():
            self._progress(f"{size_of(size)} of this image so far")

    def _verify(self) -> None:
        """Find images that are there and damaged, which are copied again."""
        summing = Summing(self._progress)
        for copy in self._wanted:
            place = self._archive.place(copy)
            if place.exists() and (why := self._damage(place, str(copy.image), summing)):
                self._progress(f"{copy.image} in the bundle is damaged ({why}), and is copied again")
                self._archive.damaged.add(place)

    def _damage(self, place: Path, source: str, summing: Summing) -> str:
        if why := StoredImage(place).damage(summing):
            return why
        folder = place.relative_to(self._writer.directory).as_posix()
        manifest = f"{folder}/manifest.json"
        listed = self._writer.entries(folder)
        return "" if manifest not in listed or self._writer.is_whole(manifest, source) else "manifest.json is another"


class _Mended(Archive):
    """An archive in which damaged images are missing."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.damaged: set[Path] = set()
        self._writing: Path | None = None

    def target(self, copy: Copy) -> str:
        """As an archive."""
        name = super().target(copy)
        self._writing = Path(name.removeprefix("dir:"))
        return name

    def arrived(self) -> int:
        """Bytes of the image that is being copied, 0 if none is."""
        place = self._writing
        with contextlib.suppress(OSError):  # it is complete meanwhile
            return sum(file.stat().st_size for file in place.iterdir()) if place else 0
        return 0

    def look(self, copy: Copy) -> Answer:
        """As an archive, but for damaged images."""
        if self.place(copy) in self.damaged:
            return Answer(HTTPStatus.NOT_FOUND, error="it is damaged")
        return super().look(copy)

    def finish(self, copy: Copy) -> None:
        """As an archive; what has replaced a damaged image is whole."""
        self._writing = None
        super().finish(copy)
        self.damaged.discard(self.place(copy))
