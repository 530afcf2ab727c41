"""Files from addresses, one mirror after the other; a file with another sum is never kept."""

from __future__ import annotations

import base64
import time
import urllib.request
from collections.abc import Callable, Sequence
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit, urlunsplit

from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.exchange import opener
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.retries import naming_full_disks, with_retries
from kubeflow_volcano.rollout.manifests.archives import MOST_BYTES
from kubeflow_volcano.rollout.manifests.pruning import mark_used
from kubeflow_volcano.rollout.manifests.trees import file_sum, page_instead, scratch

_FILE_MIRRORS = {"daocloud": "https://files.m.daocloud.io/"}
"""By image_mirror_preset: the prefix for host and path of a release file (DaoCloud/public-image-mirror)."""

_MIRRORED_HOSTS = {"github.com"}
_READ_SECONDS = 30.0
_TOTAL_SECONDS = 600.0
_BEAT_SECONDS = 2.0
_CHUNK = 1 << 16

T = TypeVar("T")


def mirrored(address: str, preset: str) -> tuple[str, ...]:
    """The address, and that of the same file on the mirror of that preset."""
    prefix = _FILE_MIRRORS.get(preset)
    if prefix is None or urlsplit(address).hostname not in _MIRRORED_HOSTS:
        return (address,)
    return (address, prefix + address.partition("://")[2])


def fetch(addresses: Sequence[str], checksum: str, cache: Path, progress: Progress) -> Path:
    """The file with that sha256, from the cache or from the first address that has it.

    Raises:
        InvalidInput: no address serves it; one problem per address.
    """
    kept = cache / checksum / _name(addresses[0])
    mark_used(kept.parent)
    if kept.is_file() and file_sum(kept) == checksum:
        return kept

    def take(partial: Path, address: str) -> Path:
        actual = file_sum(partial)
        if actual != checksum:
            raise InvalidInput.problem(
                f"what {address} serves has sha256 {actual}{page_instead(partial)}.",
                f"sha256 {checksum}.",
                "correct the address or the sum; the file was not kept.",
            )
        kept.parent.mkdir(exist_ok=True)
        return partial.replace(kept)

    return first_good(addresses, take, cache, progress)


def first_good(addresses: Sequence[str], take: Callable[[Path, str], T], cache: Path, progress: Progress) -> T:
    """The result of `take` for the first download that it does not refuse with InvalidInput; refused ones are deleted.

    Raises:
        InvalidInput: one problem per address.
        ProblemsError: the disk of `cache` is full.
    """
    refusals: list[Problem] = []
    for address in addresses:
        with scratch(cache) as fresh:
            partial = fresh / _name(address)
            try:
                with naming_full_disks(cache):
                    _download(address, partial, progress)
                    return take(partial, without_credentials(address))
            except InvalidInput as error:
                refusals += error.problems
                if address != addresses[-1]:
                    progress(f"{without_credentials(address)} failed, trying the next mirror")
    raise InvalidInput(refusals)


def without_credentials(address: str) -> str:
    """The address without user and password."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _name(address: str) -> str:
    return urlsplit(address).path.rpartition("/")[2] or "manifest.yaml"


def _download(address: str, target: Path, progress: Progress) -> None:
    progress(f"downloading {without_credentials(address)}")
    deadline = Deadline(_TOTAL_SECONDS)
    try:
        with_retries(lambda: _read(address, target, deadline, progress), deadline, progress)
    except (OSError, HTTPException) as error:
        raise InvalidInput.problem(
            f"no usable answer from {without_credentials(address)}: {error}.",
            "an address that serves the file to this machine.",
            "check the address and the proxy variables.",
        ) from error


def _read(address: str, target: Path, deadline: Deadline, progress: Progress) -> None:
    headers = {"User-Agent": "kubeflow-volcano"}
    if userinfo := urlsplit(address).netloc.rpartition("@")[0]:
        headers["Authorization"] = "Basic " + base64.b64encode(unquote(userinfo).encode()).decode()
    request = urllib.request.Request(without_credentials(address), headers=headers)  # noqa: S310  http(s) by schema
    reported = time.monotonic()
    with opener().open(request, timeout=_READ_SECONDS) as answer, target.open("wb") as file:
        length = announced if (announced := answer.headers.get("Content-Length", "")).isdecimal() else None
        while chunk := answer.read1(_CHUNK):  # read() waits until a whole chunk is there, past any deadline
            file.write(chunk)
            if file.tell() > MOST_BYTES:
                raise InvalidInput(_too_large(address))
            if deadline.passed:
                raise TimeoutError(f"only {file.tell()} bytes arrived in {deadline.seconds:.0f} s")
            if time.monotonic() - reported > _BEAT_SECONDS:
                reported = time.monotonic()
                whole = f" of {int(length) / 1e6:.1f}" if length else ""
                progress(f"{file.tell() / 1e6:.1f}{whole} MB of {target.name}")
        if length is not None and file.tell() != int(length):
            raise OSError(f"truncated, {file.tell()} of {length} bytes arrived")


def _too_large(address: str) -> Problem:
    return Problem(
        f"{without_credentials(address)} serves more than {MOST_BYTES >> 20} MiB.",
        "the file, which is much smaller.",
        "correct the address.",
    )
