"""Requests of urllib that end in time, and its redirects: it repeats a request with all headers, also elsewhere."""

from __future__ import annotations

import ssl
import urllib.request
from http.client import HTTPMessage
from typing import IO
from urllib.parse import urlsplit

from kubeflow_volcano.exchange import Answer, handlers

__all__ = ["is_same_place", "opener"]

_PORTS = {"http": 80, "https": 443}
_OF_THE_CONNECTION = {"Accept", "User-agent"}
"""Headers without credentials, as urllib spells them."""
_LEAST_SECONDS = 0.01


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
            fp.close()  # nobody needs the page, which would be read to its end
            new.method = req.get_method()
            same = is_same_place(req.full_url, newurl)
            for name in list(new.headers):
                # The next proxy gets its own login from urllib, and another host none.
                if name == "Proxy-authorization" or not (same or name in _OF_THE_CONNECTION):
                    new.remove_header(name)
        return new
