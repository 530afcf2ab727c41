"""A registry for test hosts: pulls of small images, and every failure that a mirror is known for.

The pull half of the OCI distribution specification 1.1; pushes are taken, too, so that a tool can fill it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import ssl
import tarfile
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from kubeflow_volcano.rehearsal.build.toolchain import go_architecture
from tests.hosts.lab.certificates import write_certificates

Answer = int | Literal["hang"]
"""A status, or "hang" for an answer that never comes; 0 for what is asked for."""

_PATH = re.compile(r"/v2/(?P<name>.+)/(?P<kind>manifests|blobs|tags)/(?P<reference>[^/]*/?[^/]*)")
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass
class Registry:
    """Listens on `address` ("host:port") from the start.

    `requests` are (method, path with query, status) in order; the status of one that hangs is 0. Names of images are
    those of the request: what a mirror makes of them is the test's. `ca` is the file with the authority that signed its
    certificate (`tls`); without TLS it is written as well, and signs nothing.
    """

    host: str
    directory: Path
    tls: bool = True
    answers: Sequence[Answer] = ()
    requests: list[tuple[str, str, int]] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifests: dict[str, dict[str, tuple[str, bytes]]] = field(default_factory=dict)
    hangs: Callable[[str, str], bool] = lambda _client, _path: False
    """Whether a request of that client (its address) for that path is never answered, whatever `answer` says."""
    odd: Callable[[BaseHTTPRequestHandler], bool] = lambda _request: False
    """Called first; True if it has dealt with the request."""
    days: tuple[int, int] = (-1, 30)
    certified: str = ""
    """When its certificate begins and ends, and a name that it is for in place of its address."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    closed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self.ca = self.directory / "ca.crt"
        self._queue = list(self.answers)
        self._forced: Answer = 0
        certificate = write_certificates(self.host, self.ca, self.days, self.certified)
        self._server = _Server(self)
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.context = context
        self.address = f"{self.host}:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def put(self, name: str, tag: str, size: int = 0) -> str:
        """Offer a small image, different for each name and tag; with `size`, of so many bytes that can't be packed.

        Returns:
            The digest of its manifest.
        """
        layer = _layer(f"{name}:{tag}\n".encode(), size)
        config = {
            "architecture": go_architecture(),
            "os": "linux",
            "config": {"Cmd": ["/image"]},
            "rootfs": {"type": "layers", "diff_ids": [_digest(gzip.decompress(layer))]},
        }
        text = json.dumps(config).encode()
        for blob in (layer, text):
            self.blobs[_digest(blob)] = blob
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": {"mediaType": _CONFIG, "digest": _digest(text), "size": len(text)},
            "layers": [{"mediaType": _LAYER, "digest": _digest(layer), "size": len(layer)}],
        }
        return self.keep(name, tag, _MANIFEST, json.dumps(manifest).encode())

    def answer(self, status: Answer) -> None:
        """Answer everything so from now on."""
        self._forced = status
        self._queue.clear()

    @property
    def hanging(self) -> bool:
        """Whether a request was made that hangs."""
        return any(status == 0 for _, _, status in self.requests)

    def stop(self) -> None:
        """Close the port; requests that hang end."""
        self.closed.set()
        self._server.shutdown()
        self._server.server_close()

    def keep(self, name: str, reference: str, kind: str, manifest: bytes) -> str:
        """Store a manifest of media type `kind` under a tag or digest; returns its digest."""
        digest = _digest(manifest)
        with self._lock:
            known = self.manifests.setdefault(name, {})
            known[digest] = known[reference] = (kind, manifest)
        return digest

    def next_answer(self) -> Answer:
        """What the next request gets."""
        with self._lock:
            return self._queue.pop(0) if self._queue else self._forced


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    context: ssl.SSLContext | None = None

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        super().__init__((registry.host, 0), _Handler)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands in the request's own thread: a client that is slow in it keeps nobody else waiting."""
        if not self.context:
            super().finish_request(request, client_address)
            return
        with self.context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients hang up, and refuse certificates, on purpose."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    timeout = 60.0

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        if self.server.registry.odd(self):
            return
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hangs = self.server.registry.hangs(self.client_address[0], self.path)
        forced = "hang" if hangs else self.server.registry.next_answer()
        if forced == "hang":
            self.server.registry.requests.append((self.command, self.path, 0))
            self.server.registry.closed.wait()
            self.close_connection = True
        elif forced:
            self._answer(forced, json.dumps({"errors": [{"code": "TEST", "message": "as told"}]}).encode())
        else:
            self._route(urlsplit(self.path).path, body)

    def _route(self, path: str, body: bytes) -> None:
        found = _PATH.fullmatch(path)
        if path in {"/v2", "/v2/"}:
            self._answer(HTTPStatus.OK, b"{}")
        elif found is None:
            self._answer(HTTPStatus.NOT_FOUND, b"{}")
        elif self.command in {"GET", "HEAD"}:
            name, kind, reference = found.group("name", "kind", "reference")
            self._pull(name, kind, reference)
        else:
            name, kind, reference = found.group("name", "kind", "reference")
            self._push(name, kind, reference, body)

    def _pull(self, name: str, kind: str, reference: str) -> None:
        known = self.server.registry.manifests.get(name, {})
        if kind == "manifests" and reference in known:
            media, manifest = known[reference]
            self._answer(HTTPStatus.OK, manifest, {"Content-Type": media, "Docker-Content-Digest": _digest(manifest)})
        elif kind == "blobs" and reference in self.server.registry.blobs:
            blob = self.server.registry.blobs[reference]
            headers = {"Content-Type": "application/octet-stream", "Docker-Content-Digest": reference}
            self._answer(HTTPStatus.OK, blob, headers)
        elif kind == "tags":
            tags = [tag for tag in known if not tag.startswith("sha256:")]
            self._answer(HTTPStatus.OK, json.dumps({"name": name, "tags": tags}).encode())
        else:
            code = "MANIFEST_UNKNOWN" if kind == "manifests" else "BLOB_UNKNOWN"
            self._answer(HTTPStatus.NOT_FOUND, json.dumps({"errors": [{"code": code, "message": name}]}).encode())

    def _push(self, name: str, kind: str, reference: str, body: bytes) -> None:
        if kind == "manifests":
            media = self.headers.get("Content-Type", _MANIFEST)
            digest = self.server.registry.keep(name, reference, media, body)
            headers = {"Location": f"/v2/{name}/manifests/{digest}", "Docker-Content-Digest": digest}
            self._answer(HTTPStatus.CREATED, b"", headers)
            return
        upload = f"/v2/{name}/blobs/uploads/"
        pending = self.server.registry.blobs.pop(self.path.partition("?")[0], b"") + body
        digest = parse_qs(urlsplit(self.path).query).get("digest", [""])[0]
        if digest and _digest(pending) != digest:
            self._answer(HTTPStatus.BAD_REQUEST, json.dumps({"errors": [{"code": "DIGEST_INVALID"}]}).encode())
        elif digest:
            self.server.registry.blobs[digest] = pending
            self._answer(HTTPStatus.CREATED, b"", {"Location": f"/v2/{name}/blobs/{digest}"})
        else:
            place = self.path.partition("?")[0] if self.command == "PATCH" else upload + uuid.uuid4().hex
            self.server.registry.blobs[place] = pending
            headers = {"Location": place, "Range": f"0-{max(len(pending) - 1, 0)}"}
            self._answer(HTTPStatus.ACCEPTED, b"", headers)

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.server.registry.requests.append((self.command, self.path, int(status)))
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = _serve


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _layer(text: bytes, size: int) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, content in (("image", text), ("noise", _noise(text, size))):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(stream.getvalue(), compresslevel=1, mtime=0)


def _noise(seed: bytes, size: int) -> bytes:
    """So many bytes that no compression makes smaller, the same for the same seed."""
    return hashlib.shake_256(seed).digest(size)
