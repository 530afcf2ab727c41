"""A server that begins an answer, and then sends the rest of it a byte at a time, or another piece over and over."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from itertools import chain, repeat

__all__ = ["DRIBBLES", "dribbling"]

_HEAD = b"HTTP/1.1 200 OK\r\n"
_CHUNKED = _HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
DRIBBLES: dict[str, tuple[bytes, bytes]] = {
    "status line": (b"HTTP/1.1 200 ", b"O"),
    "headers": (_HEAD + b"X-Long: ", b"a"),
    "more headers": (_HEAD, b"X: y\r\n"),
    "1xx": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "size of a chunk": (_CHUNKED, b"0"),
    "small chunks": (_CHUNKED, b"1\r\na\r\n"),
    "trailers": (_CHUNKED + b"0\r\n", b"X: y\r\n"),
    "body": (_HEAD + b"Content-Length: 1000000\r\n\r\n", b"a"),
    "body without length": (_HEAD + b"Connection: close\r\n\r\n", b"a"),
    "body that stops": (_HEAD + b"Content-Length: 1000000\r\n\r\n" + bytes(500_000), b""),
    "nothing": (b"", b""),
}
"""What is sent at once, and what over and over."""


@contextlib.contextmanager
def dribbling(begin: bytes, piece: bytes, pause: float = 0.02, most: int = 500) -> Iterator[str]:
    """The address of the server; each of its answers ends after `most` pieces."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                connection.recv(1 << 16)
                for part in chain([begin], repeat(piece, most)):
                    connection.sendall(part)
                    if over.wait(pause):
                        return

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                if over.is_set():
                    connection.close()
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = server.getsockname()
        try:
            yield f"http://{address[0]}:{address[1]}"
        finally:
            over.set()
            socket.create_connection(address).close()
            thread.join()
