"""Port-forward: a connection to a port of a pod, over a websocket."""

from __future__ import annotations

import io
from typing import Any

from kubeflow_volcano.cluster.api.connection import Connection
from kubeflow_volcano.cluster.pods.frames import Frames

_DATA, _ERROR = b"\x00", b"\x01"
"""Channels of the first port (kubelet, port-forward over websockets); the first frame of each repeats the port."""


def port_forward(cluster: Connection, namespace: str, pod: str, port: int, *, seconds: float) -> PortForward:
    """Connect to a port of a pod. All that is read and written through it ends within `seconds`.

    Raises:
        ApiError: port-forward is forbidden, the pod does not exist, or the server does not answer.
    """
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/portforward"
    return PortForward(Frames(cluster, path, [("ports", str(port))], seconds))


class PortForward:
    """The part of the socket interface that an HTTP client uses."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames

    def sendall(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            OSError: the connection is closed.
        """
        self._frames.send(_DATA + data)

    def gettimeout(self) -> None:
        """None: the exchange has its own."""

    def settimeout(self, _seconds: float | None) -> None:
        """Do nothing, as above."""

    def makefile(self, _mode: str) -> io.BufferedReader:
        """A reader of the data from the pod; closing it closes the connection."""
        return io.BufferedReader(_Incoming(self._frames))

    def close(self) -> None:
        """Do nothing: the client calls this before it has read the answer."""

    def shutdown(self) -> None:
        """Close the connection."""
        self._frames.close()


class _Incoming(io.RawIOBase):
    """The bytes of the data channel."""

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._rest = b""
        self._begun: set[bytes] = set()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer with the available bytes, at most its size; returns their number.

        Raises:
            OSError: the time is over, or no process listens on that port of the pod.
        """
        while not self._rest:
            message = self._frames.receive()
            if not message:
                return 0
            channel, data = message[:1], message[1:]
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

    def close(self) -> None:
        if not self.closed:
            self._frames.close()
        super().close()
