"""Official releases from a real HTTP server on loopback: what is not the pinned file is refused, and built instead."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.build import downloads
from kubeflow_volcano.rehearsal.build.downloads import RefusedError, download_programs, reachable_origins
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.recipes import Download, Generation
from kubeflow_volcano.rehearsal.build.toolchain import go_architecture
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from tests.serving import Handler, listen, serving

HELLO = 'package main\n\nvar word = "unset"\n\nfunc main() { print(word) }\n'
PROGRAM = b"#!/bin/sh\necho released\n"
Make = Callable[..., Generation]


def _archive() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("./deep/one")
        entry.size = len(PROGRAM)
        archive.addfile(entry, io.BytesIO(PROGRAM))
    return buffer.getvalue()


ARCHIVE = _archive()
BODIES = {"/one": PROGRAM, "/other": b"another release", "/html": b"<html>log in</html>", "/one.tgz": ARCHIVE}


class _Releases(Handler):
    def do_HEAD(self) -> None:
        self.send_error(405)

    def do_GET(self) -> None:
        body = BODIES.get(self.path, PROGRAM)
        kind = "text/html" if self.path == "/html" else "application/octet-stream"
        sent = body[:5] if self.path == "/truncated" else body
        self.answer(sent, 404 if self.path == "/gone" else 200, Content_Type=kind, Content_Length=str(len(body)))


@pytest.fixture
def server() -> Iterator[str]:
    with serving(_Releases) as port:
        yield f"http://127.0.0.1:{port}"


def _offer(url: str, content: bytes = PROGRAM, member: str = "") -> Download:
    return Download(url, {go_architecture(): hashlib.sha256(content).hexdigest()}, {"one": member})


def _ensure(generation: Generation, download: Download, cache: Path, told: list[str]) -> Tools:
    tool = dataclasses.replace(generation.tools[0], download=download)
    return ensure_tools(dataclasses.replace(generation, tools=(tool,)), cache, told.append)


@pytest.mark.parametrize(("path", "member"), [("/one", ""), ("/one.tgz", "deep/one")])
def test_the_pinned_file_is_used_instead_of_building(
    make_generation: Make, tmp_path: Path, server: str, path: str, member: str
) -> None:
    told: list[str] = []
    offer = _offer(f"{server}{path}", BODIES[path], member)
    tools = _ensure(make_generation(one=HELLO), offer, tmp_path / "cache", told)
    assert tools.programs["one-too"].read_bytes() == PROGRAM
    assert tools.programs["one"].stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in tools.programs["one"].parent.iterdir()) == ["one", "one-too"]
    assert any("downloaded" in line for line in told)


@pytest.mark.programs
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("other", "15 of 15 bytes of application/octet-stream with the sha256"),
        ("html", "bytes of text/html with the sha256"),
        ("truncated", f"5 of {len(PROGRAM)} bytes"),
        ("gone", "404"),
    ],
)
def test_another_file_is_refused_and_the_tool_built(
    make_generation: Make, tmp_path: Path, server: str, path: str, reason: str
) -> None:
    told: list[str] = []
    tools = _ensure(make_generation(one=HELLO), _offer(f"{server}/{path}"), tmp_path / "cache", told)
    assert tools.programs["one"].read_bytes().startswith(b"\x7fELF")
    refused = [line for line in told if "cannot be used, building instead" in line]
    assert len(refused) == 1
    assert reason in refused[0]
    assert not list((tmp_path / "cache").glob(".*"))


def test_an_archive_without_the_program_is_refused(tmp_path: Path, server: str) -> None:
    with pytest.raises(RefusedError, match="no file absent"):
        download_programs(
            _offer(f"{server}/one.tgz", ARCHIVE, "absent"), go_architecture(), tmp_path / "bin", lambda _line: None
        )


@pytest.mark.programs
def test_a_host_that_does_not_answer_is_asked_once_and_named(make_generation: Make, tmp_path: Path) -> None:
    told: list[str] = []
    tools = _ensure(make_generation(one=HELLO), _offer("http://127.0.0.1:9/one"), tmp_path / "cache", told)
    assert tools.programs["one"].read_bytes().startswith(b"\x7fELF")
    assert [line for line in told if line.startswith("http://127.0.0.1:9 ")]


def test_hosts_are_asked_at_the_same_time_and_a_silent_one_costs_no_more_than_the_limit(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "_PROBE_SECONDS", 2.0)
    with listen(_Releases) as silent:  # accepts, and never answers
        urls = [f"http://127.0.0.1:{silent.server_port}/x", f"{server}/one", f"{server}/other"]
        assert reachable_origins(urls) == {server}
