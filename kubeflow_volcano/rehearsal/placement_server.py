"""The admission webhook that places pods: `placement_server SETTINGS PORT PKI`, inside the node.

SETTINGS is a JSON file: `index` (path of the image store's index.json, an OCI image layout) and `simulated_images`.
PKI is the directory with `placement.crt` and `placement.key`. Imports nothing but the standard library, `placement` and
`registry`.
"""

from __future__ import annotations

import base64
import json
import ssl
import sys
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import Any

from kubeflow_volcano.rehearsal.placement import placement_patch, simulation_reason
from kubeflow_volcano.rehearsal.registry import read_index

__all__ = ["ImageIndex", "PlacementServer", "review"]

_LONGEST_REQUEST = 8 << 20
_HANDSHAKE_SECONDS = 5.0


@dataclass(slots=True)
class ImageIndex:
    """Names in the image store, read again when its index file is another one than last time."""

    path: Path
    _stamp: tuple[int, int, int] = (0, 0, 0)
    _names: frozenset[str] = frozenset()

    def names(self) -> frozenset[str]:
        """Full names (registry, repository, tag or digest) of all images that can be pulled."""
        try:
            stat = self.path.stat()
            stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
            if stamp != self._stamp:
                self._names, self._stamp = _names(read_index(self.path)), stamp
        except FileNotFoundError:
            return frozenset()
        return self._names


def _names(digests: dict[str, str]) -> frozenset[str]:
    return frozenset(digests) | {f"{name.rpartition(':')[0]}:{digest}" for name, digest in digests.items()}


def review(request: dict[str, Any], local: frozenset[str], simulated: tuple[str, ...]) -> dict[str, Any]:
    """The answer to an AdmissionReview (admission.k8s.io/v1); never refuses."""
    pod = request["request"]["object"]
    response: dict[str, Any] = {"uid": request["request"]["uid"], "allowed": True}
    reason = simulation_reason(pod, local, simulated)
    if reason:
        patch = json.dumps(placement_patch(pod, reason)).encode()
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(patch).decode()}
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


class PlacementServer(ThreadingHTTPServer):
    """HTTPS server whose handshakes happen in the connection's own thread, so that a silent client blocks nobody."""

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], context: ssl.SSLContext, index: ImageIndex, simulated: tuple[str, ...]
    ) -> None:
        super().__init__(address, _Handler)
        self._context = context
        self.index = index
        self.simulated = simulated

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Take up one connection; called in its thread."""
        connection: socket = request
        connection.settimeout(_HANDSHAKE_SECONDS)
        with self._context.wrap_socket(connection, server_side=True) as secure:
            secure.settimeout(None)
            super().finish_request(secure, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  the base class's signature
        """Say what went wrong in one line."""
        sys.stdout.write(f"{client_address[0]}: {sys.exc_info()[1]!r}\n")
        sys.stdout.flush()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PlacementServer

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        if not 0 < length <= _LONGEST_REQUEST:
            self.send_error(HTTPStatus.BAD_REQUEST, "an AdmissionReview is needed")
            return
        answer = json.dumps(
            review(json.loads(self.rfile.read(length)), self.server.index.names(), self.server.simulated)
        ).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Answers are not worth a line each."""


def main(settings_file: str, port: str, pki: str) -> None:
    """Serve for ever on the loopback."""
    settings = json.loads(Path(settings_file).read_text())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{pki}/placement.crt", f"{pki}/placement.key")
    index = ImageIndex(Path(settings["index"]))
    PlacementServer(("127.0.0.1", int(port)), context, index, tuple(settings["simulated_images"])).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
