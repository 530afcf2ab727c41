"""Read-only registry over an OCI image layout: the pull half of the OCI distribution specification 1.1.

    python3 registry.py STORE PORT

It is a mirror of every registry: containerd sends the original registry's name in `?ns=`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import signal
import socketserver
import sys
import urllib.parse
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

_REQUEST = re.compile(r"/v2/(?P<name>[a-z0-9._/-]+)/(?P<kind>manifests|blobs)/(?P<reference>[A-Za-z0-9._:-]+)")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_NAME = "org.opencontainers.image.ref.name"
_IDLE_SECONDS = 60.0
_CHUNK = 1 << 20


def read_index(index: Path) -> dict[str, str]:
    """Digest of each image's manifest by full name, such as "docker.io/library/busybox:1.36", from an index.json."""
    return {
        entry["annotations"][_NAME]: entry["digest"]
        for entry in json.loads(index.read_text(encoding="utf-8"))["manifests"]
    }


class Registry(ThreadingHTTPServer):
    """Serves the layout in `store`, on 127.0.0.1 only, as it has no access control. Port 0 chooses a free one."""

    daemon_threads = True

    def __init__(self, store: Path, port: int = 0) -> None:
        self.store = store
        super().__init__(("127.0.0.1", port), _Handler)

    def server_bind(self) -> None:
        """Bind without resolving a host name, which the node may lack."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.socket.getsockname()[1]

    def resolve(self, namespace: str, name: str, reference: str) -> str | None:
        """Digest of a manifest by tag or digest; None without one.

        An image is also served under the names that mirrors give it: their own name, then the full one. The index is
        read each time, as images may be added while this runs.
        """
        asked = f"/{namespace}/{name}"
        for image, digest in read_index(self.store / "index.json").items():
            repository, _, tag = image.rpartition(":")
            if asked.endswith(f"/{repository}") and reference in {tag, digest}:
                return digest
        return None

    def blob(self, digest: str) -> Path:
        """Path of a blob, which may not exist."""
        return self.store / "blobs/sha256" / digest.removeprefix("sha256:")


class _Handler(BaseHTTPRequestHandler):
    server: Registry
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        if url.path in {"/v2", "/v2/"}:
            self._answer(HTTPStatus.OK, b"{}")
            return
        request = _REQUEST.fullmatch(url.path)
        if request is None:
            self._error(HTTPStatus.NOT_FOUND, "NAME_UNKNOWN", f"nothing is served at {url.path}")
            return
        name, kind, reference = request.group("name", "kind", "reference")
        if kind == "blobs":
            self._blob(reference)
        else:
            namespace = urllib.parse.parse_qs(url.query).get("ns", ["docker.io"])[0]
            self._manifest(namespace, name, reference)

    do_HEAD = do_GET

    def _manifest(self, namespace: str, name: str, reference: str) -> None:
        content = self.server.resolve(namespace, name, reference)
        if content is None:
            self._error(HTTPStatus.NOT_FOUND, "MANIFEST_UNKNOWN", f"no image {namespace}/{name} with {reference}")
        else:
            self._file(content, _MANIFEST)

    def _blob(self, digest: str) -> None:
        if not _DIGEST.fullmatch(digest):
            self._error(HTTPStatus.BAD_REQUEST, "DIGEST_INVALID", f"{digest} is not a sha256 digest")
        else:
            self._file(digest, "application/octet-stream")

    def _file(self, digest: str, media_type: str) -> None:
        try:
            stream = self.server.blob(digest).open("rb")
        except FileNotFoundError:
            self._error(HTTPStatus.NOT_FOUND, "BLOB_UNKNOWN", f"no blob {digest}")
            return
        with stream:
            size = stream.seek(0, 2)
            first, last = self._range(size)
            if first >= size > 0:
                self._error(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, "SIZE_INVALID", f"{digest} has {size} bytes")
                return
            partial = last - first + 1 < size
            self.send_response(HTTPStatus.PARTIAL_CONTENT if partial else HTTPStatus.OK)
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Length", str(last - first + 1))
            if partial:
                self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
            self.send_header("Content-Type", media_type)
            self.send_header("Docker-Content-Digest", digest)
            self.end_headers()
            if self.command != "HEAD":
                stream.seek(first)
                _copy(stream, self.wfile, last - first + 1)

    def _range(self, size: int) -> tuple[int, int]:
        """First and last byte of the request. A range that cannot be parsed is ignored (RFC 9110, 14.2)."""
        asked = _RANGE.fullmatch(self.headers.get("Range", ""))
        first, last = asked.groups() if asked else ("", "")
        if first and (not last or int(last) >= int(first)):
            return int(first), min(int(last or size), size - 1)
        if not first and last and int(last) > 0:
            return max(0, size - int(last)), size - 1
        return 0, size - 1

    def _error(self, status: HTTPStatus, code: str, message: str) -> None:
        self._answer(status, json.dumps({"errors": [{"code": code, "message": message}]}).encode())

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Distribution-API-Version", "registry/2.0")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name is http.server's
        sys.stdout.write(f"{self.log_date_time_string()} {format % args}\n")
        sys.stdout.flush()


def _copy(source: IO[bytes], target: io.BufferedIOBase, count: int) -> None:
    while count > 0 and (chunk := source.read(min(_CHUNK, count))):
        target.write(chunk)
        count -= len(chunk)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="Read-only registry over an OCI image layout, on loopback.")
    parser.add_argument("store", type=Path, metavar="STORE", help="directory with index.json and blobs/sha256")
    parser.add_argument("port", type=int, metavar="PORT")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        read_index(options.store / "index.json")
        registry = Registry(options.store, options.port)
    except (LookupError, OSError, OverflowError, TypeError, ValueError) as error:
        sys.stderr.write(f"cannot serve {options.store} on port {options.port}: {error}\n")
        return 2
    with registry, contextlib.suppress(KeyboardInterrupt):
        registry.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
