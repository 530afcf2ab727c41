"""Whether a directory is fit for volumes, and how it is measured and made, on a real file system."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.disks import Mount, mount_of
from ansible_collections.kubeflow_volcano.platform.plugins.modules import kfv_volume_directory as module
from kubeflow_volcano.hosts.volumes.directory import Directory

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes directories of root")


def found(mount: dict[str, Any] | None = None, **changes: Any) -> Directory:
    measured: dict[str, Any] = {
        "path": "/data/k8s",
        "kind": "absent",
        "uid": None,
        "gid": None,
        "mode": None,
        "volumes": 0,
        "others": 0,
        "some_others": [],
        "file_system": {"point": "/data", "type": "ext4", "source": "/dev/sdb", "options": ["rw"], **(mount or {})},
        "free_bytes": 100 * 10**9,
        "free_inodes": 900,
        "inodes": 1000,
        "written_as": None,
        "directories": [],
    }
    return Directory.decode(measured | changes)


def told(directory: Directory) -> str:
    return "\n".join(map(str, directory.problems(50)))


def test_a_disk_with_room_is_fit() -> None:
    assert told(found()) == ""
    assert list(found().notes(50)) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mount": {"type": "tmpfs"}}, "a tmpfs"),
        ({"mount": {"type": "overlay"}}, "an overlay"),
        ({"mount": {"options": ["ro"]}}, "mounted ro"),
        ({"mount": {"options": ["noexec", "rw"]}}, "mounted noexec"),
        ({"mount": {"type": "nfs4"}, "written_as": 65534}, "do not belong to root"),
        ({"mount": {"type": "nfs4"}, "written_as": -1}, "do not belong to root"),
        ({"free_bytes": 49 * 10**9}, "49.0 GB are free for /data/k8s, on /data"),
        ({"path": "/var"}, "a directory for volumes only"),
        ({"path": "/etc/volumes"}, "a directory for volumes only"),
        ({"kind": "link", "uid": 0, "gid": 0, "mode": "0777"}, "a symbolic link"),
        ({"kind": "other", "uid": 0, "gid": 0, "mode": "0644"}, "not a directory"),
        (
            {"kind": "directory", "uid": 0, "gid": 0, "mode": "0755", "others": 2, "some_others": ["a", "b"]},
            "contains 2 entries beside volumes (a, b)",
        ),
    ],
)
def test_what_makes_it_useless_is_told_with_what_to_do(changes: dict[str, Any], words: str) -> None:
    text = told(found(**changes))
    assert words in text
    assert " Do: " in text


def test_everything_is_told_at_once() -> None:
    assert told(found({"type": "tmpfs", "options": ["ro", "noexec"]}, free_bytes=0)).count("Found:") == 4


def test_a_directory_with_volumes_may_be_nearly_full_and_says_so() -> None:
    used = found(volumes=3, free_bytes=10**9, kind="directory", uid=0, gid=0, mode="0777")
    assert told(used) == ""
    (note,) = used.notes(50)
    assert re.fullmatch("1.0 GB .* /data/k8s", note)


def test_few_inodes_and_a_server_that_was_not_tried_are_notes() -> None:
    assert len(list(found({"type": "nfs"}, free_inodes=10).notes(50))) == 2


@as_root
def test_it_is_made_with_its_mode_whatever_the_umask(tmp_path: Path) -> None:
    base = tmp_path / "new" / "k8s"
    volume = {"path": str(base / "static" / "kubeflow_mysql"), "uid": 999, "gid": 998, "mode": "0770"}
    before = os.umask(0o077)
    try:
        made, diff = module.make(str(base), [volume], check=False)
    finally:
        os.umask(before)
    assert made == [str(base.parent), str(base), str(base / "static"), volume["path"]]
    modes = {path: stat.S_IMODE(Path(path).stat().st_mode) for path in made}
    assert list(modes.values()) == [0o755, 0o711, 0o711, 0o770]
    own = Path(str(volume["path"])).stat()
    assert (own.st_uid, own.st_gid) == (999, 998)
    assert f"{base} 0:0 0711" in diff["after"]
    assert module.make(str(base), [volume], check=False)[0] == []


@as_root
def test_an_own_directory_is_set_right_and_a_volume_that_is_there_is_left_to_its_consumer(tmp_path: Path) -> None:
    base = tmp_path / "k8s"
    volume = base / "static" / "kubeflow_mysql"
    volume.mkdir(parents=True)
    base.chmod(0o777)
    volume.chmod(0o700)
    wanted = [{"path": str(volume), "uid": 999, "gid": 999, "mode": "0770"}]
    made, diff = module.make(str(base), wanted, check=True)
    assert (made, stat.S_IMODE(base.stat().st_mode)) == ([str(base), str(base / "static")], 0o777)
    assert f"{base} 0:0 0777\n" in diff["before"]
    module.make(str(base), wanted, check=False)
    assert stat.S_IMODE(base.stat().st_mode) == 0o711
    assert (stat.S_IMODE(volume.stat().st_mode), volume.stat().st_uid) == (0o700, 0)


@as_root
def test_a_link_in_the_place_of_a_directory_is_never_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(0o700)
    (tmp_path / "k8s").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="k8s"):
        module.make(str(tmp_path / "k8s"), [], check=False)
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o700


def test_measuring_counts_volumes_and_other_things(tmp_path: Path) -> None:
    for name in ("pvc-1_a_b", "static", "lost+found", "notes.txt"):
        (tmp_path / name).mkdir()
    measured = module.measure(str(tmp_path), [], may_write=True)
    assert (measured["volumes"], measured["others"], measured["some_others"]) == (2, 1, ["notes.txt"])
    assert measured["free_bytes"] > 0
    assert Directory.decode(measured).file_system == measured["file_system"]["type"]


def test_a_directory_that_is_not_there_is_measured_where_it_would_be(tmp_path: Path) -> None:
    measured = module.measure(str(tmp_path / "a" / "b"), [], may_write=True)
    assert (measured["kind"], measured["place"]) == ("absent", str(tmp_path))


def test_the_innermost_mount_counts_and_of_two_on_one_place_the_later() -> None:
    mounts = [Mount("/", "ext4", "", ()), Mount("/data", "xfs", "", ()), Mount("/data", "tmpfs", "", ())]
    assert mount_of("/data/k8s", mounts).type == "tmpfs"
    assert mount_of("/data2", mounts).type == "ext4"


def test_a_file_on_a_server_belongs_to_whom_it_says(tmp_path: Path) -> None:
    assert module.written_as(str(tmp_path)) == os.geteuid()
    assert list(tmp_path.iterdir()) == []
