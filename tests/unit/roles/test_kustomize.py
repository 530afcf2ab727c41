"""The role kustomize, run by ansible-playbook against a local web server that stands for the release page."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = b"#!/bin/sh\necho v9.9.9\n"
ARCHITECTURES = ("amd64", "arm64")


class ReleasePage:
    """A web server over a directory; `asked` holds the paths of its requests."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.asked: list[str] = []
        page = self

        class Handler(SimpleHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                page.asked.append(self.path)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(directory)))
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def offer(self, *, packed: bool) -> dict[str, str]:
        """Publish PROGRAM for every architecture, and return the sums."""
        content = tarball(PROGRAM) if packed else PROGRAM
        for architecture in ARCHITECTURES:
            (self.directory / f"kustomize_{architecture}{'.tar.gz' if packed else ''}").write_bytes(content)
        return dict.fromkeys(ARCHITECTURES, hashlib.sha256(content).hexdigest())


def tarball(program: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        entry = tarfile.TarInfo("kustomize")
        entry.size, entry.mode = len(program), 0o755
        archive.addfile(entry, io.BytesIO(program))
    return buffer.getvalue()


@pytest.fixture
def page(tmp_path: Path) -> Iterator[ReleasePage]:
    directory = tmp_path / "page"
    directory.mkdir()
    page = ReleasePage(directory)
    thread = threading.Thread(target=page.server.serve_forever)
    thread.start()
    yield page
    page.server.shutdown()
    thread.join()
    page.server.server_close()


def play(tmp_path: Path, *options: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    """Run the role alone with these variables."""
    playbook = tmp_path / "play.yml"
    playbook.write_text("- hosts: localhost\n  gather_facts: false\n  roles: [kustomize]\n", "utf-8")
    program = Path(sys.executable).with_name("ansible-playbook")
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "NO_COLOR": "1"}
    return subprocess.run(
        [
            program,
            "-i",
            "localhost,",
            "-e",
            "ansible_connection=local",
            "-e",
            json.dumps(variables),
            *options,
            playbook,
        ],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def settings(page: ReleasePage, tmp_path: Path, *, packed: bool, sums: dict[str, str]) -> dict[str, Any]:
    return {
        "ansible_python_interpreter": sys.executable,
        "kustomize_cache_directory": str(tmp_path / "cache"),
        "kustomize_version": "9.9.9",
        "__kustomize_address": page.address,
        "__kustomize_releases": {"9.9.9": {"asset": "kustomize_", "packed": packed, "sums": sums}},
    }


@pytest.mark.parametrize("packed", [True, False], ids=["archive", "bare program"])
def test_it_is_downloaded_once_and_then_found_in_the_cache(page: ReleasePage, tmp_path: Path, *, packed: bool) -> None:
    variables = settings(page, tmp_path, packed=packed, sums=page.offer(packed=packed))

    first = play(tmp_path, **variables)
    second = play(tmp_path, **variables)

    program = tmp_path / "cache" / "9.9.9" / "kustomize"
    assert first.returncode == 0, first.stdout
    assert "changed=0" not in first.stdout
    assert program.read_bytes() == PROGRAM
    assert os.access(program, os.X_OK)
    assert (second.returncode, "changed=0" in second.stdout) == (0, True), second.stdout
    assert len(page.asked) == 1


def test_a_wrong_sum_leaves_no_program_behind_and_says_what_to_do(page: ReleasePage, tmp_path: Path) -> None:
    page.offer(packed=True)
    variables = settings(page, tmp_path, packed=True, sums=dict.fromkeys(ARCHITECTURES, "0" * 64))

    done = play(tmp_path, **variables)

    assert done.returncode == 2
    assert "Do: set kustomize_binary" in done.stdout
    assert not (tmp_path / "cache" / "9.9.9" / "kustomize").exists()


def test_a_version_without_a_known_sum_is_refused_before_any_download(page: ReleasePage, tmp_path: Path) -> None:
    variables = settings(page, tmp_path, packed=True, sums={})

    done = play(tmp_path, **variables)

    assert done.returncode == 2
    assert "whose sum is not known" in done.stdout
    assert page.asked == []


def test_a_given_binary_is_used_as_it_is_also_in_check_mode(page: ReleasePage, tmp_path: Path) -> None:
    mine = tmp_path / "my-kustomize"
    mine.write_bytes(PROGRAM)
    mine.chmod(0o755)
    variables = settings(page, tmp_path, packed=True, sums={}) | {"kustomize_binary": str(mine)}

    done = play(tmp_path, "--check", **variables)

    assert (done.returncode, "changed=0" in done.stdout) == (0, True), done.stdout
    assert page.asked == []
