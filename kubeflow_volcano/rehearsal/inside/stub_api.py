"""A minimal Kubernetes client for programs inside the node."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

_SECONDS = 30.0
_WATCH_SECONDS = 300
_PAUSE_SECONDS = 0.5

Object = dict[str, Any]
News = Callable[[str, list[Object]], None]


class RefusedError(Exception):
    """The API server answered with an error."""


class Api:
    """Requests to the API server at `server` (https://...) as `user`, with the certificates in `pki`."""

    def __init__(self, server: str, pki: Path, user: str) -> None:
        self._address = urlsplit(server)
        self._context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._context.load_cert_chain(pki / f"{user}.crt", pki / f"{user}.key")

    def request(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Object:
        """Send one request and return its answer.

        Raises:
            RefusedError: the answer is an error.
            OSError, HTTPException: there was no answer.
        """
        with contextlib.closing(self._open(_SECONDS)) as connection:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": content_type})
            answer: Object = json.loads(_accepted(connection.getresponse()).read())
            return answer

    def follow(self, path: str, news: News) -> None:
        """Call `news` for all changes of a collection: RESET with all objects, then ADDED, MODIFIED, DELETED with one.

        Never returns; after an error it starts again with RESET.
        """
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError, RefusedError):
                listing = self.request("GET", path)
                news("RESET", listing["items"])
                version = listing["metadata"]["resourceVersion"]
                while version:
                    version = self._watch(path, version, news)
            time.sleep(_PAUSE_SECONDS)

    def _watch(self, path: str, version: str, news: News) -> str:
        """Watch from `version` until the server ends it; returns the next version, '' when a new list is required."""
        query = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={_WATCH_SECONDS}&resourceVersion={version}"
        with contextlib.closing(self._open(_WATCH_SECONDS + _SECONDS)) as connection:
            connection.request("GET", f"{path}?{query}")
            for line in _accepted(connection.getresponse()):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return ""
                version = event["object"]["metadata"]["resourceVersion"]
                if event["type"] != "BOOKMARK":
                    news(event["type"], [event["object"]])
        return version

    def _open(self, seconds: float) -> http.client.HTTPSConnection:
        address = self._address
        return http.client.HTTPSConnection(address.hostname or "", address.port, timeout=seconds, context=self._context)


def _accepted(response: http.client.HTTPResponse) -> http.client.HTTPResponse:
    if response.status >= HTTPStatus.BAD_REQUEST:
        raise RefusedError(f"{response.status}: {response.read().decode('utf-8', 'replace')[:500]}")
    return response
