"""Watches without gaps: list, watch from that resourceVersion, and list again after a break."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Literal, Self

import urllib3

from kubeflow_volcano.cluster.api.client import Cluster, Trim
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.parallel import carrying_thread

_FIRST_PAUSE, _LONGEST_PAUSE = 0.3, 2.0
_BRIEF_SECONDS = 0.9  # a stream that ends sooner counts as broken
_STRETCH_SECONDS = 60.0
_MOST_BREAKS = 3
_News = Literal["RESET", "ADDED", "MODIFIED", "DELETED", "CURRENT", "LOST"]


@dataclass(frozen=True, slots=True)
class Subject:
    """A collection to watch; `labels` and `fields` are selectors (`metadata.name=x` selects one object)."""

    api_version: str
    kind: str
    namespace: str = ""
    labels: str = ""
    fields: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """An event of one subject.

    RESET carries all objects of the subject (at the start and after every break of the stream). CURRENT carries none:
    every change until now has been reported. LOST carries none either: what was reported is outdated, and a RESET
    follows. The others carry the object that changed. `at` is the monotonic time of arrival.
    """

    subject: Subject
    type: _News
    objects: tuple[Object, ...]
    at: float


class Observer:
    """Watches several subjects at once, each in a thread, until the deadline or the end of the `with` block.

    A subject whose kind is not served (yet) yields an empty RESET and is retried. An error that is not transient
    (401, 403) ends the iteration, as does any other exception of a thread.

    The server ends each stream after `stretch` seconds, and the watch opens the next one. A stream that is 5 s late
    counts as broken. `trim` is applied to every object.

    A caller that sets `stretch` watches for a certain time what is dear to list. Each end of a stream yields CURRENT
    and renews the deadline; a stream that breaks is opened again from where it was, three times in a row at most; and
    LOST comes before a new list.
    """

    def __init__(
        self,
        cluster: Cluster,
        subjects: Sequence[Subject],
        deadline: Deadline,
        *,
        stretch: float | None = None,
        trim: Trim | None = None,
    ) -> None:
        self._cluster = cluster
        self._deadline = deadline
        self._stretch = stretch or _STRETCH_SECONDS
        self._is_dear = stretch is not None
        self._trim = trim
        self._news: queue.Queue[Change | BaseException] = queue.Queue()
        self._stop = threading.Event()
        self._open: dict[Subject, urllib3.BaseHTTPResponse] = {}
        self._threads = [carrying_thread(partial(self._follow, item), self._news.put, "watch") for item in subjects]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for response in list(self._open.values()):
            with contextlib.suppress(Exception):
                response.shutdown()
        for thread in self._threads:
            thread.join(timeout=5)

    def changes(self, tick: float = 1.0) -> Iterator[Change | None]:
        """Yield changes as they arrive, and None after each `tick` seconds without one. Ends at the deadline.

        Raises:
            ApiError: a subject cannot be read.
        """
        while not self._deadline.passed:
            try:
                news = self._news.get(timeout=min(tick, self._deadline.remaining + 0.001))
            except queue.Empty:
                yield None
                continue
            if isinstance(news, BaseException):
                raise news
            yield news

    def _follow(self, subject: Subject) -> None:
        pause, version, breaks = _FIRST_PAUSE, "", 0
        while not self._over:
            started, asked, whole = time.monotonic(), 0.0, False
            try:
                version = version or self._reset(subject)
                if not version:
                    continue
                version, whole = self._watch(subject, version)
            except ApiError as error:
                if not error.transient and error.status != HTTPStatus.GONE:
                    raise
                version, asked = "" if error.status == HTTPStatus.GONE else version, error.retry_after or 0.0
            breaks = 0 if whole else breaks + 1
            if not version or breaks > (_MOST_BREAKS if self._is_dear else 0):
                version = ""
                if self._is_dear:
                    self._put(subject, "LOST", ())
            if time.monotonic() - started >= _BRIEF_SECONDS:
                pause = _FIRST_PAUSE
                if whole:
                    continue
            self._stop.wait(min(max(pause, asked), self._deadline.remaining))
            pause = min(pause * 2, _LONGEST_PAUSE)

    @property
    def _over(self) -> bool:
        return self._stop.is_set() or self._deadline.passed

    def _reset(self, subject: Subject) -> str:
        try:
            listing = self._cluster.list(
                subject.api_version,
                subject.kind,
                namespace=subject.namespace,
                labels=subject.labels,
                fields=subject.fields,
                trim=self._trim,
            )
        except NotServed:
            self._put(subject, "RESET", ())
            self._stop.wait(1)
            with contextlib.suppress(NotServed):
                self._cluster.resource(subject.api_version, subject.kind, refresh=True)
            return ""
        self._put(subject, "RESET", listing.items)
        return listing.resource_version

    def _watch(self, subject: Subject, version: str) -> tuple[str, bool]:
        """Follow one stream from `version`; returns the next resourceVersion, and whether the server ended the stream.

        The resourceVersion is '' if the server says that a new list is needed.

        Raises:
            ApiError: the server does not open the stream.
        """
        seconds = max(1, math.ceil(min(self._stretch, self._deadline.remaining)))
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        if subject.labels:
            query["labelSelector"] = subject.labels
        if subject.fields:
            query["fieldSelector"] = subject.fields
        path = self._cluster.resource(subject.api_version, subject.kind).path(subject.namespace)
        response = self._cluster.stream(path, query, Deadline(seconds))
        self._open[subject] = response
        try:
            if self._stop.is_set():  # __exit__ ran while the stream was opened, and did not close it
                return version, False
            for line in _lines(response):
                event = read_json(line)
                if event["type"] == "ERROR":
                    return "", False
                reached = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    if self._trim:
                        self._trim(event["object"])
                    self._put(subject, event["type"], (event["object"],))
                version = reached
        except (urllib3.exceptions.HTTPError, OSError, ValueError):
            return version, False
        finally:
            self._open.pop(subject, None)
            response.close()
        if self._is_dear:
            self._deadline.renew()
            self._put(subject, "CURRENT", ())
        return version, True

    def _put(self, subject: Subject, kind: _News, objects: tuple[Object, ...]) -> None:
        self._news.put(Change(subject, kind, objects, time.monotonic()))


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    rest = b""
    for chunk in response.stream(amt=None, decode_content=True):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
