"""Requests to one Kubernetes API server over kept-alive connections: typed errors, bounded retries."""

from __future__ import annotations

import base64
import contextlib
import json
import random
import re
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import urllib3

from kubeflow_volcano.cluster.api.credentials import Credentials
from kubeflow_volcano.cluster.api.errors import UNTRUSTED, ApiError, from_response
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import ProblemsError

WHOLE = "application/json"
BRIEF = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
BRIEF_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
"""Accept headers: the whole object, its metadata only, a list of metadata only, and a list as kubectl prints it."""

_CONNECT_SECONDS = _LATE_SECONDS = 5.0
_LEAST_SECONDS = 0.01
_READ_SECONDS = 35.0  # above the server's own timeout of mutating requests (34 s), so that its answer arrives
_RETRY_SECONDS = 60.0
_LAST_TRY_SECONDS = 5.0
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 5.0
_RELOAD_SECONDS = 10.0
# TLS errors about certificates of either side: CERTIFICATE_VERIFY_FAILED, ALERT_CERTIFICATE_EXPIRED, ALERT_UNKNOWN_CA.
_DISTRUST = re.compile(r"CERTIFICATE|UNKNOWN_CA")


class Connection:
    """A connection to one API server. Safe to use from several threads."""

    def __init__(self, load: Callable[[], Credentials], origin: str, user_agent: str) -> None:
        """`load` returns fresh credentials. It is called again, at most every 10 s, when the server rejects them."""
        self.origin = origin
        self.retries = 0
        self.trouble = ""
        """Message of the last transient error; empty after a success."""
        self._load = load
        self._user_agent = user_agent
        self._lock = threading.Lock()
        self._credentials = load()
        self._renewed_at = float("-inf")
        self._silent_since: float | None = None

    @property
    def credentials(self) -> Credentials:
        """The credentials in use."""
        return self._credentials

    def _renewed(self, refused: Credentials) -> bool:
        """Whether there are newer credentials than the `refused` ones, loaded now or by another thread.

        Raises:
            ProblemsError: credentials cannot be loaded any more.
        """
        with self._lock:
            if self._credentials is not refused:
                return True
            if time.monotonic() - self._renewed_at < _RELOAD_SECONDS:
                return False
            self._renewed_at = time.monotonic()
            self._credentials = self._load()
            return True

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        accept: str = WHOLE,
        deadline: Deadline | None = None,
    ) -> Any:
        """Send a request, retry it while errors are transient, and return the parsed answer.

        The default `deadline` is 60 s. An outage costs that time only once: if all requests of this connection have
        failed for so long, a request without a deadline is sent once and has 5 s.

        Raises:
            ApiError: the server rejected the request, or the last error was still transient at the deadline.
        """
        patient = deadline is not None or self._silent_seconds < _RETRY_SECONDS
        deadline = deadline or Deadline(_RETRY_SECONDS if patient else _LAST_TRY_SECONDS)
        delay = _FIRST_DELAY
        while True:
            try:
                answer = self._authorised(
                    method, path, deadline, query=query, body=body, content_type=content_type, accept=accept
                )
                self.trouble = ""
                self._silent_since = None
                return _parsed(answer.data)
            except ApiError as error:
                jitter = delay * random.uniform(0.5, 1.5)  # noqa: S311  no secret
                pause = error.retry_after + min(jitter, 1.0) if error.retry_after else jitter
                outdated = method == "PUT" and error.status == HTTPStatus.CONFLICT  # a retry conflicts again
                if not error.transient:
                    self._silent_since = None
                elif self._silent_since is None:
                    self._silent_since = time.monotonic()
                if not error.transient or outdated or not patient or pause > deadline.remaining:
                    raise
                self.trouble = str(error)
                with self._lock:
                    self.retries += 1
                deadline.pause(pause)
                delay = min(delay * 2, _LONGEST_DELAY)

    @property
    def _silent_seconds(self) -> float:
        """Seconds since the first of the transient errors, if no other answer has come since; else 0."""
        since = self._silent_since
        return time.monotonic() - since if since else 0.0

    def stream(self, path: str, query: Mapping[str, str], deadline: Deadline) -> urllib3.BaseHTTPResponse:
        """Open a response and leave its body unread (watches). The caller closes it."""
        return self._authorised("GET", path, deadline, query=query, late=_LATE_SECONDS)

    def switched(self, path: str, query: Sequence[tuple[str, str]], protocol: str, seconds: float) -> Any:
        """Turn a connection into a websocket (RFC 6455, 4.1), and leave its frames unread. The caller closes it.

        The whole exchange ends in `seconds`.

        Raises:
            ApiError: as for `text`, or the server did not switch.
        """
        headers = {
            "Accept": "*/*",  # kubelets answer 406 to any other
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(secrets.token_bytes(16)).decode(),
            "Sec-WebSocket-Protocol": protocol,
        }
        answer = self._authorised("GET", path, Deadline(seconds), query=query, more=headers, late=0.0)
        if answer.status != HTTPStatus.SWITCHING_PROTOCOLS:
            answer.close()
            raise ApiError(
                answer.status,
                "NotSwitched",
                f"{self._credentials.endpoint}, or a proxy before it, serves no websockets",
            )
        return answer

    def text(self, path: str, query: Mapping[str, str], deadline: Deadline, *, most: int) -> str:
        """The beginning of an answer that is text, such as a log; `most` bytes of it.

        Raises:
            ApiError: as for `request`, which repeats what may pass; here nothing is repeated.
        """
        with contextlib.closing(self.stream(path, query, deadline)) as response, self._answering():
            data: bytes = response.read(most)
        return data.decode("utf-8", "replace")

    def _authorised(self, method: str, path: str, deadline: Deadline, **how: Any) -> urllib3.BaseHTTPResponse:
        """Send a request; if the server rejects the credentials, send it again with newer ones."""
        credentials = self._credentials
        try:
            return self._send(credentials, method, path, deadline, **how)
        except ApiError as error:
            if error.status != HTTPStatus.UNAUTHORIZED:
                raise
            try:
                again = self._renewed(credentials)
            except ProblemsError as trouble:
                found = f"{error.message}; reloading the credentials failed: {trouble.problems[0].found}"
                raise ApiError(error.status, error.reason, found) from trouble
            if not again:
                raise
        return self._send(self._credentials, method, path, deadline, **how)

    def _send(
        self,
        credentials: Credentials,
        method: str,
        path: str,
        deadline: Deadline,
        *,
        query: Mapping[str, str] | Sequence[tuple[str, str]] | None,
        body: Any = None,
        content_type: str = "",
        accept: str = WHOLE,
        more: Mapping[str, str] = {},
        late: float | None = None,
    ) -> urllib3.BaseHTTPResponse:
        """`late`: the caller reads the body, which may end so many seconds after the deadline."""
        headers = {"Accept": accept, "User-Agent": self._user_agent, **more, **credentials.headers()}
        if body is not None:
            headers["Content-Type"] = content_type
        url = credentials.server + path + (f"?{urlencode(query)}" if query else "")
        read = min(_READ_SECONDS, deadline.remaining + 1) if late is None else deadline.remaining + late
        with self._answering():
            response = credentials.pool.request(
                method,
                url,
                body=None if body is None else json.dumps(body, separators=(",", ":")).encode(),
                headers=headers,
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=max(_LEAST_SECONDS, read)),
                retries=False,
                preload_content=late is None,
                enforce_content_length=not more,  # what follows a switch is no content
            )
            refused = response.data if response.status >= HTTPStatus.MULTIPLE_CHOICES else None
        if refused is not None:
            refusal = from_response(response.status, response.headers, refused)
            if refusal.status == HTTPStatus.UNAUTHORIZED and credentials.validity:
                refusal.message += f" ({credentials.validity})"
            raise refusal
        return response

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """Around what waits for the server.

        Raises:
            ApiError: it does not answer, or not to the end.
        """
        try:
            yield
        except (urllib3.exceptions.HTTPError, OSError) as error:
            reason = UNTRUSTED if _DISTRUST.search(str(error)) else "NoAnswer"
            raise ApiError(0, reason, f"no answer from {self._credentials.endpoint} ({error})") from error


def _parsed(body: bytes) -> Any:
    try:
        return read_json(body or b"null")
    except ValueError as error:
        start = body[:80].decode("utf-8", "replace")
        raise ApiError(
            200, "NotJson", f"the answer is not JSON, so it is not from an API server; it begins with {start!r}"
        ) from error
