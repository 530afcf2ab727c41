"""Cases 22 to 24: files that do not come, come wrong or find no room, from real servers on a real file system."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import http.server
import io
import socket
import ssl
import tarfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput, ProblemsError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests import downloads
from kubeflow_volcano.rollout.manifests.downloads import fetch
from kubeflow_volcano.rollout.manifests.trees import Trees
from tests.faults.kit import assert_told, full_disk
from tests.samples.certificates import pem, signer
from tests.serving import Handler, listen, serving

TEXT = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n" * 400
SUM = hashlib.sha256(TEXT).hexdigest()
Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


def whole(asked: http.server.BaseHTTPRequestHandler, body: bytes = TEXT, code: int = 200, length: int = 0) -> None:
    asked.send_response(code)
    asked.send_header("Content-Length", str(length or len(body)))
    asked.end_headers()
    asked.wfile.write(body)


def drops(asked: http.server.BaseHTTPRequestHandler) -> None:
    """A kilobyte a second."""
    asked.send_response(200)
    asked.send_header("Content-Length", str(len(TEXT)))
    asked.end_headers()
    with contextlib.suppress(OSError):  # the client has had enough
        for number in range(0, len(TEXT), 100):
            asked.wfile.write(TEXT[number : number + 100])
            asked.wfile.flush()
            time.sleep(0.1)


@contextlib.contextmanager
def served(answer: Answer, certificate: Path | None = None) -> Iterator[str]:
    """The address of a file on a server of its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
    if context and certificate:
        context.load_cert_chain(certificate)

    class Own(Handler):
        def do_GET(self) -> None:
            answer(self)

    with serving(listen(Own, context)) as port:
        yield f"{'https' if certificate else 'http'}://127.0.0.1:{port}/m.yaml"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Of an authority that no system knows."""
    made = signer("127.0.0.1", now=dt.datetime.now(dt.UTC))
    place = tmp_path / "server.pem"
    place.write_bytes(made.private + pem(made.certificate))
    return place


def kept(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.rglob("*") if path.is_file())


@pytest.mark.fault(22)
def test_a_cache_without_room_is_named_and_takes_the_file_once_there_is_room(tmp_path: Path) -> None:
    with served(whole) as address, full_disk(tmp_path / "full") as cache:
        filler = cache / "filler"
        filler.write_bytes(b"x" * 8192)
        with pytest.raises(ProblemsError) as caught:
            fetch([address, address], SUM, cache, silent)
        assert_told(caught.value.problems, "no space left on device", str(cache), "free space")
        assert not isinstance(caught.value, InvalidInput)  # no mirror has more room
        assert kept(cache) == ["filler"]
    (tmp_path / "full").rmdir()
    with served(whole) as address, full_disk(tmp_path / "full", "1m") as cache:
        assert fetch([address], SUM, cache, silent).read_bytes() == TEXT


@pytest.mark.fault(23)
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (partial(whole, body=TEXT[:5000], length=len(TEXT)), "truncated, 5000 of"),
        (partial(whole, body=TEXT[:5000]), hashlib.sha256(TEXT[:5000]).hexdigest()),
        (partial(whole, body=TEXT + b"#"), hashlib.sha256(TEXT + b"#").hexdigest()),
        (partial(whole, body=b"<!doctype html><title>Sign in</title>"), "HTML page"),
    ],
    ids=["cut", "shorter", "altered", "page"],
)
def test_what_comes_wrong_is_refused_the_next_mirror_asked_and_nothing_wrong_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, words: str
) -> None:
    monkeypatch.setattr("kubeflow_volcano.retries._FIRST_PAUSE_SECONDS", 0.01)
    with served(answer) as bad, served(whole) as good:
        with pytest.raises(InvalidInput) as caught:
            fetch([bad], SUM, tmp_path, silent)
        assert_told(caught.value.problems, bad, words)
        assert kept(tmp_path) == []
        assert fetch([bad, good], SUM, tmp_path, silent).read_bytes() == TEXT
    assert kept(tmp_path) == ["m.yaml"]


@pytest.mark.fault(23)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.99])
def test_an_archive_that_ends_early_is_refused_and_leaves_no_tree(tmp_path: Path, share: float) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for number in range(50):
            entry = tarfile.TarInfo(f"manifests/{number}.yaml")
            entry.size = len(TEXT)
            tar.addfile(entry, io.BytesIO(TEXT))
    cut = tmp_path / "release.tar.gz"
    cut.write_bytes(buffer.getvalue()[: int(len(buffer.getvalue()) * share)])
    trees = tmp_path / "trees"
    with pytest.raises(InvalidInput) as caught:
        Trees(trees).unpacked(cut)
    assert_told(caught.value.problems, "release.tar.gz")
    assert kept(trees) == []


def resolved(resolve: Callable[..., Any], host: str, *more: Any, **options: Any) -> Any:
    """As a name server that knows no such name answers; the one of this machine may not answer at all."""
    if host == "mirror.invalid":
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return resolve(host, *more, **options)


@pytest.mark.fault(24)
def test_each_mirror_is_tried_in_order_and_each_reason_is_told_in_bounded_time(
    tmp_path: Path, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "_TOTAL_SECONDS", 3.0)
    monkeypatch.setattr("kubeflow_volcano.retries._FIRST_PAUSE_SECONDS", 0.05)
    cache = tmp_path / "cache"
    with (
        served(partial(whole, code=403)) as forbidden,
        served(whole, certificate) as unknown,
        served(drops) as slow,
        served(whole) as good,
    ):
        monkeypatch.setattr(socket, "getaddrinfo", partial(resolved, socket.getaddrinfo))
        bad = [forbidden, unknown, slow, "http://127.0.0.1:9/m.yaml", "http://mirror.invalid/m.yaml"]
        started = time.monotonic()
        with pytest.raises(InvalidInput) as caught:
            fetch(bad, SUM, cache, silent)
        assert time.monotonic() - started < 15
        reasons = ["403", "certificate verify failed", "bytes arrived in 3 s", "refused", "not known"]
        assert len(caught.value.problems) == len(bad)
        for problem, address, reason in zip(caught.value.problems, bad, reasons, strict=True):
            assert_told([problem], address, reason)
        assert kept(cache) == []
        lines: list[str] = []
        assert fetch([*bad, good], SUM, cache, lines.append).read_bytes() == TEXT
    assert sum("the next mirror" in line for line in lines) == len(bad)
