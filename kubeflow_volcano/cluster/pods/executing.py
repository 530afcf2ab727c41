"""Commands in running containers, over the websocket of the client library."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import websocket
from kubernetes.stream import ws_client

from kubeflow_volcano.cluster.api.connection import Connection
from kubeflow_volcano.cluster.api.errors import ApiError, from_response

__all__ = ["Ended", "execute"]

_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: exit code and what it wrote. `code` is None when it could not be started: `said` has why."""

    code: int | None
    said: str


def execute(
    cluster: Connection, namespace: str, pod: str, container: str, command: Sequence[str], *, seconds: float
) -> Ended:
    """Run a command without input in a container and wait for its end, at most `seconds`.

    Raises:
        ApiError: it is not allowed, nobody answers, or the command takes longer.
    """
    words = [("container", container), ("stdout", "true"), ("stderr", "true"), *(("command", word) for word in command)]
    credentials = cluster.credentials
    path = f"{credentials.server}/api/v1/namespaces/{namespace}/pods/{pod}/exec"
    websocket.setdefaulttimeout(_CONNECT_SECONDS)  # the library gives no other way to bound connecting
    try:
        url = ws_client.get_websocket_url(path, words)
        client = ws_client.WSClient(credentials.config, url, credentials.headers(), capture_all=True)
        try:
            client.run_forever(timeout=seconds)
            if client.is_open():
                raise ApiError(0, "NoEnd", f"the command did not end within {seconds:.0f} s")
            status, said = client.read_channel(ws_client.ERROR_CHANNEL), client.read_all()
        finally:
            client.close()
            client.sock.shutdown()  # closing leaves a socket open whose other end was first
    except websocket.WebSocketBadStatusException as error:
        body = error.resp_body or b""
        raise from_response(error.status_code, error.resp_headers or {}, body) from error
    except (websocket.WebSocketException, OSError) as error:
        raise ApiError(0, "NoAnswer", f"no answer from {credentials.way} ({error})") from error
    return _ended(status, said)


def _ended(text: str, said: str) -> Ended:
    """What the status at the end of the stream says (apimachinery, util/remotecommand: NonZeroExitCode)."""
    try:
        status: Any = json.loads(text)
    except ValueError as error:
        raise ApiError(0, "NoAnswer", "the connection ended before the command did") from error
    if status.get("status") == "Success":
        return Ended(0, said)
    causes = (status.get("details") or {}).get("causes") or ()
    code = next((item["message"] for item in causes if item.get("reason") == "ExitCode"), None)
    return Ended(int(code), said) if code is not None else Ended(None, str(status.get("message", "no message")))
