"""The modules that run on nodes: files are changed whole, taken back whole, and containerd's own words are told."""

from __future__ import annotations

import base64
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import (
    containerd,
    containerd_files,
    containerd_service,
    host_files,
    programs,
)

BROKEN = """Type:             io.containerd.cri.v1
ID:               images
Requires:        \x20
                  io.containerd.lease.v1
Error:           \x20
                  Code:        Unknown
                  Message:     invalid cri image config: `mirrors` cannot be set when `config_path` is provided
                                 \x20
Type:             io.containerd.snapshotter.v1
ID:               zfs
Error:           \x20
                  Code:        Unknown
                  Message:     skip plugin
                                 \x20
Type:             io.containerd.grpc.v1
ID:               cri
Error:           \x20
                  Code:        Unknown
                  Message:     unable to load
"""


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(containerd_files, "JOURNAL", tmp_path / "var/containerd.json")
    return containerd_files


def entries(*files: tuple[Path, str | None, bool]) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Files with their contents (None: removed), and whether somebody else wrote them, as the module gets them."""
    contents = {str(path): base64.b64encode(text.encode()).decode() for path, text, _ in files if text is not None}
    return [{"path": str(path), "foreign": foreign} for path, _, foreign in files], contents


def tree(top: Path) -> dict[str, str]:
    return {str(path.relative_to(top)): path.read_text() if path.is_file() else "" for path in sorted(top.rglob("*"))}


def test_what_was_written_is_taken_back_whole(change: Any, tmp_path: Path) -> None:
    top = tmp_path / "etc"
    top.mkdir()
    (top / "config.toml").write_text("old")
    (top / "own.toml").write_text("own")
    before = tree(top)
    files = entries(
        (top / "config.toml", "new", True),
        (top / "own.toml", None, False),
        (top / "certs.d/gcr.io/hosts.toml", "hosts", False),
    )
    (copy,) = change.write(*files)
    assert (top / "config.toml").read_text() == "new"
    assert not (top / "own.toml").exists()
    assert Path(copy).read_text() == "old"
    change.restore()
    change.finish()
    after = tree(top)
    assert after.pop(Path(copy).name) == "old"
    assert after == before


def test_a_finished_change_leaves_copies_of_others_files_only(change: Any, tmp_path: Path) -> None:
    top = tmp_path / "etc"
    for name in ("config.toml", "a/hosts.toml", "b/hosts.toml"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("old")
    (copy,) = change.write(
        *entries(
            (top / "config.toml", "new", True),
            (top / "a/hosts.toml", "new", False),
            (top / "b/hosts.toml", None, False),
        )
    )
    change.finish()
    assert tree(top) == {
        "a": "",
        "a/hosts.toml": "new",
        "config.toml": "new",
        Path(copy).name: "old",
    }
    assert not change.JOURNAL.exists()


def test_a_change_upon_an_unfinished_one_goes_back_to_before_both(change: Any, tmp_path: Path) -> None:
    file = tmp_path / "etc/config.toml"
    file.parent.mkdir()
    file.write_text("first")
    change.write(*entries((file, "second", True)))
    change.write(*entries((file, "third", True)))
    assert file.read_text() == "third"
    change.restore()
    assert file.read_text() == "first"


def test_a_disk_that_fills_half_way_leaves_everything_as_it_was(
    change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "etc"
    top.mkdir()
    (top / "config.toml").write_text("old")
    before = tree(top)
    whole = change.put

    def put(path: Path, content: bytes, mode: int = 0o644) -> None:
        if path.name == "config.toml":
            raise OSError(28, "No space left on device", str(path))
        whole(path, content, mode)

    monkeypatch.setattr(change, "put", put)
    with pytest.raises(OSError, match="No space left"):
        change.write(*entries((top / "certs.d/a/hosts.toml", "x", False), (top / "config.toml", "new", True)))
    after = tree(top)
    assert {name: text for name, text in after.items() if "kubeflow-volcano" not in name} == before
    assert not change.JOURNAL.exists()


def test_a_link_stays_one(change: Any, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/config.toml").write_text("old")
    link = tmp_path / "config.toml"
    link.symlink_to("elsewhere/config.toml")
    change.write(*entries((link, "new", True)))
    assert (link.is_symlink(), (tmp_path / "elsewhere/config.toml").read_text()) == (True, "new")
    change.restore()
    assert (link.is_symlink(), (tmp_path / "elsewhere/config.toml").read_text()) == (True, "old")


def test_files_keep_their_mode_and_new_ones_can_be_read_whatever_the_umask_is(change: Any, tmp_path: Path) -> None:
    old, new = tmp_path / "old.toml", tmp_path / "certs.d/gcr.io/hosts.toml"
    old.write_text("x")
    old.chmod(0o640)
    before = os.umask(0o077)
    try:
        change.write(*entries((old, "y", True), (new, "z", False)))
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (old, new, new.parent, new.parent.parent)] == [
        0o640,
        0o644,
        0o755,
        0o755,
    ]
    assert change.JOURNAL.stat().st_mode & 0o777 == 0o600
    (copy,) = tmp_path.glob("old.toml.kubeflow-volcano-*")
    assert copy.stat().st_mode & 0o777 == 0o640


def test_a_file_with_credentials_is_its_owners_alone_from_its_creation_on(
    change: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "config.toml"
    old.write_text("x")
    (tmp_path / ".config.toml.kubeflow-volcano-new").touch(mode=0o666)  # left by an interrupted run
    modes: list[int] = []

    def opened(path: Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        handle = real(path, flags, mode, dir_fd=dir_fd)
        if flags & os.O_CREAT:
            modes.append(os.fstat(handle).st_mode & 0o777)
        return handle

    real = os.open
    before = os.umask(0)
    try:
        monkeypatch.setattr(os, "open", opened)
        change.write(*entries((old, "y", True)))
    finally:
        os.umask(before)
    assert modes
    assert set(modes) == {0o600}
    assert old.read_text() == "y"


@pytest.mark.programs
def test_plugins_that_did_not_load_are_told_with_containerds_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, monkeypatch, "ctr", BROKEN)
    first, second = containerd_service.unloaded().split("; ")
    assert re.match("containerd .*CRI plugin: .*`mirrors` .*`config_path` ", first)
    assert second == "unable to load"


@pytest.mark.programs
def test_a_node_without_crictl_is_asked_by_ctr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, monkeypatch, "ctr", "Type:    io.containerd.grpc.v1\nID:      cri\n")
    assert containerd_service.unready() == ""


@pytest.mark.programs
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ('{"status": {"conditions": [{"type": "RuntimeReady", "status": true}]}}', ""),
        (
            '{"status": {"conditions": [{"type": "RuntimeReady", "status": false, "message": "no"}]}}',
            "RuntimeReady is false: no",
        ),
        ("nothing", "crictl info answers with something else than a status"),
    ],
)
def test_readiness_is_what_the_runtime_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, told: str
) -> None:
    program(tmp_path, monkeypatch, "crictl", answer)
    assert containerd_service.unready() == told


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The process 7 of a host that has no others."""
    monkeypatch.setattr(host_files, "ROOT", str(tmp_path))
    found = tmp_path / "proc/7"
    found.mkdir(parents=True)
    (found / "exe").symlink_to("/usr/local/bin/containerd")
    (found / "root").symlink_to(tmp_path)
    return found


