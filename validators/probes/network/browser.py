"""As much of a browser as signing in takes: pages, their forms and links, and cookies, all within one origin."""

from __future__ import annotations

import http.client
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from kubeflow_volcano.cluster.pods.port_forward import PortForward
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.exchange import PlainConnection, handlers
from kubeflow_volcano.experiment.acting import USER_AGENT

_MOST_BYTES = 1 << 20
_PIECE = 1 << 16
_ANSWER_SECONDS = 10.0
_MOVED = range(300, 400)
_PORTS = {"http": 80, "https": 443}


class NoAnswerError(Exception):
    """There was no answer, or not in time, or not in HTTP."""


@dataclass(frozen=True, slots=True)
class Request:
    """The next request; with fields it submits a form."""

    url: str
    method: str = "GET"
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(slots=True)
class Form:
    """A form of a page, with its preset values. `text` and `password` are names of fields to fill in."""

    url: str
    method: str
    fields: dict[str, str] = field(default_factory=dict, repr=False)
    text: str = ""
    password: str = ""

    def sent(self, **more: str) -> Request:
        """The request that sends it, with further values by the names of fields."""
        return Request(self.url, self.method, {**self.fields, **more})


@dataclass(frozen=True, slots=True)
class Page:
    """One answer. `location` is where it redirects to, as a whole URL; empty where it does not."""

    url: str
    status: int
    location: str = ""
    text: str = field(default="", repr=False)
    forms: tuple[Form, ...] = ()
    links: tuple[str, ...] = ()


def origin(url: str) -> str:
    """Scheme, host and port of a URL, in one spelling (RFC 6454); empty where it is no URL of a page."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname and port else ""


class Browser:
    """Opens pages of one origin. Follows no redirect by itself, so that the caller sees each step."""

    def __init__(self, url: str, deadline: Deadline, connect: Callable[[float], PortForward] | None = None) -> None:
        """`connect` leads to the origin by another way than its address; it is given seconds and may raise ApiError."""
        self.url = url
        self._deadline = deadline
        self._jar = CookieJar()
        ways = (_Through(connect), urllib.request.ProxyHandler({})) if connect else handlers()
        self._opener = urllib.request.build_opener(_AsItIs, urllib.request.HTTPCookieProcessor(self._jar), *ways)

    @property
    def cookies(self) -> frozenset[str]:
        """Names of the cookies that are kept."""
        return frozenset(item.name for item in self._jar)

    @property
    def withheld(self) -> bool:
        """Whether there are cookies for TLS alone, and this origin has none."""
        return not self.url.startswith("https:") and any(item.secure for item in self._jar)

    def owns(self, url: str) -> bool:
        """Whether a URL is of this origin."""
        return origin(url) == origin(self.url)

    def open(self, request: Request) -> Page:
        """Send one request to this origin.

        Raises:
            NoAnswerError: nothing came of it.
            ValueError: it is not of this origin.
        """
        if not self.owns(request.url):
            raise ValueError(f"{origin(request.url)} is not {origin(self.url)}")
        url, data, text = request.url, None, urlencode(request.fields)
        if request.method == "POST":
            data = text.encode()
        elif text:
            url = f"{url.partition('?')[0]}?{text}"
        headers = {"User-Agent": USER_AGENT, "Accept": "text/html"}
        asked = urllib.request.Request(url, data, headers)  # noqa: S310  the origin's scheme is seen to
        if self._deadline.passed:
            raise NoAnswerError(f"no end within {self._deadline.seconds:.0f} s")
        try:
            seconds = max(0.1, min(_ANSWER_SECONDS, self._deadline.remaining))
            with self._opener.open(asked, timeout=seconds) as answer:
                return _page(request.url, answer.status, answer.headers.get("Location", ""), self._read(answer))
        except (OSError, http.client.HTTPException, ValueError) as error:
            cause = getattr(error, "reason", error)
            raise NoAnswerError(f"{cause}" or type(error).__name__) from error

    def _read(self, answer: Any) -> str:
        text = b""
        while len(text) < _MOST_BYTES and (piece := answer.read1(_PIECE)):
            text += piece
            if self._deadline.passed:
                raise TimeoutError(f"no end within {self._deadline.seconds:.0f} s")
        return text.decode("utf-8", "replace")


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Every answer is one, whatever its status."""

    def http_response(self, request: Any, response: Any) -> Any:  # noqa: ARG002  the library's signature
        return response

    https_response = http_response


class _Through(urllib.request.HTTPHandler):
    def __init__(self, connect: Callable[[float], PortForward]) -> None:
        super().__init__()
        self._connect = connect

    def http_open(self, req: urllib.request.Request) -> Any:
        way = self._connect(req.timeout or _ANSWER_SECONDS)

        def connection(host: str, **_: Any) -> http.client.HTTPConnection:
            made = PlainConnection(host)
            made.sock = way
            return made

        try:
            return self.do_open(connection, req)
        except BaseException:
            way.shutdown()
            raise


def _page(url: str, status: int, location: str, text: str) -> Page:
    if status in _MOVED and location:
        return Page(url, status, urljoin(url, location))
    parser = _Found(url)
    parser.feed(text)
    return Page(url, status, "", text, tuple(parser.forms), tuple(parser.links))


class _Found(HTMLParser):
    """Forms and links of a page."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._open = False
        self.forms: list[Form] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in values:
            self.links.append(urljoin(self._url, values["href"]))
        elif tag == "form":
            self._open = True
            method = values.get("method", "").upper()
            target = urljoin(self._url, values.get("action", ""))
            self.forms.append(Form(target, "POST" if method == "POST" else "GET"))
        elif tag == "input" and self._open and "name" in values:
            self._input(self.forms[-1], values)

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "form"

    @staticmethod
    def _input(form: Form, values: Mapping[str, str]) -> None:
        name, kind = values["name"], values.get("type", "text").lower()
        if kind == "password":
            form.password = name
        elif kind in {"text", "email"}:
            form.text = form.text or name
        elif kind == "hidden":
            form.fields[name] = values.get("value", "")
