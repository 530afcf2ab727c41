"""Where manifests come from: a path, or an address whose content is known by its sum and kept in the cache."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress

__all__ = ["KUSTOMIZATIONS", "fetch", "locate"]

KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
"""Names under which kustomize looks for its file."""

_TRIES = 3
_READ_SECONDS = 30.0
_TOTAL_SECONDS = 600.0
_CHUNK = 1 << 16


def locate(component: Component, source: str | None, cache: Path, progress: Progress) -> Path:
    """The YAML file or kustomization directory that `source` means for this component.

    An archive is unpacked once into the cache; inside an archive or a whole checkout the component's own path is taken.

    Raises:
        InvalidInput: no source, nothing there, or not what was asked for.
    """
    if source is None:
        raise InvalidInput(_no_source(component))
    if source.startswith(("http://", "https://")):
        address, _, checksum = source.partition("#sha256=")
        place = fetch(address, checksum, cache / "downloads", progress)
    else:
        place = Path(source).expanduser().absolute()
    if not place.exists():
        raise InvalidInput(
            Problem(
                f"no {place}, which is to hold the manifests of {component.title}.",
                f"{component.manifests}.",
                f"correct {_variable(component)}.",
            )
        )
    if place.is_file() and place.name.endswith((".tar.gz", ".tgz")):
        place = _unpacked(place, cache / "unpacked")
    if place.is_dir() and not _has_kustomization(place):
        place = _inside(component, place)
    return place


def fetch(address: str, checksum: str, cache: Path, progress: Progress) -> Path:
    """The file of that sha256, from the cache or from the address; nothing else ever enters the cache.

    Raises:
        InvalidInput: not reachable in 3 tries, or the content is not the one of that sum.
    """
    name = address.rpartition("/")[2].partition("?")[0] or "manifest.yaml"
    kept = cache / checksum / name
    if kept.is_file() and _sum(kept) == checksum:
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    progress(f"downloading {_shown(address)}")
    deadline = Deadline(_TOTAL_SECONDS)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        partial = Path(folder) / name
        _download(address, partial, deadline)
        found = _sum(partial)
        if found != checksum:
            raise InvalidInput(_wrong_sum(address, partial, found, checksum))
        partial.replace(kept)
    return kept


def _download(address: str, target: Path, deadline: Deadline) -> None:
    last: Exception | None = None
    for _ in range(_TRIES):
        try:
            _read(address, target, deadline)
        except urllib.error.HTTPError as error:
            error.close()
            last = error
            if error.code < 500:  # noqa: PLR2004  a refusal, which a second try does not change
                break
        except (OSError, HTTPException) as error:
            last = error
        else:
            return
        if deadline.passed:
            break
    raise InvalidInput(
        Problem(
            f"no answer to use from {_shown(address)}: {last}.",
            "an address that serves the file to this machine.",
            "check the address and the proxy variables, or download the file and give its path instead.",
        )
    ) from last


def _read(address: str, target: Path, deadline: Deadline) -> None:
    headers = {"User-Agent": "kubeflow-volcano"}
    if userinfo := urlsplit(address).netloc.rpartition("@")[0]:
        headers["Authorization"] = "Basic " + base64.b64encode(unquote(userinfo).encode()).decode()
    request = urllib.request.Request(_shown(address), headers=headers)  # noqa: S310  http(s) by schema
    with urllib.request.urlopen(request, timeout=_READ_SECONDS) as answer, target.open("wb") as file:  # noqa: S310  as above
        length = answer.headers.get("Content-Length")
        while chunk := answer.read(_CHUNK):
            file.write(chunk)
            if deadline.passed:
                raise TimeoutError(f"only {file.tell()} bytes came in {deadline.seconds:.0f} s")
        if length is not None and file.tell() != int(length):
            raise OSError(f"truncated, {file.tell()} of {length} bytes came")


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wrong_sum(address: str, partial: Path, found: str, needed: str) -> Problem:
    head = partial.read_bytes()[:200].lstrip().lower()
    page = (
        " and is an HTML page, perhaps of a proxy or a sign-in"
        if head.startswith((b"<!doctype html", b"<html"))
        else ""
    )
    return Problem(
        f"what {_shown(address)} serves has sha256 {found}{page}.",
        f"sha256 {needed}.",
        "correct the address or the sum; nothing was kept.",
    )


def _unpacked(archive: Path, cache: Path) -> Path:
    target = cache / _sum(archive)
    if target.is_dir():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=cache))
    try:
        with tarfile.open(archive) as tar:
            _extract(tar, folder.resolve())
        folder.chmod(0o755)
        if not target.is_dir():
            folder.rename(target)
    except (tarfile.TarError, EOFError, OSError) as error:
        if target.is_dir():  # another run was faster
            return target
        raise InvalidInput(
            Problem(
                f"{archive} cannot be unpacked: {error}.",
                "a whole gzip-compressed tar archive.",
                "fetch the file again.",
            )
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return target


def _extract(tar: tarfile.TarFile, root: Path) -> None:
    """Unpack what stays below `root`. The filter of tarfile for that is absent before Python 3.11.4 (Debian 12)."""
    tar.extraction_filter = lambda member, _: member  # checked here, in every Python
    for member in tar:
        place = (root / member.name).resolve()
        target = (place.parent / member.linkname).resolve() if member.issym() else place
        if not (place.is_relative_to(root) and target.is_relative_to(root)):
            raise tarfile.ExtractError(f"{member.name} reaches outside")
        if not (member.isfile() or member.isdir() or member.issym()):
            raise tarfile.ExtractError(f"{member.name} is neither a file, a directory nor a symbolic link")
        tar.extract(member, root, set_attrs=False)


def _has_kustomization(folder: Path) -> bool:
    return any((folder / name).is_file() for name in KUSTOMIZATIONS)


def _inside(component: Component, folder: Path) -> Path:
    tops = [Path(entry.path) for entry in os.scandir(folder)]
    roots = [folder, *tops] if len(tops) == 1 and tops[0].is_dir() else [folder]
    for root in roots:
        place = root / component.path
        if place.is_file() or (place.is_dir() and _has_kustomization(place)):
            return place
    raise InvalidInput(
        Problem(
            f"{folder} holds neither a kustomization nor {component.path}.",
            f"the manifests of {component.title}: {component.manifests}.",
            f"correct {_variable(component)}.",
        )
    )


def _variable(component: Component) -> str:
    if component.name in {"volcano", "local-path"}:
        return component.name.replace("-", "_") + "_source"
    return f"kubeflow_sources.{component.name}"


def _no_source(component: Component) -> Problem:
    return Problem(
        f"no source for the manifests of {component.title} {component.version}.",
        f"{component.manifests}.",
        f"set {_variable(component)} to their path, or to an address that ends in #sha256=<sum>.",
    )


def _shown(address: str) -> str:
    """The address without credentials."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