@pytest.mark.parametrize(
    ("words", "config"),
    [
        (["containerd", "--config", "/a.toml"], "/a.toml"),
        (["containerd", "-c=/b.toml"], "/b.toml"),
        (["containerd", "--log-level", "debug"], "/etc/containerd/config.toml"),
    ],
)
def test_containerd_is_asked_for_the_file_that_it_runs_with(process: Path, words: list[str], config: str) -> None:
    (process / "cmdline").write_bytes("\0".join([*words, ""]).encode())
    for service in ({"MainPID": "7"}, {"MainPID": "0"}, {}):  # by its unit, else by its name
        found = containerd.find_daemon(service)
        assert found == ("7", "/proc/7/exe", "/usr/local/bin/containerd", config)


def test_a_replaced_program_is_told_apart_from_the_one_that_runs(process: Path) -> None:
    (process / "exe").unlink()
    (process / "exe").symlink_to("/usr/bin/containerd (deleted)")
    (process / "cmdline").write_bytes(b"containerd\0")
    found = containerd.find_daemon({"MainPID": "7"})
    assert (found.running, found.installed) == ("/proc/7/exe", "/usr/bin/containerd")


def test_the_containerd_of_docker_is_not_the_kubelets(process: Path) -> None:
    (process / "cmdline").write_bytes(b"containerd\0--config\0/var/run/docker/containerd/containerd.toml\0")
    assert containerd.find_daemon({}) == ("", "containerd", "containerd", "/etc/containerd/config.toml")


def test_registries_are_the_directories_below_config_path(tmp_path: Path) -> None:
    for name in ("a/hosts.toml", "b/ca.crt", "loose.crt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert containerd_files.registries(str(tmp_path)) == {
        "a": {"hosts": base64.b64encode(b"x").decode(), "others": []},
        "b": {"hosts": None, "others": ["ca.crt"]},
    }
    assert containerd_files.registries("/nowhere") == {}


def program(directory: Path, monkeypatch: pytest.MonkeyPatch, name: str, output: str) -> None:
    """The only program of that kind on the node, which prints that."""
    (directory / "answer").write_text(output)
    path = directory / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{sys.executable}\nprint(open({str(directory / 'answer')!r}).read())\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent))
    monkeypatch.setattr(programs, "PLACES", "")
