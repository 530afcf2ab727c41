"""Messages of a websocket to a pod. They are read from an answer of the API server, and end when that must end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import urllib3
import websocket

from kubeflow_volcano.cluster.api.connection import Connection

_PROTOCOL = "v4.channel.k8s.io"
"""Each message begins with the number of its channel; served by every kubelet for exec and port-forward."""
_MOST_BYTES = 16 << 20


class Frames:
    """One exchange of messages; close it, or use it as a context."""

    def __init__(self, cluster: Connection, path: str, query: Sequence[tuple[str, str]], seconds: float) -> None:
        """Open it; everything, also what follows, ends within `seconds`.

        Raises:
            ApiError: the server refuses it, or does not answer.
        """
        self._websocket: Any = websocket.WebSocket(skip_utf8_validation=True)
        self._websocket.sock = _Wire(cluster.switched(path, query, _PROTOCOL, seconds))  # type: ignore[assignment]
        self._websocket.connected = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, message: bytes) -> None:
        """Send a message.

        Raises:
            OSError: the connection is closed, or the time is over.
        """
        try:
            self._websocket.send_binary(message)
        except websocket.WebSocketException as error:
            raise ConnectionError(str(error)) from error

    def receive(self) -> bytes:
        """The next message; empty after the last one.

        Raises:
            OSError: the time is over, or what came is no message.
        """
        try:
            opcode, message = self._websocket.recv_data()
        except websocket.WebSocketTimeoutException as error:
            raise TimeoutError("no answer in time") from error
        except websocket.WebSocketConnectionClosedException:
            return b""
        except websocket.WebSocketException as error:
            raise ConnectionError(str(error)) from error
        return b"" if opcode == websocket.ABNF.OPCODE_CLOSE else bytes(message)

    def close(self) -> None:
        """Close the connection."""
        self._websocket.shutdown()


class _Wire:
    """The part of the socket interface that the library's frames use."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer
        self._left = _MOST_BYTES

    def recv(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        try:
            data: bytes = self._answer.read1(size)
        except urllib3.exceptions.TimeoutError as error:
            raise TimeoutError(str(error)) from error
        except urllib3.exceptions.HTTPError as error:
            raise ConnectionError(str(error)) from error
        self._left -= len(data)
        if self._left < 0:
            raise ConnectionError(f"more than {_MOST_BYTES} bytes came")
        return data

    def send(self, data: bytes) -> int:
        """Send all of it in the time that the last read had."""
        self._answer.connection.sock.sendall(data)
        return len(data)

    def gettimeout(self) -> None:
        """None: the answer has its own."""

    def close(self) -> None:
        """Close the connection: no other request can use it."""
        self._answer.close()
