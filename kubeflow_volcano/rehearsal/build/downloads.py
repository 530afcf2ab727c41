"""Official release binaries with pinned sums, where their servers can be reached."""

from __future__ import annotations

import hashlib
import http.client
import posixpath
import tarfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.exchange import opener
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rehearsal.build.recipes import Download
from kubeflow_volcano.retries import with_retries

_PROBE_SECONDS = 3.0
_STALL_SECONDS = 20.0
_LIMIT_SECONDS = 600.0
_BEAT_SECONDS = 10.0
_CHUNK = 1 << 20


class RefusedError(Exception):
    """A download that failed, or whose sum is not the pinned one."""


def origin(url: str) -> str:
    """Scheme and host of an address, such as "https://github.com"."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def reachable_origins(urls: Iterable[str]) -> frozenset[str]:
    """The origins of `urls` that answer a request for their root within three seconds; all are tried in parallel."""
    origins: set[str] = set()
    askers = [
        threading.Thread(target=_ask, args=(host, origins), daemon=True)  # a resolver may hang for much longer
        for host in {origin(url) for url in urls}
    ]
    end = time.monotonic() + _PROBE_SECONDS
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(max(0.0, end - time.monotonic()))
    return frozenset(origins)


def _ask(host: str, origins: set[str]) -> None:
    request = urllib.request.Request(f"{host}/", method="HEAD")  # noqa: S310  https by the generation's schema
    try:
        with opener().open(request, timeout=_PROBE_SECONDS):
            origins.add(host)
    except urllib.error.HTTPError:
        origins.add(host)  # it may refuse HEAD, but it can be reached
    except (OSError, http.client.HTTPException, ValueError):
        return


def download_programs(download: Download, architecture: str, target: Path, tell: Progress) -> None:
    """Download the release file, verify its sum, and extract its programs to the new directory `target`.

    Raises:
        RefusedError: the download failed, or is another file (truncated, a login page, replaced).
    """
    url = download.url.format(arch=architecture)
    target.mkdir()
    arrived = target / ".arrived"
    try:
        wanted = download.sha256[architecture]
        with_retries(lambda: _fetch(url, wanted, arrived, tell), Deadline(_LIMIT_SECONDS), tell)
        for program, member in download.members.items():
            _extract(arrived, member.format(arch=architecture), target / program)
    except (OSError, http.client.HTTPException, tarfile.TarError, KeyError) as error:
        raise RefusedError(f"{url}: {str(error) or type(error).__name__}") from error
    arrived.unlink()


def _fetch(url: str, wanted: str, arrived: Path, tell: Progress) -> None:
    started = told = time.monotonic()
    digest, size = hashlib.sha256(), 0
    with opener().open(url, timeout=_STALL_SECONDS) as answer, arrived.open("wb") as stream:
        announced = answer.headers.get("Content-Length", "?")
        while chunk := answer.read1(_CHUNK):
            stream.write(chunk)
            digest.update(chunk)
            size += len(chunk)
            if time.monotonic() - started > _LIMIT_SECONDS:
                raise TimeoutError(f"{size} of {announced} bytes after {_LIMIT_SECONDS:.0f} s")
            if time.monotonic() - told >= _BEAT_SECONDS:
                told = time.monotonic()
                tell(f"{size} of {announced} bytes downloaded")
        kind = answer.headers.get_content_type()
    if digest.hexdigest() != wanted:
        trouble = f"{size} of {announced} bytes of {kind} with the sha256 {digest.hexdigest()}, not {wanted}"
        raise OSError(trouble) if str(size) != announced else RefusedError(f"{url}: {trouble}")


def _extract(arrived: Path, member: str, program: Path) -> None:
    if not member:
        program.hardlink_to(arrived)
    else:
        with tarfile.open(arrived) as archive:
            info = next((entry for entry in archive if posixpath.normpath(entry.name) == member), None)
            content = archive.extractfile(info) if info else None
            if content is None:
                raise KeyError(f"no file {member} in the archive")
            program.write_bytes(content.read())
    program.chmod(0o755)
