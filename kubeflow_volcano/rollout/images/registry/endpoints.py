"""Where images are copied from and to: a registry, or a directory that is carried to another network."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.rollout.images.registry.client import Answer, Registry, scheme_of
from kubeflow_volcano.rollout.images.registry.plan import Copy

__all__ = ["Archive", "End", "RegistryEnd"]


class End(Protocol):
    """One end of a copy."""

    def look(self, copy: Copy) -> Answer:
        """Whether it has the image, and with which digest."""

    def source(self, copy: Copy) -> str:
        """The image as skopeo is to name it when it reads from here."""

    def target(self, copy: Copy) -> str:
        """The same when it writes here."""

    def options(self, copy: Copy, side: str) -> Sequence[str]:
        """Options of skopeo for this end, which is the `side` src or dest."""

    def finish(self, copy: Copy) -> None:
        """The copy into this end has come to its end."""


class RegistryEnd:
    """A registry; `name` says which of the names of a copy is meant. `ca` is a directory for skopeo, or None."""

    def __init__(
        self, registry: Registry, name: Callable[[Copy], ImageName], ca: Path | None = None, *, insecure: bool = False
    ) -> None:
        self._registry = registry
        self._name = name
        self._ca = ca
        self._insecure = insecure

    def look(self, copy: Copy) -> Answer:
        """One HEAD."""
        return self._registry.head(self._name(copy))

    def source(self, copy: Copy) -> str:
        """The name with its transport."""
        return f"docker://{self._name(copy)}"

    target = source

    def options(self, copy: Copy, side: str) -> Sequence[str]:
        """Which certificates are trusted, and whether there are any."""
        if self._insecure or scheme_of(self._name(copy).host) == "http":
            return (f"--{side}-tls-verify=false",)
        return (f"--{side}-cert-dir", str(self._ca)) if self._ca else ()

    def finish(self, copy: Copy) -> None:
        """Nothing is left to do: a manifest is there, or not."""


class Archive:
    """A directory with a directory for each image, by its own name: HOST/PATH/TAG, or sha256-SUM for a digest.

    Each is written by skopeo (its transport `dir`) beside its place first, so that what has its place is whole.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def look(self, copy: Copy) -> Answer:
        """The digest is the sum of the manifest: nothing else is believed."""
        try:
            manifest = (self._place(copy) / "manifest.json").read_bytes()
        except OSError:
            return Answer(HTTPStatus.NOT_FOUND, error=f"it is not in {self._directory}")
        return Answer(HTTPStatus.OK, digest=f"sha256:{hashlib.sha256(manifest).hexdigest()}")

    def source(self, copy: Copy) -> str:
        """Its place."""
        return f"dir:{self._place(copy)}"

    def target(self, copy: Copy) -> str:
        """An empty directory beside its place."""
        partial = self._partial(copy)
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        return f"dir:{partial}"

    def options(self, copy: Copy, side: str) -> Sequence[str]:  # noqa: ARG002  part of the protocol
        """None."""
        return ()

    def finish(self, copy: Copy) -> None:
        """Put what was written into its place, instead of an older image of that name."""
        shutil.rmtree(self._place(copy), ignore_errors=True)
        self._partial(copy).rename(self._place(copy))

    def _place(self, copy: Copy) -> Path:
        return self._directory / copy.image.repository / copy.image.version.replace(":", "-")

    def _partial(self, copy: Copy) -> Path:
        place = self._place(copy)
        return place.with_name(f".{place.name}.partial")
