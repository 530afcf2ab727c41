"""Port-forward: a connection to a port of a pod, over the websocket of the client library."""

from __future__ import annotations

import io
from typing import Any

import websocket
from kubernetes.stream import ws_client

from kubeflow_volcano.cluster.api.connection import Connection
from kubeflow_volcano.cluster.api.errors import ApiError, from_response

__all__ = ["PortForward", "port_forward"]

_DATA, _ERROR = b"\x00", b"\x01"
"""Channels of the first port (kubelet, port-forward over websockets); the first frame of each repeats the port."""


def port_forward(cluster: Connection, namespace: str, pod: str, port: int, *, seconds: float) -> PortForward:
    """Connect to a port of a pod. `seconds` is the timeout of connecting and of every read.

    Raises:
        ApiError: port-forward is forbidden, the pod does not exist, or the server does not answer.
    """
    credentials = cluster.credentials
    path = f"{credentials.server}/api/v1/namespaces/{namespace}/pods/{pod}/portforward"
    websocket.setdefaulttimeout(seconds)  # the library has no other timeout for connecting
    try:
        url = ws_client.get_websocket_url(path, [("ports", str(port))])
        opened = ws_client.create_websocket(credentials.config, url, credentials.headers())
    except websocket.WebSocketBadStatusException as error:
        body = error.resp_body or b""
        raise from_response(error.status_code, error.resp_headers or {}, body) from error
    except (websocket.WebSocketException, OSError) as error:
        raise ApiError(0, "NoAnswer", f"no answer from {credentials.endpoint} ({error})") from error
    return PortForward(opened)


class PortForward:
    """The part of the socket interface that an HTTP client uses."""

    def __init__(self, opened: Any) -> None:
        self._websocket = opened

    def sendall(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            OSError: the connection is closed.
        """
        try:
            self._websocket.send_binary(_DATA + data)
        except websocket.WebSocketException as error:
            raise ConnectionError(str(error)) from error

    def gettimeout(self) -> float | None:
        """Seconds that a read may take."""
        seconds: float | None = self._websocket.gettimeout()
        return seconds

    def settimeout(self, seconds: float | None) -> None:
        """Set the seconds that a read may take."""
        self._websocket.settimeout(seconds)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """A reader of the data from the pod; closing it closes the connection."""
        return io.BufferedReader(_Incoming(self._websocket))

    def close(self) -> None:
        """Do nothing: the client calls this before it has read the answer."""

    def shutdown(self) -> None:
        """Close the connection."""
        self._websocket.shutdown()


class _Incoming(io.RawIOBase):
    """The bytes of the data channel."""

    def __init__(self, opened: Any) -> None:
        self._websocket = opened
        self._rest = b""
        self._begun: set[bytes] = set()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the available bytes, at most its size; returns their number.

        Raises:
            OSError: the read timed out, or no process listens on that port of the pod.
        """
        while not self._rest:
            frame = self._frame()
            if not frame:
                return 0
            channel, data = frame[:1], frame[1:]
            if channel not in self._begun:
                self._begun.add(channel)
            elif channel == _ERROR:
                raise ConnectionError(data.decode("utf-8", "replace"))
            else:
                self._rest = data
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self._rest))
        view[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def _frame(self) -> bytes:
        try:
            opcode, data = self._websocket.recv_data()
        except websocket.WebSocketTimeoutException as error:
            raise TimeoutError("no answer in time") from error
        except websocket.WebSocketConnectionClosedException:
            return b""
        except websocket.WebSocketException as error:
            raise ConnectionError(str(error)) from error
        return b"" if opcode == websocket.ABNF.OPCODE_CLOSE else bytes(data)

    def close(self) -> None:
        if not self.closed:
            self._websocket.shutdown()
        super().close()
