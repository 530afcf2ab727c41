"""A port of a pod, by the frames that come over the websocket; a real one is in tests/integration."""

from __future__ import annotations

from http.client import HTTPConnection
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.pods.port_forward import port_forward
from tests.unit.dribbling import frame

PATH = "/api/v1/namespaces/istio-system/pods/gw/portforward"
BEGIN = frame(b"\x00\x90\x1f") + frame(b"\x01\x90\x1f")
CLOSED = frame(b"\x03\xe8", 8)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def asked(api: Any) -> tuple[int, bytes]:
    connection = HTTPConnection("gateway")
    connection.sock = port_forward(api.connect(), "istio-system", "gw", 8080, seconds=2)
    connection.request("GET", "/", headers={"Connection": "close"})
    with connection.getresponse() as answer:
        return answer.status, answer.read()


def test_a_request_goes_to_the_pod_and_its_answer_comes_back_in_pieces(api: Any) -> None:
    pieces = [b"\x00" + ANSWER[start : start + 7] for start in range(0, len(ANSWER), 7)]
    api.on("GET", PATH, api.reply(frames=BEGIN + frame(b"", 9) + b"".join(map(frame, pieces)) + CLOSED, hold=1))
    assert asked(api) == (200, b"hello")
    assert api.seen("GET", PATH)[0].query == {"ports": "8080"}
    head, mask, payload = api.sent[:2], api.sent[2:6], api.sent[6:]
    assert head == bytes([0x82, 0x80 | len(payload)])
    plain = bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))
    assert plain.startswith(b"\x00GET / HTTP/1.1\r\nHost: gateway\r\n")


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        (BEGIN + frame(b"\x01dial tcp4 127.0.0.1:8080: connection refused"), "connection refused"),
        (BEGIN + CLOSED, "without response"),
        (BEGIN, "without response"),
        (BEGIN + b"\xf2\x00", "rsv"),
    ],
)
def test_a_port_that_does_not_answer_is_an_error_of_the_connection(api: Any, frames: bytes, words: str) -> None:
    api.on("GET", PATH, api.reply(frames=frames, hold=1))
    with pytest.raises(OSError, match=words):
        asked(api)


@pytest.mark.parametrize(
    ("answer", "words"),
    [({"status": 403, "body": {"message": "you may not"}}, "you may not"), ({"reset": True}, "no answer from .*")],
)
def test_an_api_server_that_does_not_lead_there_says_why(api: Any, answer: dict[str, Any], words: str) -> None:
    api.on("GET", PATH, api.reply(**answer))
    with pytest.raises(ApiError, match=words):
        asked(api)
