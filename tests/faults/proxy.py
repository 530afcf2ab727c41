"""A reverse proxy between a client and a real API server that spoils answers on cue."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from kubernetes import client as kubernetes_client
from kubernetes import config as kubernetes_config

from kubeflow_volcano.cluster.api.client import Cluster
from tests import serving


@dataclass(frozen=True)
class Asked:
    """A request on its way to the server: the `number`-th of all."""

    number: int
    method: str
    path: str
    token: str = ""
    """What stands behind Bearer in its Authorization header."""

    @property
    def watches(self) -> bool:
        """Whether it asks for a stream."""
        return "watch=1" in self.path


@dataclass(frozen=True)
class Fault:
    """What happens instead of a good answer: with `reach` after the work was done; code 0 is a broken connection."""

    code: int = 0
    body: Mapping[str, object] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    reach: bool = False
    delay: float = 0.0
    spoil: bool = True
    limit: int | None = None
    """So many bytes of a good answer come through before its connection breaks."""
    alter: Callable[[Any], object] | None = None
    """Changes the parsed object of a good answer."""


RESET = Fault()
LOST = Fault(reach=True)
"""The work is done, and nobody hears of it."""
HUNG = Fault(delay=120.0)
"""Nothing comes for two minutes, not even an end."""


def status(code: int, reason: str, message: str, **headers: str) -> Fault:
    """A refusal as the API server words it; `Retry_After` becomes that header."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return Fault(code, body, {name.replace("_", "-"): value for name, value in headers.items()})


def slow(seconds: float) -> Fault:
    """A good answer that takes its time."""
    return Fault(reach=True, delay=seconds, spoil=False)


def cut(limit: int) -> Fault:
    """A good answer that breaks off after so many bytes."""
    return Fault(reach=True, spoil=False, limit=limit)


def altered(change: Callable[[Any], object]) -> Fault:
    """A good answer whose object is changed in place."""
    return Fault(reach=True, spoil=False, alter=change)


Plan = Callable[[Asked], Fault | None]


class FaultProxy:
    """Listens on the loopback interface, without TLS; asks the real server with its administrator's credentials."""

    def __init__(self, kubeconfig: Path) -> None:
        self.plan: Plan = lambda _asked: None
        self.path = ""
        """Where the server is behind this address."""
        self.clock_seconds = 0.0
        """How far the clock of the server seems to be ahead: answers have the proxy's header Date."""
        self.asked: list[Asked] = []
        self.spoilt: list[Asked] = []
        self._lock = threading.Lock()
        loaded = kubernetes_client.Configuration()
        kubernetes_config.load_kube_config(str(kubeconfig), client_configuration=loaded)
        self._server = urlsplit(loaded.host).netloc
        self._context = ssl.create_default_context(cafile=loaded.ssl_ca_cert)
        assert loaded.cert_file, "the rehearsal cluster is administered with a certificate"
        self._context.load_cert_chain(loaded.cert_file, loaded.key_file)

    def connection(self) -> http.client.HTTPSConnection:
        """A new one to the real server."""
        return http.client.HTTPSConnection(self._server, context=self._context, timeout=60)

    def fault(self, method: str, path: str, token: str) -> Fault | None:
        """What is planned for the next request."""
        with self._lock:
            asked = Asked(len(self.asked), method, path, token)
            self.asked.append(asked)
            found = self.plan(asked)
            if found:
                self.spoilt.append(asked)
        return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: FaultProxy

    def log_message(self, *_: object) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        moment = time.time() if timestamp is None else timestamp
        return super().date_time_string(moment + self.proxy.clock_seconds)

    def setup(self) -> None:
        super().setup()
        self.upstream = self.proxy.connection()

    def finish(self) -> None:
        self.upstream.close()
        with contextlib.suppress(OSError):
            super().finish()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        fault = self.proxy.fault(self.command, self.path, token)
        try:
            if fault and fault.spoil and not fault.reach:
                time.sleep(fault.delay)
                self._spoil(fault)
                return
            answer = self._ask(body)
            if fault and fault.delay:
                time.sleep(fault.delay)
            if fault and fault.spoil:
                answer.read()
                self._spoil(fault)
                return
            if fault and fault.alter:
                body = json.loads(answer.read())
                fault.alter(body)
                self._spoil(Fault(answer.status, body))
                return
            self._pass_on(answer, fault.limit if fault else None)
        except (OSError, http.client.HTTPException):  # the server is gone: so is the client's connection
            self._reset()

    def _ask(self, body: bytes) -> http.client.HTTPResponse:
        kept = {name: value for name, value in self.headers.items() if name.lower() not in {"host", "authorization"}}
        try:
            self.upstream.request(self.command, self.path.removeprefix(self.proxy.path), body or None, kept)
            return self.upstream.getresponse()
        except (OSError, http.client.HTTPException):
            self.upstream.close()
            raise

    def _pass_on(self, answer: http.client.HTTPResponse, limit: int | None) -> None:
        self.send_response(answer.status)
        for name in ("Content-Type", "Retry-After"):
            if value := answer.headers.get(name):
                self.send_header(name, value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        passed = 0
        while chunk := answer.read1(65536):
            if limit is not None and passed + len(chunk) > limit:
                raise ConnectionResetError
            passed += len(chunk)
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _spoil(self, fault: Fault) -> None:
        if not fault.code:
            self._reset()
            return
        text = json.dumps(fault.body).encode()
        self.send_response(fault.code)
        for name, value in {**fault.headers, "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def _reset(self) -> None:
        # Linger 0 makes close() send RST.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve


class _Server(serving.Server):
    request_queue_size = 64


class _Server6(_Server):
    address_family = socket.AF_INET6


Through = tuple[FaultProxy, Path]
"""A proxy, and the kubeconfig that leads through it."""


@contextlib.contextmanager
def served(kubeconfig: Path, address: str = "127.0.0.1") -> Iterator[tuple[FaultProxy, str]]:
    """A proxy in front of the server of `kubeconfig`, and its URL."""
    proxy = FaultProxy(kubeconfig)
    make = _Server6 if ":" in address else _Server
    host = f"[{address}]" if ":" in address else address
    with serving.serving(make((address, 0), type("Handler", (_Handler,), {"proxy": proxy}))) as port:
        yield proxy, f"http://{host}:{port}"


@contextlib.contextmanager
def proxied(kubeconfig: Path, folder: Path, address: str = "127.0.0.1") -> Iterator[tuple[FaultProxy, Cluster]]:
    """A proxy in front of the server of `kubeconfig`, and a client that goes through it."""
    through = folder / "through-the-proxy.json"
    with served(kubeconfig, address) as (proxy, url):
        through.write_text(json.dumps(serving.kubeconfig(url, {"token": "none"})))
        yield proxy, Cluster.connect(through)
