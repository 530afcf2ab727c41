"""An API server behind a path, as a manager of several clusters offers it, with credentials that a program gives."""

from __future__ import annotations

import base64
import contextlib
import json
import secrets
import shlex
import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

_CHUNK, _SECONDS = 65536, 60.0


@contextlib.contextmanager
def behind(kubeconfig: Path, path: str, directory: Path) -> Iterator[Path]:
    """A kubeconfig whose server is behind `path`, and whose program gives a token that is taken there only."""
    known = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    cluster, user = known["clusters"][0]["cluster"], known["users"][0]["user"]
    token = secrets.token_hex(16)
    with _Front(("127.0.0.1", 0), _Relay) as front:
        front.daemon_threads = True
        front.path, front.token = path, token
        front.upstream, front.context = urlsplit(cluster["server"]), _context(cluster, user, directory)
        threading.Thread(target=front.serve_forever, daemon=True).start()
        answer = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": token},
        }
        program = {
            "apiVersion": answer["apiVersion"],
            "command": "sh",
            "args": ["-c", f"echo {shlex.quote(json.dumps(answer))}"],
            "interactiveMode": "Never",
        }
        server = f"http://127.0.0.1:{front.server_address[1]}{path}"
        own = {
            **known,
            "clusters": [{**known["clusters"][0], "cluster": {"server": server}}],
            "users": [{**known["users"][0], "user": {"exec": program}}],
        }
        file = directory / "behind.kubeconfig"
        file.write_text(yaml.safe_dump(own), encoding="utf-8")
        file.chmod(0o600)
        try:
            yield file
        finally:
            front.shutdown()


def _context(cluster: Any, user: Any, directory: Path) -> ssl.SSLContext:
    """TLS to the API server as the administrator."""
    parts = {
        name: base64.b64decode(data) if (data := source.get(f"{name}-data")) else Path(source[name]).read_bytes()
        for source, name in (
            (cluster, "certificate-authority"),
            (user, "client-certificate"),
            (user, "client-key"),
        )
    }
    for name, data in parts.items():
        (directory / name).write_bytes(data)
        (directory / name).chmod(0o600)
    context = ssl.create_default_context(cafile=str(directory / "certificate-authority"))
    context.load_cert_chain(directory / "client-certificate", directory / "client-key")
    return context


class _Front(socketserver.ThreadingTCPServer):
    path, token = "", ""
    upstream: Any
    context: ssl.SSLContext


class _Relay(socketserver.StreamRequestHandler):
    """One request on each connection: its path and token are looked at, then bytes go to and fro."""

    server: _Front

    def handle(self) -> None:
        lines: list[str] = []
        while (line := self.rfile.readline().rstrip(b"\r\n")) or not lines:
            if not line:
                return
            lines.append(line.decode("latin-1"))
        method, path, version = lines[0].split(" ", 2)
        headers = [line.partition(":")[::2] for line in lines[1:]]
        sent = {name.lower(): value.strip() for name, value in headers}
        if not path.startswith(f"{self.server.path}/") or sent.get("authorization") != f"Bearer {self.server.token}":
            self.wfile.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        kept = [item for item in headers if item[0].lower() not in {"authorization", "connection", "host"}]
        upgrade = "Upgrade" if "upgrade" in sent else "close"
        host = self.server.upstream.netloc
        text = [f"{method} {path.removeprefix(self.server.path)} {version}", f"Host: {host}", f"Connection: {upgrade}"]
        head = "\r\n".join([*text, *(f"{name}:{value}" for name, value in kept)]) + "\r\n\r\n"
        where = (self.server.upstream.hostname, self.server.upstream.port or 443)
        with (
            socket.create_connection(where, _SECONDS) as plain,
            self.server.context.wrap_socket(plain, server_hostname=where[0]) as there,
        ):
            there.settimeout(None)
            there.sendall(head.encode("latin-1"))
            threading.Thread(target=self._up, args=(there,), daemon=True).start()
            with contextlib.suppress(OSError):
                while data := there.recv(_CHUNK):
                    self.wfile.write(data)

    def _up(self, there: ssl.SSLSocket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while data := self.rfile.read1(_CHUNK):
                there.sendall(data)
