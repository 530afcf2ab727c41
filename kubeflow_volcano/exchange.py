"""HTTP exchanges that end: the timeout of a connection is that of its whole answer, not of each piece of it.

A server that sends a status line, headers, sizes of chunks or a body a few bytes at a time keeps a client of the
standard library for as long as it likes: each read has the whole timeout. http.client, urllib and urllib3 all read an
answer through `response_class` of the connection, so one class limits them all. urllib also repeats a redirected
request with all of its headers, at another host, too; what `opener` makes does not.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import math
import ssl
import time
import urllib.request
from http import HTTPStatus
from http.client import HTTPMessage
from typing import IO, Any
from urllib.parse import urlsplit

_SLOWEST = 4096
"""Bytes a second. A body that comes at this rate or faster may take longer than the timeout."""
_MOST_TIMEOUTS = 20
"""But never longer than so many: a body that has no end."""

_PORTS = {"http": 80, "https": 443}
_OF_THE_CONNECTION = {"Accept", "User-agent"}
"""Headers without credentials, as urllib spells them."""
_LEAST_SECONDS = 0.01


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
        """Read the status line and the headers.

        What follows a switch to another protocol is read as a body until the connection ends, but has no time of its
        own: such an exchange ends with its timeout.
        """
        super().begin()
        if self.status == HTTPStatus.SWITCHING_PROTOCOLS:
            self.length = None
        else:
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


def opener(context: ssl.SSLContext | None = None) -> urllib.request.OpenerDirector:
    """An opener that keeps the method of a redirected request, and sends its credentials to no other place.

    The timeout of a request is that of the answer with all redirects before it; its body may take longer while it
    comes fast enough.
    """
    return urllib.request.build_opener(_Redirects, *handlers(context))


def is_same_place(one: str, other: str) -> bool:
    """Whether credentials for the first URL may be sent to the second: the same host and port, or now with TLS."""
    first, second = urlsplit(one), urlsplit(other)
    if first.hostname != second.hostname:
        return False
    ports = [parts.port or _PORTS.get(parts.scheme) for parts in (first, second)]
    if first.scheme == second.scheme:
        return ports[0] == ports[1]
    return (first.scheme, second.scheme) == ("http", "https") and ports == [*_PORTS.values()]


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(  # noqa: PLR0917  the signature of the standard library
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        new = super().redirect_request(req, fp, code, msg, headers, newurl)
        if new is not None:
            if isinstance(fp, Answer):
                req.timeout = max(_LEAST_SECONDS, fp.seconds_left)
            fp.close()  # otherwise the page, which is not used, is read to its end
            new.method = req.get_method()
            same = is_same_place(req.full_url, newurl)
            for name in list(new.headers):
                # The next proxy gets its own login from urllib, and another host none.
                if name == "Proxy-authorization" or not (same or name in _OF_THE_CONNECTION):
                    new.remove_header(name)
        return new
