"""Where images are copied from and to: a registry, or a directory that is carried to another network."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Protocol

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.files import remove_tree_below
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rollout.images.registry.client import Answer, Registry, scheme_of
from kubeflow_volcano.rollout.images.registry.plan import Copy
from kubeflow_volcano.text import few

_OF_AN_IMAGE = re.compile(
    r"version|manifest\.json|[0-9a-f]{64,128}(?:\.manifest\.json)?|(?:[0-9a-f]{64,128}\.)?signature-[0-9]+|dir-put-blob[0-9]*"
)
"""What skopeo's transport `dir` writes (directory_transport.go and directory_dest.go of containers/image)."""


class End(Protocol):
    """One end of a copy."""

    def look(self, copy: Copy) -> Answer:
        """Whether it has the image, and with which digest."""

    def source(self, copy: Copy) -> str:
        """The image in skopeo's notation, to read it from here."""

    def target(self, copy: Copy) -> str:
        """The same, to write it here."""

    def options(self, copy: Copy, side: str) -> Sequence[str]:
        """Options of skopeo for this end, which is the `side` src or dest."""

    def finish(self, copy: Copy) -> None:
        """Keep what skopeo has written here."""


class RegistryEnd:
    """A registry; `name` picks one of the names of a copy. `ca` is a directory with certificates for skopeo."""

    def __init__(
        self, registry: Registry, name: Callable[[Copy], ImageName], ca: Path | None = None, *, insecure: bool = False
    ) -> None:
        self._registry = registry
        self._name = name
        self._ca = ca
        self._insecure = insecure

    def look(self, copy: Copy) -> Answer:
        """The answer to a HEAD request."""
        return self._registry.head(self._name(copy))

    def source(self, copy: Copy) -> str:
        """The name with its transport."""
        return f"docker://{self._name(copy)}"

    target = source

    def options(self, copy: Copy, side: str) -> Sequence[str]:
        """Which certificates are trusted, and whether TLS is verified."""
        if self._insecure or scheme_of(self._name(copy).host) == "http":
            return (f"--{side}-tls-verify=false",)
        return (f"--{side}-cert-dir", str(self._ca)) if self._ca else ()

    def finish(self, copy: Copy) -> None:
        """Nothing: a registry keeps a manifest at once."""


def place_of(directory: Path, image: ImageName) -> Path:
    """The directory of an image below that of an archive."""
    return directory / image.repository / image.version.replace(":", "-")


class Archive:
    """A directory with one directory per image, by its own name: HOST/PATH/TAG, or sha256-SUM for a digest.

    skopeo writes each (transport `dir`) into a partial directory beside it first, so that a directory is complete.
    """

    def __init__(self, directory: Path, verify: Callable[[Path], None] = lambda _place: None) -> None:
        """`verify` is called with the directory of an image before it is read; it raises what forbids that."""
        self._directory = directory
        self._verify = verify

    def look(self, copy: Copy) -> Answer:
        """Whether the image is complete; its digest is the sum of its manifest."""
        try:
            manifest = (self.place(copy) / "manifest.json").read_bytes()
        except OSError:
            return Answer(HTTPStatus.NOT_FOUND, error=f"it is not in {self._directory}")
        return Answer(HTTPStatus.OK, digest=f"sha256:{hashlib.sha256(manifest).hexdigest()}")

    def source(self, copy: Copy) -> str:
        """The directory of the image."""
        self._verify(self.place(copy))
        return f"dir:{self.place(copy)}"

    def target(self, copy: Copy) -> str:
        """An empty partial directory."""
        partial = self._partial(copy)
        self._clear(partial)
        partial.mkdir(parents=True)
        return f"dir:{partial}"

    def options(self, copy: Copy, side: str) -> Sequence[str]:  # noqa: ARG002  part of the protocol
        """None."""
        return ()

    def finish(self, copy: Copy) -> None:
        """Replace the directory of the image, with an older image of that name or none, by the partial one."""
        self._clear(self.place(copy))
        self._partial(copy).rename(self.place(copy))

    def place(self, copy: Copy) -> Path:
        """The directory of the image, whether it exists or not."""
        return place_of(self._directory, copy.image)

    def _partial(self, copy: Copy) -> Path:
        place = self.place(copy)
        return place.with_name(f".{place.name}.partial")

    def _clear(self, place: Path) -> None:
        """Remove the directory of an image, which has nothing but what skopeo writes.

        Raises:
            InvalidInput: it has something else, or it is a link or behind one.
        """
        try:
            foreign = [path.name for path in place.iterdir() if not _OF_AN_IMAGE.fullmatch(path.name)]
            if not foreign:
                remove_tree_below(self._directory, place.relative_to(self._directory))
        except FileNotFoundError:
            return
        except NotADirectoryError as error:
            raise InvalidInput(_no_directory(place)) from error
        if foreign:
            raise InvalidInput.problem(
                f"{place}, where an image is to be written, has other files: {few(sorted(foreign))}.",
                "nothing, or the files of an image.",
                "move them elsewhere, and run again.",
            )


def _no_directory(place: Path) -> Problem:
    return Problem(
        f"{place}, where an image is to be written, is no directory, or is behind a symbolic link.",
        "directories of its own below the directory of images, which may itself be a link: nothing is removed "
        "through a link.",
        "replace the link by a directory, or name the directory that it leads to.",
    )
