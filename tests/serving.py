"""HTTP servers on loopback for the time of a block, and the kubeconfig that leads to one."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Writes no line for each request, and sends headers and body at once: together they wait 40 ms for each other."""

    disable_nagle_algorithm = True

    def log_message(self, *_: object) -> None:
        """Say nothing: tests say what failed."""

    def answer(self, body: Any = b"", status: int = 200, **headers: str) -> None:
        """Send bytes as they are, anything else as JSON; `headers` as keywords, with _ for -."""
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        for name, value in {"Content-Length": str(len(text)), **named}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


class Server(ThreadingHTTPServer):
    """Bears clients that hang up."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client that goes away is part of the test."""

    def shutdown_request(self, request: Any) -> None:
        """Close what the handler has not closed already."""
        if request.fileno() != -1:
            super().shutdown_request(request)


def listen(
    handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> Server:
    """A server on a free port, with TLS where there is a context; a client that never shakes hands blocks nobody."""
    server = Server((host, 0), handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server


@contextmanager
def serving(server: HTTPServer | type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Let a server, or one of this handler, answer from a thread; its port."""
    running = listen(server) if isinstance(server, type) else server
    with running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield running.server_port
        finally:
            running.shutdown()
            thread.join()


def kubeconfig(server: str, user: Any) -> dict[str, Any]:
    """A kubeconfig with one server and one user."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
