"""kfv_volume_owners on real trees: exactly what belongs to the volume is given to the consumer, nothing else."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.modules import kfv_volume_owners as module

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")

UID, GID = 12_345, 23_456


def asked(path: Path, **changes: Any) -> dict[str, Any]:
    return {"name": "v", "path": str(path), "sub_path": "", "uid": UID, "gids": [GID], "tighten": False, **changes}


def one(path: Path, *, repair: bool = False, check: bool = False, most: int = 1000, **changes: Any) -> dict[str, Any]:
    below = str(changes.pop("below", path.parent))
    answer: dict[str, Any] = module.one(asked(path, **changes), below, most, asked=repair, check=check)
    return answer


def owner(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_uid, found.st_gid


@pytest.fixture
def volume(tmp_path: Path) -> Path:
    """A volume with a file that is right, one that is not, and a directory below."""
    top = tmp_path / "pvc-1_kubeflow_mysql"
    (top / "below").mkdir(parents=True)
    for name in ("right", "below/wrong", "wrong"):
        (top / name).write_text("x")
    for path in (top, top / "below", top / "right"):
        os.chown(path, UID, GID)
    top.chmod(0o777)
    return top


def test_only_counting_changes_nothing(volume: Path) -> None:
    found = one(volume)
    assert (found["looked"], found["wrong"], found["given"], found["mode"]) == (5, 2, 0, "0777")
    assert found["owner"] == f"{UID}:{GID}"
    assert owner(volume / "wrong") == (0, 0)


def test_a_repair_gives_what_is_wrong_and_the_next_one_has_nothing_to_do(volume: Path) -> None:
    (volume / "wrong").chmod(0o604)
    assert one(volume, repair=True)["given"] == 2
    assert owner(volume / "below/wrong") == owner(volume / "wrong") == (UID, GID)
    assert stat.S_IMODE((volume / "wrong").stat().st_mode) == 0o604
    again = one(volume, repair=True)
    assert (again["wrong"], again["given"]) == (0, 0)


def test_check_mode_says_what_a_repair_would_give(volume: Path) -> None:
    assert one(volume, repair=True, check=True)["given"] == 2
    assert owner(volume / "wrong") == (0, 0)


def test_links_are_given_and_not_followed(volume: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("x")
    (volume / "to-file").symlink_to(outside / "secret")
    (volume / "to-folder").symlink_to(outside)
    one(volume, repair=True)
    assert owner(volume / "to-file") == owner(volume / "to-folder") == (UID, GID)
    assert owner(outside) == owner(outside / "secret") == (0, 0)


def test_a_volume_that_is_a_link_itself_is_refused(volume: Path, tmp_path: Path) -> None:
    link = tmp_path / "pvc-2"
    link.symlink_to(volume)
    found = one(link, repair=True)
    assert "pvc-2" in found["trouble"]
    assert owner(volume / "wrong") == (0, 0)


@pytest.mark.parametrize("part", ["to-outside", "below/../../outside", "../outside"])
def test_a_part_that_leads_out_of_the_volume_is_refused(volume: Path, tmp_path: Path, part: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (volume / "to-outside").symlink_to(outside)
    assert one(volume, repair=True, sub_path=part)["trouble"]
    assert owner(outside) == (0, 0)


@pytest.mark.parametrize("path", ["/etc", "/data", "/data/../etc/x", "/database/x"])
def test_a_volume_outside_of_the_directory_of_volumes_is_not_looked_at(path: str) -> None:
    found = one(Path(path), below="/data")
    assert "outside of /data" in found["trouble"]


def test_a_link_between_the_directory_of_volumes_and_a_volume_is_not_followed(volume: Path, tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.mkdir()
    (base / "static").symlink_to(volume.parent)
    assert one(base / "static" / volume.name, repair=True, below=base)["trouble"]
    assert owner(volume / "wrong") == (0, 0)


def test_a_part_is_repaired_without_the_rest(volume: Path) -> None:
    assert one(volume, repair=True, sub_path="below")["given"] == 1
    assert (owner(volume / "below/wrong"), owner(volume / "wrong")) == ((UID, GID), (0, 0))


def test_names_that_a_shell_would_read_are_names(volume: Path) -> None:
    names = [b"-R", b"$(touch x)", b"new\nline", b"\xff\xfe", b" ", b"*", b"\x1b[31m"]
    for name in names:
        Path(os.fsdecode(os.fsencode(volume) + b"/" + name)).write_text("x")
    found = one(volume, repair=True)
    assert found["given"] == 2 + len(names)
    assert found["trouble"] == ""


def test_a_file_with_a_further_name_outside_is_left_alone(volume: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("x")
    os.link(other, volume / "shared")
    found = one(volume, repair=True)
    assert (found["left_alone"], found["wrong"], found["given"]) == (1, 2, 2)
    assert owner(other) == (0, 0)


def test_a_file_with_two_names_inside_is_given(volume: Path) -> None:
    os.link(volume / "wrong", volume / "below/again")
    found = one(volume, repair=True)
    assert found["left_alone"] == 0
    assert owner(volume / "wrong") == (UID, GID)
    assert one(volume)["wrong"] == 0


def test_devices_are_left_alone_and_sockets_and_pipes_are_not(volume: Path) -> None:
    os.mknod(volume / "device", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    os.mkfifo(volume / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(volume / "socket"))
    found = one(volume, repair=True)
    assert (found["left_alone"], owner(volume / "device")) == (1, (0, 0))
    assert owner(volume / "pipe") == owner(volume / "socket") == (UID, GID)


@pytest.mark.programs
def test_what_cannot_be_given_is_named_and_what_was_given_is_counted(volume: Path) -> None:
    (volume / "wrong").unlink()
    (volume / "below" / "wrong").unlink()
    os.chown(volume, 0, 0)
    (volume / "fixed").write_text("x")
    subprocess.run(["chattr", "+i", volume / "fixed"], check=True)
    try:
        found = one(volume, repair=True)
    finally:
        subprocess.run(["chattr", "-i", volume / "fixed"], check=True)
    assert f"'fixed': {os.strerror(errno.EPERM)}" in found["trouble"]
    assert (found["wrong"], found["given"]) == (2, 1)


def test_a_group_alone_leaves_users_as_they_are(volume: Path) -> None:
    one(volume, repair=True, uid=None, gids=[GID])
    assert owner(volume / "wrong") == (0, GID)


def test_any_of_the_groups_is_right_and_the_first_is_given(volume: Path) -> None:
    os.chown(volume / "right", UID, 7)
    assert one(volume, repair=True, gids=[GID, 7])["given"] == 2
    assert (owner(volume / "right"), owner(volume / "wrong")) == ((UID, 7), (UID, GID))


def test_nothing_is_wrong_where_nothing_is_known(volume: Path) -> None:
    assert one(volume, repair=True, uid=None, gids=[])["wrong"] == 0


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    assert f"'gone': {os.strerror(errno.ENOENT)}" in one(tmp_path / "gone", repair=True)["trouble"]


def test_more_entries_than_are_looked_at_are_told(volume: Path) -> None:
    found = one(volume, most=3)
    assert (found["looked"], "3 entries" in found["incomplete"]) == (4, True)


def test_a_tree_that_is_too_deep_ends_and_is_told(volume: Path) -> None:
    handles = [os.open(volume, os.O_RDONLY)]
    for _ in range(module.MOST_DEPTH + 5):
        os.mkdir("d", dir_fd=handles[-1])
        handles.append(os.open("d", os.O_RDONLY, dir_fd=handles[-1]))
    for handle in handles:
        os.close(handle)
    assert "deep" in one(volume, most=10_000)["incomplete"]


def test_an_open_directory_is_closed_only_where_that_is_asked_for(volume: Path) -> None:
    assert not one(volume, repair=True)["closed"]
    assert stat.S_IMODE(volume.stat().st_mode) == 0o777
    assert one(volume, tighten=True, check=True)["closed"]
    assert stat.S_IMODE(volume.stat().st_mode) == 0o777
    assert one(volume, tighten=True)["closed"]
    assert stat.S_IMODE(volume.stat().st_mode) == 0o770
    assert not one(volume, tighten=True)["closed"]


@pytest.mark.parametrize("changes", [{"uid": None, "gids": []}, {"uid": 999}])
def test_a_directory_is_not_closed_to_its_own_consumer(volume: Path, changes: dict[str, Any]) -> None:
    assert not one(volume, tighten=True, **changes)["closed"]
    assert stat.S_IMODE(volume.stat().st_mode) == 0o777


def test_no_directory_stays_open(volume: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    one(volume, repair=True)
    one(volume / "nothing")
    one(volume, sub_path="below/none")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
