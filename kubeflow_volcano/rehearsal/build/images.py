"""OCI images under their upstream names, assembled from the built programs into an OCI image layout on disk."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.directories import cache_directory, require_private
from kubeflow_volcano.files import replacing, write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.layers import Member, layer_members, write_layer
from kubeflow_volcano.rehearsal.build.recipes import Generation, Image
from kubeflow_volcano.rehearsal.build.toolchain import go_architecture
from kubeflow_volcano.rehearsal.inside.registry import read_index
from kubeflow_volcano.rehearsal.lock import hold_lock
from kubeflow_volcano.text import counted

_PATIENCE_SECONDS = 600.0
_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MEDIA = "application/vnd.oci.image"
_NAME = "org.opencontainers.image.ref.name"
_INPUTS = "kubeflow-volcano.inputs"
_BLOB = re.compile(r"[0-9a-f]{64}|\.layer|\.\.layer\.[0-9a-f]{8}")
"""Names in a directory of blobs: blobs by their digest, and a layer that is or was being written."""


@dataclass(frozen=True, slots=True)
class ImageStore:
    """An OCI image layout (oci-layout, index.json, blobs/sha256/) whose index names each image in full."""

    home: Path

    def digests(self) -> dict[str, str]:
        """Digest of each image's manifest, by full name such as "docker.io/library/busybox:1.36"."""
        return read_index(self.home / "index.json")

    def references(self) -> frozenset[str]:
        """Full names of all images."""
        return frozenset(self.digests())


def ensure_images(tools: Tools, store: Path | None = None, progress: Progress = silent) -> ImageStore:
    """Make `store` hold exactly the images of the tools' generation, in seconds, or at once when it does already.

    Without `store` they are kept in the user's cache. The same inputs give the same digests. A reader sees the former
    images or the new ones, never a mixture: the index is replaced in one step, after every blob is in place.

    Raises:
        InvalidInput: another user may change the store.
        ProblemsError: a program of the distribution that goes into an image is missing.
        Busy: another process has been assembling into `store` for ten minutes.
    """
    generation = tools.generation
    store = store or cache_directory() / "images" / generation.name
    require_private(store)
    layers = {name: layer_members(entries, tools) for name, entries in generation.layers.items()}
    inputs = _digest_of([[repr(image) for image in generation.images], _identities(layers), go_architecture()])
    if _inputs(store) != inputs:
        with hold_lock(store / ".lock", progress, _PATIENCE_SECONDS, doing="is assembling the images of a cluster"):
            if _inputs(store) != inputs:
                _assemble(generation, layers, store, inputs, progress)
    return ImageStore(store)


def _inputs(store: Path) -> str:
    try:
        index = read_json((store / "index.json").read_text())
        blobs = {blob.name for blob in (store / "blobs/sha256").iterdir()}
        whole = all(entry["digest"].removeprefix("sha256:") in blobs for entry in index["manifests"])
        return str(index["annotations"][_INPUTS]) if whole else ""
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _identities(layers: Mapping[str, list[Member]]) -> dict[str, object]:
    return {name: [member.identity() for member in members] for name, members in sorted(layers.items())}


def _digest_of(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _assemble(
    generation: Generation, layers: Mapping[str, list[Member]], store: Path, inputs: str, progress: Progress
) -> None:
    started = time.monotonic()
    blobs = _Blobs(store / "blobs/sha256")
    used = {layer for image in generation.images for layer in image.layers}
    written: dict[str, Mapping[str, object]] = {}
    for place, name in enumerate(sorted(used), start=1):
        written[name] = blobs.add_layer(layers[name])
        progress(f"image layers: {place} of {len(used)}, {name}")
    manifests = [
        {**manifest, "annotations": {_NAME: name}}
        for image in generation.images
        for manifest in [_add_image(blobs, image, written)]
        for name in image.names
    ]
    index = {"schemaVersion": 2, "mediaType": f"{_MEDIA}.index.v1+json", "manifests": manifests}
    write_file(store / "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
    write_file(store / "index.json", _json({**index, "annotations": {_INPUTS: inputs}}))
    blobs.remove_unused()
    size = sum(blob.stat().st_size for blob in blobs.home.iterdir()) / 1e6
    progress(f"images: {counted(len(manifests), 'name')}, {size:.0f} MB, {time.monotonic() - started:.1f} s")


def _add_image(blobs: _Blobs, image: Image, layers: Mapping[str, Mapping[str, object]]) -> Mapping[str, object]:
    run: dict[str, object] = {"Env": [_PATH, *(f"{key}={value}" for key, value in sorted(image.environment.items()))]}
    run |= {"Entrypoint": list(image.entrypoint)} if image.entrypoint else {}
    run |= {"Cmd": list(image.command)} if image.command else {}
    run |= {"User": image.user} if image.user else {}
    configuration = {
        "architecture": go_architecture(),
        "os": "linux",
        "config": {**run, "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": [layers[name]["digest"] for name in image.layers]},
        "history": [{"created_by": f"kubeflow-volcano layer {name}"} for name in image.layers],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}.manifest.v1+json",
        "config": blobs.add_json(configuration, f"{_MEDIA}.config.v1+json"),
        "layers": [layers[name] for name in image.layers],
    }
    return blobs.add_json(manifest, f"{_MEDIA}.manifest.v1+json")


class _Blobs:
    """The blobs directory of a layout. A file named by its digest is always whole."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._used: set[str] = set()
        home.mkdir(parents=True, exist_ok=True)

    def add_layer(self, members: Iterable[Member]) -> Mapping[str, object]:
        fresh = self.home / ".layer"
        with replacing(fresh, 0o644) as stream:
            write_layer(members, stream)
        with fresh.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
            size = content.tell()
        fresh.rename(self.home / digest)
        return self._descriptor(digest, size, f"{_MEDIA}.layer.v1.tar")

    def add_json(self, value: object, media_type: str) -> Mapping[str, object]:
        content = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        digest = hashlib.sha256(content).hexdigest()
        write_file(self.home / digest, content, 0o644)
        return self._descriptor(digest, len(content), media_type)

    def _descriptor(self, digest: str, size: int, media_type: str) -> Mapping[str, object]:
        self._used.add(digest)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": size}

    def remove_unused(self) -> None:
        for blob in () if self.home.is_symlink() else self.home.iterdir():
            if _BLOB.fullmatch(blob.name) and blob.name not in self._used:
                blob.unlink()


def _json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"
