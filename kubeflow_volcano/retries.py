"""Requests of files, repeated while their errors may pass, and what cannot pass: a full disk."""

from __future__ import annotations

import contextlib
import errno
import math
import random
import socket
import ssl
import time
import urllib.error
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import Progress

_TRIES = 4
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 8.0
_LONGEST_DEMAND_SECONDS = 60.0
"""A server that demands a longer pause is left alone: a person decides sooner what to do."""
_MOST_DEMANDED_SECONDS = 86400.0 * 365
"""More is no time that a program can wait."""
_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

_Answer = TypeVar("_Answer")


def retry_after_seconds(text: object) -> float | None:
    """Seconds of a Retry-After header, which has seconds or an HTTP date (RFC 9110, section 10.2.3); None without."""
    with contextlib.suppress(TypeError, ValueError):
        seconds = float(str(text))
        return min(max(0.0, seconds), _MOST_DEMANDED_SECONDS) if math.isfinite(seconds) else None
    with contextlib.suppress(TypeError, ValueError, AttributeError, OverflowError):
        seconds = parsedate_to_datetime(str(text)).timestamp() - time.time()
        return min(max(0.0, seconds), _MOST_DEMANDED_SECONDS)
    return None


def with_retries(read: Callable[[], _Answer], deadline: Deadline, tell: Progress) -> _Answer:
    """What `read` returns; repeated after 408, 425, 429, 5xx and broken connections, at most four times in all.

    Pauses grow and have jitter, so that many machines do not come back together; a Retry-After of up to a minute is
    kept.

    Raises:
        OSError: the last error, or one that would come again: 404, an unknown CA or name, a full disk.
        HTTPException: the last error.
    """
    pause = _FIRST_PAUSE_SECONDS
    for last in (False,) * (_TRIES - 1) + (True,):
        try:
            return read()
        except (OSError, HTTPException) as error:
            demanded = _demanded(error)
            seconds = demanded + random.uniform(0, 1) if demanded else pause * random.uniform(0.5, 1.5)  # noqa: S311  no secret
            if demanded > _LONGEST_DEMAND_SECONDS and isinstance(error, urllib.error.HTTPError):
                error.msg += f"; the server demands a pause of {demanded:.0f} s"
            if last or not _may_pass(error) or demanded > _LONGEST_DEMAND_SECONDS or seconds > deadline.remaining:
                raise
            tell(f"{error}; the next try is in {seconds:.1f} s")
            deadline.pause(seconds)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
    raise AssertionError  # the last try returns or raises


def _demanded(error: Exception) -> float:
    """Seconds that the server demands until the next request; 0 if it does not say."""
    if not isinstance(error, urllib.error.HTTPError):
        return 0.0
    error.close()
    return retry_after_seconds(error.headers.get("Retry-After")) or 0.0


def _may_pass(error: Exception) -> bool:
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= HTTPStatus.INTERNAL_SERVER_ERROR or error.code in _TRANSIENT
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return False
    if isinstance(cause, socket.gaierror):
        return cause.errno == socket.EAI_AGAIN
    return not (isinstance(cause, OSError) and cause.errno in _FULL)


@contextlib.contextmanager
def naming_full_disks(place: Path) -> Iterator[None]:
    """Name a full disk, or a quota that is used up, as what it is.

    Raises:
        ProblemsError: something could not be written below `place` for that reason.
    """
    try:
        yield
    except (OSError, ProblemsError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        if not (isinstance(cause, OSError) and cause.errno in _FULL):
            raise
        raise ProblemsError.problem(
            f"{cause.filename or place} cannot be written: {(cause.strerror or str(cause)).lower()}.",
            f"free space on the filesystem of {place}, within the quota of this user.",
            "free space there, or choose a directory on another filesystem; then run again.",
        ) from error
