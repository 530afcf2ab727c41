"""The user that the configuration of an image names: from a registry or a directory, each part verified by its digest.

Rules: config.md, manifest.md and image-index.md of OCI's image specification 1.1; an absent user is root there and for
the kubelet (getImageUser in pkg/kubelet/kuberuntime/helpers.go).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol

from kubeflow_volcano.catalog.images.limits import Meaning
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.images.users import ImageUser
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.rollout.images.registry.client import Registry

_MOST_BYTES = 1 << 20
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_FOR_OTHERS = frozenset({Meaning.SILENT, Meaning.UNTRUSTED, Meaning.RATE_LIMITED, Meaning.UNAVAILABLE})
"""Answers that other images of the same host would get, too."""


class NotReadError(Exception):
    """The configuration cannot be read; `of_host`: neither could that of another image of the same host."""

    def __init__(self, why: str, *, of_host: bool = False) -> None:
        super().__init__(why)
        self.of_host = of_host


class Parts(Protocol):
    """Where the manifests and configurations of one image are."""

    def read(self, digest: str = "", *, is_manifest: bool = True) -> bytes:
        """What has that digest; without one what the name of the image stands for. Raises NotReadError."""


class InRegistry:
    """An image in its registry."""

    def __init__(self, registry: Registry, image: ImageName) -> None:
        self._registry, self._image = registry, image

    def read(self, digest: str = "", *, is_manifest: bool = True) -> bytes:
        """By requests, each with the deadline of the registry's client."""
        image = replace(self._image, digest=digest or self._image.digest) if is_manifest else self._image
        answer, body = self._registry.read(image, "" if is_manifest else digest)
        if answer.status != HTTPStatus.OK:
            raise NotReadError(f"{image.host} answers {answer.why}", of_host=answer.meaning in _FOR_OTHERS)
        return body


class InDirectory:
    """An image in a directory, as skopeo's transport `dir` writes it."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def read(self, digest: str = "", *, is_manifest: bool = True) -> bytes:
        """From a file that is named by its sum."""
        sum_ = digest.partition(":")[2]
        name = "manifest.json" if not digest else f"{sum_}.manifest.json" if is_manifest else sum_
        try:
            with (self._place / name).open("rb") as stream:
                return stream.read(_MOST_BYTES)
        except OSError as error:
            raise NotReadError(f"{self._place / name}: {error.strerror}") from error


def image_user(parts: Parts, architectures: Collection[str], digest: str = "") -> ImageUser:
    """The user of an image on nodes of these architectures; `digest` is what its name pins.

    Raises:
        NotReadError: a part does not come, is another than its digest says or no such part; or users differ.
    """
    try:
        return _image_user(parts, architectures, digest)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotReadError(f"its manifest or configuration is none ({type(error).__name__})") from error


def _image_user(parts: Parts, architectures: Collection[str], digest: str) -> ImageUser:
    top = _verified(parts.read(), digest)
    users = {_user(parts, manifest) for manifest in _manifests(parts, top, architectures)}
    if len(users) > 1:
        raise NotReadError(f"its builds for {', '.join(architectures)} name different users")
    return ImageUser(users.pop(), digest or f"sha256:{hashlib.sha256(top).hexdigest()}")


def _manifests(parts: Parts, top: bytes, architectures: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """The manifest, or those of an index for Linux on these architectures."""
    document = read_json(top)
    if "manifests" not in document:
        yield document
        return
    for name in architectures:
        fitting = (item for item in document["manifests"] if _platform(item) == ("linux", name))
        found = next(fitting, None)
        if found is None:
            raise NotReadError(f"it has no build for {name}")
        yield read_json(_part(parts, found["digest"]))


def _platform(item: Mapping[str, Any]) -> tuple[str, str]:
    platform = item.get("platform") or {}
    return str(platform.get("os")), str(platform.get("architecture"))


def _user(parts: Parts, manifest: Mapping[str, Any]) -> str:
    configuration = read_json(_part(parts, manifest["config"]["digest"], is_manifest=False))
    return str((configuration.get("config") or {}).get("User") or "")


def _part(parts: Parts, digest: str, *, is_manifest: bool = True) -> bytes:
    if not _DIGEST.fullmatch(digest):
        raise NotReadError(f"it names a part {digest!r:.80}")
    return _verified(parts.read(digest, is_manifest=is_manifest), digest)


def _verified(content: bytes, digest: str) -> bytes:
    if digest and digest != f"sha256:{hashlib.sha256(content).hexdigest()}":
        raise NotReadError(f"what comes as {digest} has another sum")
    return content
