"""Container images made of files of this machine, and put on a rehearsal cluster's real node as if they were pulled."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

_MEDIA = "application/vnd.oci.image"


def write_image(target: Path, name: str, files: Mapping[str, Path | str], environment: tuple[str, ...] = ()) -> None:
    """Write an archive that `ctr images import` takes.

    Args:
        target: where it comes to be.
        name: the image's full name.
        files: by their place in the image. A text becomes a program.
        environment: variables of its programs, each as NAME=VALUE.
    """
    layer = target.with_suffix(".layer")
    with tarfile.open(layer, "w") as archive:
        for place, origin in sorted(files.items()):
            if isinstance(origin, Path):
                archive.add(origin, place, filter=_for_everybody)
            else:
                _add(archive, place, origin.encode(), 0o755)
    digest = f"sha256:{hashlib.sha256(layer.read_bytes()).hexdigest()}"
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[sysconfig.get_platform().rpartition("-")[2]]
    configuration = {"architecture": machine, "os": "linux", "config": {"Env": list(environment)}}
    configuration["rootfs"] = {"type": "layers", "diff_ids": [digest]}
    with tarfile.open(target, "w") as archive:
        config = _add_json(archive, configuration, f"{_MEDIA}.config.v1+json")
        archive.add(layer, f"blobs/{digest.replace(':', '/')}")
        content = {"mediaType": f"{_MEDIA}.layer.v1.tar", "digest": digest, "size": layer.stat().st_size}
        manifest = {"schemaVersion": 2, "mediaType": f"{_MEDIA}.manifest.v1+json", "config": config}
        described = _add_json(archive, {**manifest, "layers": [content]}, f"{_MEDIA}.manifest.v1+json")
        index = {"schemaVersion": 2, "manifests": [{**described, "annotations": {"io.containerd.image.name": name}}]}
        _add(archive, "index.json", json.dumps(index).encode())
        _add(archive, "oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}).encode())
    layer.unlink()


def libraries(program: Path) -> dict[str, Path]:
    """The shared libraries that a program is linked to, by their place in an image."""
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    found = [Path(word) for word in done.stdout.split() if word.startswith("/")]
    return {str(path).lstrip("/"): path.resolve() for path in found}


@contextlib.contextmanager
def on_the_node(cluster: str, archive: Path, name: str) -> Iterator[str]:
    """The image's name inside the block, on the real node of the rehearsal cluster of that name."""
    inside = (sys.executable, "-m", "kubeflow_volcano.rehearsal", "exec", "--name", cluster, "--")
    images = (*inside, "ctr", "--namespace", "k8s.io", "images")
    with archive.open("rb") as stream:
        subprocess.run([*images, "import", "-"], stdin=stream, check=True, capture_output=True)
    try:
        yield name
    finally:
        subprocess.run([*images, "rm", name], check=True, capture_output=True)


def _for_everybody(item: tarfile.TarInfo) -> tarfile.TarInfo:
    """Root's; readable for all, as the pod's user is none of this machine's."""
    item.uid = item.gid = 0
    item.uname = item.gname = ""
    item.mode |= 0o444 | (0o111 if item.isdir() else 0)
    return item


def _add_json(archive: tarfile.TarFile, value: object, media_type: str) -> dict[str, object]:
    content = json.dumps(value).encode()
    digest = hashlib.sha256(content).hexdigest()
    _add(archive, f"blobs/sha256/{digest}", content)
    return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    item = tarfile.TarInfo(name)
    item.size, item.mode = len(content), mode
    archive.addfile(item, io.BytesIO(content))
