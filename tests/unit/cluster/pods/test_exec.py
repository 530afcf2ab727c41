"""How a command in a container ends, by what comes over the websocket; a real one is in tests/integration."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.pods.exec import ExecResult, execute
from tests.unit.dribbling import frame

PATH = "/api/v1/namespaces/kubeflow/pods/db-0/exec"
COMMAND = ["sh", "-c", "id -u"]
CODE = {"reason": "NonZeroExitCode", "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}}


def run(api: Any, *, seconds: float = 2) -> ExecResult:
    return execute(api.connect(), "kubeflow", "db-0", "db", COMMAND, seconds=seconds)


def failure(**more: Any) -> str:
    return json.dumps({"status": "Failure", **more})


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ('{"status": "Success"}', ExecResult(0, "999\n")),
        (failure(**CODE), ExecResult(3, "999\n")),
        (failure(message="no sh there"), ExecResult(None, "no sh there")),
        (failure(message="", details={"causes": [{"reason": "ExitCode", "message": "x"}]}), ExecResult(None, "")),
    ],
)
def test_code_and_words_of_a_command(api: Any, status: str, ended: ExecResult) -> None:
    messages = [b"\x01", b"\x01" + b"9", b"\x02" + b"99\n", b"\x03" + status.encode()]
    api.on("GET", PATH, api.reply(frames=b"".join(map(frame, messages)) + frame(b"\x03\xe8", 8)))
    assert run(api) == ended
    (asked,) = api.seen("GET", PATH)
    assert (asked.query["container"], asked.query["command"]) == ("db", "id -u")
    assert asked.headers["authorization"] == "Bearer first"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"frames": b""}, "the connection closed before the command ended"),
        ({"frames": frame(b"\x03[]")}, "the connection closed before the command ended"),
        ({"frames": b"\xf2\x00"}, "no answer from .*"),
        ({"status": 403, "body": {"message": "you may not"}}, "you may not"),
        ({"status": 200, "body": "welcome"}, "serves no websockets"),
        ({"reset": True}, "no answer from .*"),
    ],
)
def test_what_did_not_come_to_an_end(api: Any, answer: dict[str, Any], words: str) -> None:
    api.on("GET", PATH, api.reply(**answer))
    with pytest.raises(ApiError, match=words):
        run(api)


def test_newer_credentials_are_tried(api: Any) -> None:
    ended = frame(b'\x03{"status": "Success"}')
    api.on("GET", PATH, api.status(401, "Unauthorized", "who are you"), api.reply(frames=ended))
    cluster = api.connect()
    api.write_kubeconfig("second")
    assert execute(cluster, "kubeflow", "db-0", "db", COMMAND, seconds=2).code == 0
