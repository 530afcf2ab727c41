"""Exec: commands in running containers, over the websocket of the client library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import websocket
from kubernetes.stream import ws_client

from kubeflow_volcano.cluster.api.connection import Connection
from kubeflow_volcano.cluster.api.errors import ApiError, from_response
from kubeflow_volcano.foreign import read_json

__all__ = ["ExecResult", "execute"]

_CONNECT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ExecResult:
    """Exit code and output of a command. If it could not start, `code` is None and `output` has the reason."""

    code: int | None
    output: str


def execute(
    cluster: Connection, namespace: str, pod: str, container: str, command: Sequence[str], *, seconds: float
) -> ExecResult:
    """Run a command without stdin in a container, and wait for its end.

    Raises:
        ApiError: exec is forbidden, the server does not answer, or the command takes longer than `seconds`.
    """
    words = [("container", container), ("stdout", "true"), ("stderr", "true"), *(("command", word) for word in command)]
    credentials = cluster.credentials
    path = f"{credentials.server}/api/v1/namespaces/{namespace}/pods/{pod}/exec"
    websocket.setdefaulttimeout(_CONNECT_SECONDS)  # the library has no other timeout for connecting
    try:
        url = ws_client.get_websocket_url(path, words)
        client = ws_client.WSClient(credentials.config, url, credentials.headers(), capture_all=True)
        try:
            client.run_forever(timeout=seconds)
            if client.is_open():
                raise ApiError(0, "NoEnd", f"the command did not end within {seconds:.0f} s")
            status, output = client.read_channel(ws_client.ERROR_CHANNEL), client.read_all()
        finally:
            client.close()
            client.sock.shutdown()  # close() leaves the socket open if the server closed first
    except websocket.WebSocketBadStatusException as error:
        body = error.resp_body or b""
        raise from_response(error.status_code, error.resp_headers or {}, body) from error
    except (websocket.WebSocketException, OSError) as error:
        raise ApiError(0, "NoAnswer", f"no answer from {credentials.endpoint} ({error})") from error
    return _result(status, output)


def _result(text: str, output: str) -> ExecResult:
    """Parse the status at the end of the stream (apimachinery, util/remotecommand: NonZeroExitCode)."""
    try:
        status: Any = read_json(text)
    except ValueError as error:
        raise ApiError(0, "NoAnswer", "the connection closed before the command ended") from error
    if status.get("status") == "Success":
        return ExecResult(0, output)
    causes = (status.get("details") or {}).get("causes") or ()
    code = next((item["message"] for item in causes if item.get("reason") == "ExitCode"), None)
    if code is not None:
        return ExecResult(int(code), output)
    return ExecResult(None, str(status.get("message", "no message")))
