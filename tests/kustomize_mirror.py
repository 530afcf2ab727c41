"""A mirror of kustomize's releases on this machine: programs that only tell their version, in upstream's packing."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

import kubeflow_volcano

VERSIONS = {"3.2.0": "v3.2.0/kustomize_3.2.0_linux_{}", "5.2.1": "kustomize/v5.2.1/kustomize_v5.2.1_linux_{}.tar.gz"}
_ARCHITECTURES = ("amd64", "arm64")


def program(version: str, architecture: str = "amd64") -> bytes:
    """What stands for that kustomize."""
    return f"#!/bin/sh\necho v{version} # {architecture}\n".encode()


class Mirror:
    """A web server with an asset of every version in VERSIONS below good/; what is below bad/ is something else.

    `asked` holds the paths of its requests, `catalog` what catalog/kustomize.yaml says of its files. As upstream, it
    has no 3.2.0 for arm64.
    """

    def __init__(self, directory: Path) -> None:
        self.asked: list[str] = []
        self.catalog: dict[str, Any] = {}
        for version, asset in VERSIONS.items():
            entry: dict[str, Any] = {"asset": asset.format("{architecture}"), "sums": {}}
            for architecture in _ARCHITECTURES:
                if version == "3.2.0" and architecture == "arm64":
                    entry["absent"] = {architecture: "upstream publishes none"}
                    continue
                content = program(version, architecture)
                content = _tarball(content) if asset.endswith(".tar.gz") else content
                entry["sums"][architecture] = hashlib.sha256(content).hexdigest()
                _write(directory / "good" / asset.format(architecture), content)
                _write(directory / "bad" / asset.format(architecture), b"<html>sign in</html>")
            self.catalog[version] = entry
        asked = self.asked

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                asked.append(self.path)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(directory)))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def package_for(mirror: Mirror, directory: Path) -> Path:
    """A directory to import kubeflow_volcano from, with the sums of the mirror's programs in its catalog."""
    source, target = Path(kubeflow_volcano.__file__).parent, directory / "kubeflow_volcano"
    for folder, own in ((source, "catalog"), (source / "catalog", "kustomize.yaml")):
        place = target / folder.relative_to(source)
        place.mkdir(parents=True)
        for entry in folder.iterdir():
            if entry.name != own:
                (place / entry.name).symlink_to(entry)
    (target / "catalog" / "kustomize.yaml").write_text(yaml.safe_dump(mirror.catalog))
    return directory


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _tarball(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("kustomize")
        entry.size, entry.mode = len(content), 0o755
        archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
