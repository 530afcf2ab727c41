"""The timeout of a connection is that of the whole answer, whoever reads it; only a body that comes may take longer."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
import urllib3

from kubeflow_volcano import exchange
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.api import connection, credentials, plugins
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.pods.exec import execute
from kubeflow_volcano.cluster.pods.port_forward import PortForward, port_forward
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.exchange import opener
from kubeflow_volcano.problems import InvalidInput, Unreachable
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.images.registry.client import Registry
from kubeflow_volcano.rollout.manifests import downloads
from kubeflow_volcano.validators.probes.network.browser import Browser, NoAnswerError, Request
from tests.serving import kubeconfig
from tests.unit.dribbling import DRIBBLES, FRAMES, dribbling

SECONDS, SLACK = 0.3, 5.0
SOME = ("headers", "size of a chunk", "body")


@contextlib.contextmanager
def soon(kind: str) -> Iterator[str]:
    """A server that dribbles; what asks it must end long before the server does, which takes 10 s."""
    with dribbling(*({**DRIBBLES, **FRAMES}[kind])) as address:
        started = time.monotonic()
        yield address
        assert time.monotonic() - started < SLACK


@pytest.mark.parametrize("kind", DRIBBLES)
def test_no_piece_of_an_answer_outlasts_its_timeout(kind: str) -> None:
    with soon(kind) as address, pytest.raises((OSError, HTTPException)):
        opener().open(address, timeout=SECONDS).read()


@pytest.mark.parametrize("kind", SOME)
def test_a_registry(kind: str) -> None:
    with soon(kind) as address:
        image = ImageName.parse(f"{address.removeprefix('http://')}/a/b:1")
        assert image
        answer = Registry(None, timeout_seconds=SECONDS).head(image)
    assert answer.status == (0 if kind == "headers" else 200)  # HEAD has no body


@pytest.mark.parametrize("kind", SOME)
def test_a_download(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "_READ_SECONDS", SECONDS)
    monkeypatch.setattr(downloads, "_TOTAL_SECONDS", SECONDS)
    with soon(kind) as address, pytest.raises(InvalidInput):
        downloads.fetch([f"{address}/a"], "0" * 64, tmp_path, silent)


@pytest.mark.parametrize("kind", SOME)
def test_an_api_server(kind: str, api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_READ_SECONDS", SECONDS)
    with soon(kind) as api.url:
        api.write_kubeconfig("token")
        cluster = Cluster(lambda: credentials.load(api.kubeconfig, None, ""), "", "")
        with pytest.raises(ApiError):
            cluster.request("GET", "/version", deadline=Deadline(0.1))


@pytest.mark.parametrize("kind", FRAMES)
def test_a_command_in_a_container(kind: str, api: Any) -> None:
    with soon(kind) as api.url:
        api.write_kubeconfig("token")
        cluster = Cluster(lambda: credentials.load(api.kubeconfig, None, ""), "", "")
        with pytest.raises(ApiError):
            execute(cluster, "a", "b", "c", ["id"], seconds=SECONDS)


@pytest.mark.parametrize("kind", FRAMES)
def test_a_page_through_a_port_forward(kind: str, api: Any) -> None:
    with soon(kind) as api.url:
        api.write_kubeconfig("token")
        cluster = Cluster(lambda: credentials.load(api.kubeconfig, None, ""), "", "")

        def connect(seconds: float) -> PortForward:
            return port_forward(cluster, "a", "b", 80, seconds=seconds)

        with pytest.raises((ApiError, NoAnswerError)):
            Browser("http://gateway/", Deadline(SECONDS), connect).open(Request("http://gateway/"))


def expired_token(address: str) -> dict[str, Any]:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 1, "a": ""}).encode()).decode().rstrip("=")
    config = {"idp-issuer-url": address, "id-token": f"a.{claims}.a", "client-id": "a", "client-secret": "b"}
    return {"auth-provider": {"name": "oidc", "config": config | {"refresh-token": "c"}}}


@pytest.mark.parametrize("kind", [*SOME, ""])
def test_a_token_that_is_renewed(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_SECONDS", SECONDS)
    file = tmp_path / "kubeconfig"
    with soon(kind) if kind else contextlib.nullcontext("http://127.0.0.1:9") as address:
        file.write_text(json.dumps(kubeconfig("https://127.0.0.1:9", expired_token(address))))
        with pytest.raises(Unreachable, match="did not renew") as caught:
            credentials.load(file, None, "")
    assert "what it says" in caught.value.problems[0].todo


@pytest.mark.parametrize("kind", SOME)
def test_a_sign_in(kind: str) -> None:
    with soon(kind) as address, pytest.raises(NoAnswerError):
        Browser(f"{address}/", Deadline(SECONDS)).open(Request(f"{address}/"))


def test_a_body_that_comes_takes_the_time_that_it_needs() -> None:
    begin = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    with dribbling(begin, bytes(1000), most=70) as address:
        assert len(opener().open(address, timeout=1).read()) == 70_000


def test_a_body_without_end_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_MOST_TIMEOUTS", 2)
    begin = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
    with dribbling(begin, bytes(1000)) as address, pytest.raises(TimeoutError):
        opener().open(address, timeout=SECONDS).read()


def test_redirects_share_the_timeout_and_their_pages_are_not_read() -> None:
    begin = b"HTTP/1.1 302 Found\r\nLocation: /again\r\n\r\n"
    started = time.monotonic()
    with dribbling(begin, b"a") as address, pytest.raises((OSError, HTTPException)):
        opener().open(address, timeout=SECONDS)
    assert time.monotonic() - started < SLACK


def test_a_connection_keeps_its_timeout_for_the_next_request(api: Any) -> None:
    pool = api.connect().credentials.pool
    for _ in range(2):
        assert pool.request("GET", f"{api.url}/version", timeout=urllib3.Timeout(read=7), retries=False).status == 200
    kept = pool.connection_from_url(api.url).pool
    assert [item.sock.gettimeout() for item in kept.queue if item] == [7]
