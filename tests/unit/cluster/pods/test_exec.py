"""How a command in a container ends, by what comes over the websocket; a real one is in tests/integration."""

from __future__ import annotations

import json
from typing import Any

import pytest
import websocket
from kubernetes.stream import ws_client

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.pods.exec import ExecResult, execute

COMMAND = ["sh", "-c", "id -u"]
CODE = {"reason": "NonZeroExitCode", "details": {"causes": [{"reason": "ExitCode", "message": "3"}]}}


class Stream:
    """What the library's client would be."""

    def __init__(self, status: str, *, opened: bool = False) -> None:
        self.sock = self
        self.status, self.opened = status, opened
        self.ended: list[str] = []

    def run_forever(self, timeout: float) -> None:
        assert timeout == 2

    def is_open(self) -> bool:
        return self.opened

    def read_channel(self, _channel: int) -> str:
        return self.status

    def read_all(self) -> str:
        return "999\n"

    def close(self) -> None:
        self.ended.append("closed")

    def shutdown(self) -> None:
        self.ended.append("shut down")


def run(api: Any, monkeypatch: pytest.MonkeyPatch, made: Stream | Exception) -> tuple[ExecResult, str]:
    asked: list[str] = []

    def client(_config: Any, url: str, *_: Any, **__: Any) -> Stream:
        asked.append(url)
        if isinstance(made, Exception):
            raise made
        return made

    monkeypatch.setattr(ws_client, "WSClient", client)
    return execute(api.connect(), "kubeflow", "db-0", "db", COMMAND, seconds=2), asked[0]


def failure(**more: Any) -> str:
    return json.dumps({"status": "Failure", **more})


@pytest.mark.parametrize(
    ("status", "ended"),
    [
        ('{"status": "Success"}', ExecResult(0, "999\n")),
        (failure(**CODE), ExecResult(3, "999\n")),
        (failure(message="no sh there"), ExecResult(None, "no sh there")),
    ],
)
def test_code_and_words_of_a_command(api: Any, monkeypatch: pytest.MonkeyPatch, status: str, ended: ExecResult) -> None:
    stream = Stream(status)
    found, url = run(api, monkeypatch, stream)
    assert found == ended
    assert url.startswith(api.url.replace("http", "ws") + "/api/v1/namespaces/kubeflow/pods/db-0/exec?container=db&")
    assert url.endswith("command=sh&command=-c&command=id+-u")
    assert stream.ended == ["closed", "shut down"]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Stream("", opened=True), "did not end within 2 s"),
        (Stream(""), "the connection closed before the command ended"),
        (websocket.WebSocketTimeoutException("timed out"), "no answer from .* \\(timed out\\)"),
        (OSError("refused"), "no answer from .* \\(refused\\)"),
        (websocket.WebSocketBadStatusException("%s %s", 403, "", {}, b'{"message": "you may not"}'), "you may not"),
    ],
)
def test_what_did_not_come_to_an_end(api: Any, monkeypatch: pytest.MonkeyPatch, made: Any, words: str) -> None:
    with pytest.raises(ApiError, match=words):
        run(api, monkeypatch, made)
