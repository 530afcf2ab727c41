"""A server that begins an answer, and then sends the rest of it a byte at a time, or another piece over and over."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from itertools import chain, repeat

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


def frame(payload: bytes, opcode: int = 2) -> bytes:
    """A frame of a server, the only one of its message (RFC 6455, 5.2)."""
    return bytes([0x80 | opcode, 126]) + len(payload).to_bytes(2, "big") + payload


SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
_FIRST = frame(b"\x00\x90\x1f") + frame(b"\x01\x90\x1f")
_LONG = b"\x82\x7f" + (1 << 40).to_bytes(8, "big")
FRAMES: dict[str, tuple[bytes, bytes]] = {
    **{kind: DRIBBLES[kind] for kind in ("status line", "headers", "more headers", "1xx", "nothing")},
    "not switched": DRIBBLES["body"],
    "no frame": (SWITCHED, b""),
    "header of a frame": (SWITCHED + _FIRST + b"\x82\x7f\x00", b""),
    "payload of a frame": (SWITCHED + _FIRST + _LONG, b"\x01"),
    "a frame without end": (SWITCHED + _FIRST + _LONG, bytes(1 << 20)),
    "small frames": (SWITCHED + _FIRST, frame(b"\x00a")),
    "pings": (SWITCHED + _FIRST, frame(b"", 9)),
    "pieces of a message": (SWITCHED + _FIRST + b"\x02\x02\x00a", b"\x00\x01a"),
}
"""The same, for websockets."""


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
