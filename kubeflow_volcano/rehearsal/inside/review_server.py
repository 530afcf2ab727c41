"""HTTPS server that answers the reviews of the API server."""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any

_LONGEST_REQUEST = 8 << 20
_HANDSHAKE_SECONDS = 5.0

Review = dict[str, Any]


class ReviewServer(ThreadingHTTPServer):
    """Answers each POST with the result of `answer` for its JSON body; 400 when `answer` raises.

    Each handshake runs in the connection's own thread, so that a silent client blocks no other connection.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], context: ssl.SSLContext, answer: Callable[[Review], Review]) -> None:
        super().__init__(address, _Handler)
        self._context = context
        self.answer = answer

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection; called in its thread."""
        connection: socket = request
        connection.settimeout(_HANDSHAKE_SECONDS)
        with self._context.wrap_socket(connection, server_side=True) as secure:
            secure.settimeout(None)
            super().finish_request(secure, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002  the base class's signature
        """Log the error in one line."""
        sys.stdout.write(f"{client_address[0]}: {sys.exc_info()[1]!r}\n")
        sys.stdout.flush()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ReviewServer

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        if not 0 < length <= _LONGEST_REQUEST:
            self.send_error(HTTPStatus.BAD_REQUEST, "a review is required")
            return
        body = self.rfile.read(length)
        try:
            answer = json.dumps(self.server.answer(json.loads(body))).encode()
        except (ValueError, LookupError, TypeError) as error:
            self.send_error(HTTPStatus.BAD_REQUEST, "not a review that can be answered", repr(error))
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Log no answers."""
