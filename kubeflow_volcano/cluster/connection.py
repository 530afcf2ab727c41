"""Requests to one Kubernetes API server over kept-alive connections: typed errors, bounded retries."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from multiprocessing.util import Finalize
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes import client as kubernetes_client
from kubernetes.config import kube_config

from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError, from_response

__all__ = ["BRIEF", "WHOLE", "Connection"]

WHOLE = "application/json"
BRIEF = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json"
"""Forms of an answer: the object, or its metadata alone."""

_CONNECT_SECONDS = 5.0
_READ_SECONDS = 35.0  # above the server's own limit for mutating requests (34 s), so that its answer is seen
_RETRY_SECONDS = 60.0
_FIRST_DELAY, _LONGEST_DELAY = 0.1, 5.0


class Connection:
    """A connection to one API server. Safe to use from several threads."""

    def __init__(self, load: Callable[[], Any], origin: str, user_agent: str) -> None:
        """`load` makes a fresh client configuration; it is called again once when a token is no longer accepted."""
        self.origin = origin
        self.retries = 0
        self.trouble = ""
        """What the last answer that heals said; empty again after a good one."""
        self._load = load
        self._user_agent = user_agent
        self._lock = threading.Lock()
        self._configure()

    def _configure(self) -> None:
        self._config = self._load()
        # The client library writes keys to temporary files and removes them by atexit, which forked workers don't run.
        Finalize(None, kube_config._cleanup_temp_files, exitpriority=0)  # noqa: SLF001  it has no public name
        self._config.connection_pool_maxsize = 32
        self._pool: urllib3.PoolManager = kubernetes_client.ApiClient(self._config).rest_client.pool_manager

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
        """Send one request, again while the trouble is transient, and return the parsed answer.

        Raises:
            ApiError: the server's refusal, or the last transient trouble when `deadline` (default 60 s) is over.
        """
        deadline = deadline or Deadline(_RETRY_SECONDS)
        delay = _FIRST_DELAY
        reloaded = False
        while True:
            try:
                answer = self._send(
                    method, path, deadline, query=query, body=body, content_type=content_type, accept=accept
                )
                self.trouble = ""
                return json.loads(answer.data or b"null")
            except ApiError as error:
                if error.status == HTTPStatus.UNAUTHORIZED and not reloaded:  # a token may expire in mid-run
                    reloaded = True
                    with self._lock:
                        self._configure()
                    continue
                jitter = delay * random.uniform(0.5, 1.5)  # noqa: S311  no secret
                pause = error.retry_after + min(jitter, 1.0) if error.retry_after else jitter
                outdated = method == "PUT" and error.status == HTTPStatus.CONFLICT  # and stays so
                if not error.transient or outdated or pause > deadline.remaining:
                    raise
                self.trouble = str(error)
                with self._lock:
                    self.retries += 1
                time.sleep(pause)
                delay = min(delay * 2, _LONGEST_DELAY)

    def stream(self, path: str, query: Mapping[str, str], deadline: Deadline) -> urllib3.BaseHTTPResponse:
        """Open a response whose body is still to come (watches, logs). The caller closes it."""
        return self._send("GET", path, deadline, query=query, stream=True)

    def _send(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        *,
        query: Mapping[str, str] | None,
        body: Any = None,
        content_type: str = "",
        accept: str = WHOLE,
        stream: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept, "User-Agent": self._user_agent}
        if body is not None:
            headers["Content-Type"] = content_type
        for setting in self._config.auth_settings().values():
            headers[setting["key"]] = setting["value"]
        url = self._config.host.rstrip("/") + path + (f"?{urlencode(query)}" if query else "")
        read = deadline.remaining + _CONNECT_SECONDS if stream else min(_READ_SECONDS, deadline.remaining + 1)
        try:
            response = self._pool.request(
                method,
                url,
                body=None if body is None else json.dumps(body, separators=(",", ":")).encode(),
                headers=headers,
                timeout=urllib3.Timeout(connect=_CONNECT_SECONDS, read=read),
                retries=False,
                preload_content=not stream,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ApiError(0, "NoAnswer", f"no answer from {self._config.host} ({error})") from error
        if response.status >= HTTPStatus.MULTIPLE_CHOICES:
            raise from_response(response.status, response.headers, response.data)
        return response
