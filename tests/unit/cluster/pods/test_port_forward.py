"""A port of a pod, by the frames that come over the websocket; a real one is in tests/integration."""

from __future__ import annotations

from http.client import HTTPConnection
from typing import Any

import pytest
import websocket
from kubernetes.stream import ws_client

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.pods.port_forward import port_forward

BEGIN = [b"\x00\x90\x1f", b"\x01\x90\x1f"]
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Socket:
    """What the library's websocket would be; after the last frame it is closed, or raises."""

    def __init__(self, *frames: bytes, end: Exception | None = None) -> None:
        self.frames, self.end = list(frames), end
        self.sent = b""
        self.shut = False

    def send_binary(self, data: bytes) -> None:
        assert data[:1] == b"\x00"
        self.sent += data[1:]

    def recv_data(self) -> tuple[int, bytes]:
        if self.frames:
            return websocket.ABNF.OPCODE_BINARY, self.frames.pop(0)
        if self.end:
            raise self.end
        return websocket.ABNF.OPCODE_CLOSE, b""

    def shutdown(self) -> None:
        self.shut = True


def asked(api: Any, monkeypatch: pytest.MonkeyPatch, made: Socket | Exception) -> tuple[int, bytes]:
    def create(_config: Any, url: str, _headers: Any) -> Socket:
        assert url == api.url.replace("http", "ws") + "/api/v1/namespaces/istio-system/pods/gw/portforward?ports=8080"
        if isinstance(made, Exception):
            raise made
        return made

    monkeypatch.setattr(ws_client, "create_websocket", create)
    connection = HTTPConnection("gateway")
    connection.sock = port_forward(api.connect(), "istio-system", "gw", 8080, seconds=2)
    connection.request("GET", "/", headers={"Connection": "close"})
    with connection.getresponse() as answer:
        return answer.status, answer.read()


def test_a_request_goes_to_the_pod_and_its_answer_comes_back_in_pieces(
    api: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = [b"\x00" + ANSWER[start : start + 7] for start in range(0, len(ANSWER), 7)]
    made = Socket(*BEGIN, *pieces)
    assert asked(api, monkeypatch, made) == (200, b"hello")
    assert made.sent.startswith(b"GET / HTTP/1.1\r\nHost: gateway\r\n")
    assert made.shut


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Socket(*BEGIN, b"\x01dial tcp4 127.0.0.1:8080: connection refused"), "connection refused"),
        (Socket(*BEGIN), "without response"),
        (Socket(*BEGIN, end=websocket.WebSocketTimeoutException("t")), "no answer in time"),
        (Socket(*BEGIN, end=websocket.WebSocketProtocolException("strange frame")), "strange frame"),
    ],
)
def test_a_port_that_does_not_answer_is_an_error_of_the_connection(
    api: Any, monkeypatch: pytest.MonkeyPatch, made: Socket, words: str
) -> None:
    with pytest.raises(OSError, match=words):
        asked(api, monkeypatch, made)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (websocket.WebSocketTimeoutException("timed out"), "no answer from .* \\(timed out\\)"),
        (OSError("refused"), "no answer from .* \\(refused\\)"),
        (websocket.WebSocketBadStatusException("%s %s", 403, "", {}, b'{"message": "you may not"}'), "you may not"),
    ],
)
def test_an_api_server_that_does_not_lead_there_says_why(
    api: Any, monkeypatch: pytest.MonkeyPatch, made: Exception, words: str
) -> None:
    with pytest.raises(ApiError, match=words):
        asked(api, monkeypatch, made)
