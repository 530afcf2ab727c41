"""HTTP exchanges that end: the timeout of a connection is that of its whole answer, not of each piece of it.

A server that sends a status line, headers, sizes of chunks or a body a few bytes at a time keeps a client of the
standard library for as long as it likes: each read has the whole timeout. http.client, urllib and urllib3 all read an
answer through `response_class` of the connection, so one class limits them all.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import math
import ssl
import time
import urllib.request
from typing import Any

__all__ = ["Answer", "PlainConnection", "Timely", "handlers"]

_SLOWEST = 4096
"""Bytes a second. A body that comes at this rate or faster may take longer than the timeout."""
_MOST_TIMEOUTS = 20
"""But never longer than so many: a body that has no end."""


class _Incoming(io.RawIOBase):
    """What a socket receives, until the seconds of its timeout have passed since now.

    The status line and the headers have these seconds. Each piece of the body adds what it may take at the slowest
    rate, so that there are never more than these seconds left: a body that came fast may not stop, either.
    """

    def __init__(self, plain: io.RawIOBase, sock: Any) -> None:
        self._plain = plain
        self._sock = sock
        self._timeout: float | None = sock.gettimeout()
        self._seconds = math.inf if self._timeout is None else self._timeout
        self._begun = time.monotonic()
        self._until = self._begun + self._seconds
        self.in_body = False

    @property
    def seconds_left(self) -> float:
        """Until it must have ended."""
        return min(self._until, self._begun + self._seconds * _MOST_TIMEOUTS) - time.monotonic()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Fill the buffer with what has arrived, at most its size; returns the number of bytes.

        Raises:
            TimeoutError: nothing came in time.
        """
        left = self.seconds_left
        if left <= 0:
            raise TimeoutError(f"the answer did not end within {time.monotonic() - self._begun:.0f} s")
        self._sock.settimeout(None if self._timeout is None else left)
        count = self._plain.readinto(buffer)
        if self.in_body and count:
            self._until = min(self._until + count / _SLOWEST, time.monotonic() + self._seconds)
        return count

    def close(self) -> None:
        if not self.closed:
            with contextlib.suppress(OSError):  # it is closed; else the next request of the connection needs it
                self._sock.settimeout(self._timeout)
            self._plain.close()
        super().close()


class Answer(http.client.HTTPResponse):
    """An answer that ends in time, or raises TimeoutError."""

    def __init__(self, sock: Any, *arguments: Any, **named: Any) -> None:
        super().__init__(sock, *arguments, **named)
        self._incoming = _Incoming(self.fp.detach(), sock)
        self.fp = io.BufferedReader(self._incoming)

    @property
    def seconds_left(self) -> float:
        """Of the timeout, for whatever follows it."""
        return self._incoming.seconds_left

    def begin(self) -> None:
        """Read the status line and the headers."""
        super().begin()
        self._incoming.in_body = True


class Timely:
    """For connections of http.client and urllib3."""

    response_class: type[http.client.HTTPResponse] = Answer


class PlainConnection(Timely, http.client.HTTPConnection):
    """A connection without TLS."""


class _Tls(Timely, http.client.HTTPSConnection):
    pass


class _HttpHandler(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(PlainConnection, req)


class _HttpsHandler(urllib.request.HTTPSHandler):
    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        super().__init__(context=context)
        self._trust = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Tls, req, context=self._trust)


def handlers(context: ssl.SSLContext | None = None) -> tuple[urllib.request.BaseHandler, ...]:
    """Handlers for an opener of urllib; `context` has the trusted certificates, by default the system's."""
    return _HttpHandler(), _HttpsHandler(context)
