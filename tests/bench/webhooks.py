"""Answers for the webhooks of backends that are simulated: a program that the API server dials instead of them.

python -m tests.bench.webhooks SOCKET CERTIFICATE KEY

The API server's egress selector sends every connection to a Service through the UNIX socket, as HTTP CONNECT; what
comes through it is answered as the rehearsal cluster answers: admitted, and nothing validated or injected.
"""

from __future__ import annotations

import json
import socketserver
import ssl
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from kubeflow_volcano.rehearsal.inside.webhook_backends import answer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    context: ssl.SSLContext

    def do_CONNECT(self) -> None:
        """Accept whatever Service is asked for, and speak TLS as if this were it."""
        self.send_response(HTTPStatus.OK)
        self.end_headers()
        self.rfile.close()
        self.request = self.context.wrap_socket(self.request, server_side=True)
        self.setup()
        self.close_connection = False

    def do_POST(self) -> None:
        """Answer one review."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(answer(review)).encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        """UNIX sockets have no peer address."""
        return "api-server"


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def main(socket: str, certificate: str, key: str) -> None:
    """Serve until the process is ended."""
    _Handler.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _Handler.context.load_cert_chain(certificate, key)
    Path(socket).unlink(missing_ok=True)
    with _Server(socket, _Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
