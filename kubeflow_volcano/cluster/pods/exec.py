"""Exec: commands in running containers, over a websocket."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from kubeflow_volcano.cluster.api.connection import Connection
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.pods.frames import Frames
from kubeflow_volcano.decode import decode
from kubeflow_volcano.foreign import read_json

_STATUS = 3
"""The channel of how the command ended (apimachinery, util/remotecommand); output and errors come on others."""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """Exit code and output of a command. If it could not start, `code` is None and `output` has the reason."""

    code: int | None
    output: str


@dataclass(frozen=True, slots=True)
class _Cause:
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Details:
    causes: tuple[_Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ending:
    status: str
    message: str = "no message"
    details: _Details = _Details()


def execute(
    cluster: Connection, namespace: str, pod: str, container: str, command: Sequence[str], *, seconds: float
) -> ExecResult:
    """Run a command without stdin in a container, and wait for its end.

    Raises:
        ApiError: exec is forbidden, the server does not answer, or the command takes longer than `seconds`.
    """
    words = [("container", container), ("stdout", "true"), ("stderr", "true"), *(("command", word) for word in command)]
    said: defaultdict[bool, bytes] = defaultdict(bytes)
    with Frames(cluster, f"/api/v1/namespaces/{namespace}/pods/{pod}/exec", words, seconds) as frames:
        try:
            while message := frames.receive():
                said[message[0] == _STATUS] += message[1:]
        except TimeoutError as error:
            raise ApiError(0, "NoEnd", f"the command did not end within {seconds:.0f} s") from error
        except OSError as error:
            raise ApiError(0, "NoAnswer", f"no answer from {cluster.credentials.endpoint} ({error})") from error
    return _result(said[True].decode("utf-8", "replace"), said[False].decode("utf-8", "replace"))


def _result(text: str, output: str) -> ExecResult:
    """Parse the status at the end of the stream (apimachinery, util/remotecommand: NonZeroExitCode)."""
    try:
        status = decode(_Ending, read_json(text))
    except ValueError as error:
        raise ApiError(0, "NoAnswer", "the connection closed before the command ended") from error
    if status.status == "Success":
        return ExecResult(0, output)
    code = next((item.message for item in status.details.causes if item.reason == "ExitCode"), "")
    return ExecResult(int(code), output) if code.isdecimal() else ExecResult(None, status.message)
