"""One image in a directory, as skopeo's transport `dir` writes it: every file is named in a manifest by its sum."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.rollout.bundle.sums import Summing

_MANIFEST, _VERSION = "manifest.json", "version"
_VERSION_TEXT = re.compile(rb"Directory Transport Version: \d+\.\d+\n")
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


class StoredImage:
    """The image in a directory; `manifest.json` is what its name stands for: an image, or an index of several."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def damage(self, summing: Summing) -> str:
        """What is missing or has another sum than it is named by; empty if the image is whole."""
        try:
            if not _VERSION_TEXT.fullmatch((self.place / _VERSION).read_bytes()):
                return f"{_VERSION} is another one"
            needed = {name: f"sha256:{name.partition('.')[0]}" for name in self._named()}
            for name, digest in needed.items():
                if f"sha256:{summing.measure(self.place / name)[1]}" != digest:
                    return f"{name} has another sum"
            held = {path.name for path in self.place.iterdir()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return str(error) or type(error).__name__
        foreign = held - needed.keys() - {_MANIFEST, _VERSION}
        return f"{', '.join(sorted(foreign))} is not of the image" if foreign else ""

    def architectures(self) -> set[str]:
        """For which architectures the image is; empty where that cannot be read."""
        try:
            return set(self._architectures())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return set()

    def _named(self) -> Iterator[str]:
        """Names of all files that the manifests name."""
        top = self._read(_MANIFEST)
        parts = [top]
        for item in top.get("manifests", ()):
            name = f"{_hex(item['digest'])}.manifest.json"
            yield name
            parts.append(self._read(name))
        for part in parts:
            if "manifests" not in part:
                yield from (_hex(item["digest"]) for item in (part["config"], *part["layers"]))

    def _architectures(self) -> Iterator[str]:
        top = self._read(_MANIFEST)
        if "manifests" in top:
            yield from (str(item["platform"]["architecture"]) for item in top["manifests"] if "platform" in item)
        else:
            yield str(self._read(_hex(top["config"]["digest"]))["architecture"])

    def _read(self, name: str) -> Mapping[str, Any]:
        document: Mapping[str, Any] = read_json((self.place / name).read_bytes())
        return document


def _hex(digest: str) -> str:
    """The name of the file with that digest; ValueError for one that could be anything else."""
    match = _DIGEST.fullmatch(digest)
    if match is None:
        raise ValueError(f"the digest {digest!r}")
    return match[1]
