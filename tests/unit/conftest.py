"""A local HTTP server that answers as an API server does, faults included; a real one cannot be made to fail on cue."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from kubeflow_volcano.catalog import data
from kubeflow_volcano.catalog.images import lost, tables
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.deadline import Deadline
from tests import serving
from tests.kustomize_tool import kustomize_of
from tests.places import UPSTREAM
from tests.samples.images import GONE
from tests.serving import kubeconfig
from tests.unit.confined import confined, free
from tests.unit.dribbling import SWITCHED
from tests.unit.releases import WholeRelease, rendered

os.environ["COLUMNS"] = "100"  # reports are as wide as the terminal, and a test is the same in each

DISCOVERY: dict[str, list[tuple[str, str, bool]]] = {
    "/api/v1": [
        ("ConfigMap", "configmaps", True),
        ("Namespace", "namespaces", False),
        ("Pod", "pods", True),
        ("Service", "services", True),
    ],
    "/apis/apps/v1": [("Deployment", "deployments", True), ("ReplicaSet", "replicasets", True)],
    "/apis/apiextensions.k8s.io/v1": [("CustomResourceDefinition", "customresourcedefinitions", False)],
}


@dataclass
class Request:
    """What a client sent."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass
class Answer:
    """What it gets: a status and a body, an abrupt end of the connection, or lines of a stream that then ends."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    reset: bool = False
    lines: list[Any] | None = None
    hold: float = 0.0
    cut: bool = False
    frames: bytes | None = None
    """A switch to websockets with these frames; with `hold` after what the client sends first."""


def status(code: int, reason: str, message: str, **headers: str) -> Answer:
    """A refusal as the API server words it."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return Answer(code, body, {name.replace("_", "-"): value for name, value in headers.items()})


@dataclass
class FakeApi:
    """Queued answers by method and path; the last one stays. A path without any is 404.

    `pauses` are what clients meant to wait between two questions, in seconds; they wait a twentieth of it.
    """

    url: str = ""
    requests: list[Request] = field(default_factory=list)
    kubeconfig: Path = Path()
    sent: bytes = b""
    pauses: list[float] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    _answers: dict[tuple[str, str], list[Answer | Callable[[Request], Answer]]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    reply = staticmethod(Answer)
    status = staticmethod(status)

    def on(self, method: str, path: str, *answers: Answer | Callable[[Request], Answer]) -> None:
        """Answer requests to `path` with these, one after the other."""
        self._answers[method, path] = list(answers)

    def seen(self, method: str, path: str) -> list[Request]:
        """The requests of that method to that path."""
        return [item for item in self.requests if (item.method, item.path) == (method, path)]

    def answer(self, request: Request) -> Answer:
        """The next answer to this request."""
        with self._lock:
            self.requests.append(request)
            queue = self._answers.get((request.method, request.path))
            if not queue:
                return status(404, "NotFound", "the server could not find the requested resource")
            answer = queue.pop(0) if len(queue) > 1 else queue[0]
        return answer(request) if callable(answer) else answer

    def connect(self) -> Cluster:
        """A client of this server."""
        return Cluster.connect(self.kubeconfig)

    def write_kubeconfig(self, token: str) -> None:
        """Credentials with that bearer token."""
        self.kubeconfig.write_text(json.dumps(kubeconfig(self.url, {"token": token})))


def _switch(handler: BaseHTTPRequestHandler, api: FakeApi, answer: Answer) -> None:
    handler.wfile.write(SWITCHED)
    if answer.hold:
        api.sent += handler.rfile.read1()
    handler.wfile.write(answer.frames or b"")
    handler.close_connection = True


def _handler(api: FakeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(serving.Handler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            parts = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = api.answer(
                Request(
                    self.command,
                    parts.path,
                    dict(parse_qsl(parts.query)),
                    {name.lower(): value for name, value in self.headers.items()},
                    json.loads(body) if body else None,
                )
            )
            if answer.reset:
                # Linger 0 makes close() send RST.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            if answer.lines is not None:
                self._stream(answer)
                return
            if answer.frames is not None:
                _switch(self, api, answer)
                return
            self.answer(answer.body, answer.status, **answer.headers)

        def _stream(self, answer: Answer) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for line in answer.lines or ():
                text = json.dumps(line).encode() + b"\n"
                self.wfile.write(f"{len(text):x}\r\n".encode() + text + b"\r\n")
                self.wfile.flush()
            api.stop.wait(answer.hold)
            if not answer.cut:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

    return Handler


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Keep unit tests without the mark `programs` from starting any; pytest asks this for the tests of all folders."""
    with _confinement(item):
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Likewise. Teardowns are free: after the last test of a worker session fixtures of other folders end as well."""
    with _confinement(item):
        yield


def _confinement(item: pytest.Item) -> contextlib.AbstractContextManager[None]:
    is_free = item.get_closest_marker("programs") or Path(__file__).parent not in item.path.parents
    return free() if is_free else confined()


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    """A server that answers /version and discovery; everything else is the test's."""
    fake = FakeApi(kubeconfig=tmp_path / "kubeconfig")

    def pause(deadline: Deadline, seconds: float) -> None:
        """This server does not need the time that a real one is given."""
        fake.pauses.append(seconds)
        time.sleep(min(seconds / 20, deadline.remaining))

    monkeypatch.setattr(Deadline, "pause", pause)
    server = serving.listen(_handler(fake))
    fake.url = f"http://127.0.0.1:{server.server_port}"
    fake.write_kubeconfig("first")
    fake.on("GET", "/version", Answer(body={"gitVersion": "v1.30.2"}))
    for path, kinds in DISCOVERY.items():
        resources = [{"kind": kind, "name": plural, "namespaced": inside} for kind, plural, inside in kinds]
        fake.on("GET", path, Answer(body={"resources": resources}))
    with serving.serving(server):
        yield fake
        fake.stop.set()


@pytest.fixture(autouse=True)
def no_entries_of_others() -> Iterator[None]:
    """Entries of a user are those of the process; no test leaves any to the next."""
    yield
    data.add(None)


@pytest.fixture
def small_catalog(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only the images of tests/samples/images.py are gone."""
    monkeypatch.setattr(tables, "all_gone", lambda: GONE)
    lost.whole_releases.cache_clear()
    yield
    lost.whole_releases.cache_clear()


@pytest.fixture(scope="session")
def upstream_dir() -> Path:
    """Real upstream manifests beside the checkout; skipped where they are not."""
    if not UPSTREAM.is_dir():
        pytest.skip("no upstream manifests beside the checkout")
    return UPSTREAM


@pytest.fixture(scope="session")
def whole_release(kustomize: Path) -> WholeRelease:
    """A release as `tests/unit/releases.py` renders it, once in a session."""
    return cache(lambda release: rendered(release, kustomize))


@pytest.fixture(scope="session")
def kustomize() -> Path:
    """Kustomize 5, as the rehearsal cluster uses it: from the cache of its tools, or built now."""
    with free():
        return kustomize_of("1.30")


@pytest.fixture(scope="session")
def kustomize_3() -> Path:
    """Kustomize 3.2.0, likewise."""
    with free():
        return kustomize_of("1.22")
