"""A container image with this project's wheel, as docs/monitoring.md builds one, without a registry to pull from.

Where the page begins with an image of Python, this one has the Python that runs the tests.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from tests.places import ROOT

__all__ = ["write_image"]

_MEDIA = "application/vnd.oci.image"
_SITE = "opt/site"
_UNUSED = ("ensurepip", "idlelib", "lib2to3", "site-packages", "test", "turtledemo", "__pycache__")
_NOT_IN_PODS = frozenset({"ansible-core"})
"""Only the machine that runs playbooks needs it, and it is a third of the image."""
_START = f"""#!/usr/bin/python3
import sys
sys.path.insert(0, "/{_SITE}")
from kubeflow_volcano.command.start import main
sys.exit(main())
"""


def write_image(target: Path, name: str, scratch: Path) -> None:
    """Write an archive that `ctr images import` takes."""
    layer = scratch / "layer.tar"
    with tarfile.open(layer, "w") as archive:
        for place, origin in sorted(_files(scratch).items()):
            archive.add(origin, place, filter=_for_everybody)
        start = tarfile.TarInfo("usr/local/bin/kubeflow-volcano")
        start.mode, start.size = 0o755, len(_START)
        archive.addfile(start, io.BytesIO(_START.encode()))
        # The home of the interpreter, wherever this machine has it.
        link = tarfile.TarInfo("usr/bin/python3")
        link.type, link.linkname = tarfile.SYMTYPE, str(Path(sys.executable).resolve())
        archive.addfile(link)
    digest = f"sha256:{hashlib.sha256(layer.read_bytes()).hexdigest()}"
    run = {"Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"]}
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[sysconfig.get_platform().rpartition("-")[2]]
    configuration = {"architecture": machine, "os": "linux", "config": run}
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


def _files(scratch: Path) -> dict[str, Path]:
    """All files of the image, by their place in it."""
    python = Path(sys.executable).resolve()
    found = {str(python).lstrip("/"): python}
    for kind in ("stdlib", "platstdlib"):
        home = Path(sysconfig.get_path(kind, vars={"base": sys.base_prefix, "platbase": sys.base_prefix}))
        paths = (path for path in home.rglob("*") if not set(_UNUSED) & set(path.relative_to(home).parts))
        found |= {str(path).lstrip("/"): path for path in paths if path.is_file()}
    for distribution in _needed():
        for file in distribution.files or ():
            if not file.parts[0].startswith("..") and "__pycache__" not in file.parts:
                found[f"{_SITE}/{file}"] = Path(str(distribution.locate_file(file)))
    site = _wheel(scratch)
    found |= {f"{_SITE}/{path.relative_to(site)}": path for path in site.rglob("*") if path.is_file()}
    programs = [python, *(path for path in found.values() if ".so" in path.suffixes)]
    for program in programs:
        found |= {str(place).lstrip("/"): place.resolve() for place in _libraries(program)}
    return found


def _needed() -> Iterator[metadata.Distribution]:
    """The distributions that this project requires, and what they require."""
    waiting, seen = ["kubeflow-volcano"], {*_NOT_IN_PODS}
    while waiting:
        distribution = metadata.distribution(waiting.pop())
        for line in distribution.requires or ():
            name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
            if "extra ==" not in line and name not in seen and _is_installed(name):
                seen.add(name)
                waiting.append(name)
                yield metadata.distribution(name)


def _is_installed(name: str) -> bool:
    """A requirement of another system or Python is not."""
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _wheel(scratch: Path) -> Path:
    words = ("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", scratch / "wheel", ROOT)
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words], check=True)
    (wheel,) = (scratch / "wheel").glob("*.whl")
    site = scratch / "site"
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, site], check=True)
    return site


def _libraries(program: Path) -> list[Path]:
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    return [Path(word) for word in done.stdout.split() if word.startswith("/")]


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


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    item = tarfile.TarInfo(name)
    item.size = len(content)
    archive.addfile(item, io.BytesIO(content))
