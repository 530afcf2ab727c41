"""Paths of control groups in the three layouts; their behaviour is the kernel's, and tested on a cluster."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rehearsal.inside.boot import read_mounts
from kubeflow_volcano.rehearsal.node.cgroups import Hierarchy, Layout, NodeCgroup, parse_layout

LINE = "30 24 0:26 / {point} rw,nosuid,nodev - {kind} {kind} rw,{options}\n"


def mountinfo(*mounts: tuple[str, str, str]) -> str:
    return "".join(LINE.format(point=point, kind=kind, options=options) for point, kind, options in mounts)


V1 = (
    ("/sys/fs/cgroup/cpu,cpuacct", "cgroup", "cpu,cpuacct"),
    ("/sys/fs/cgroup/memory", "cgroup", "memory"),
    ("/sys/fs/cgroup/systemd", "cgroup", "xattr,name=systemd"),
)
V2 = ("/sys/fs/cgroup", "cgroup2", "nsdelegate")


def test_version_1_has_a_group_per_hierarchy_and_a_named_one_without_controllers() -> None:
    layout = parse_layout(mountinfo(*V1))

    assert layout.kind == "v1"
    assert layout.controllers == {"cpu", "cpuacct", "memory"}
    group = NodeCgroup(layout, "kfv-x")
    assert [str(path) for path in group.directories] == [
        "/sys/fs/cgroup/cpu,cpuacct/kfv-x",
        "/sys/fs/cgroup/memory/kfv-x",
        "/sys/fs/cgroup/systemd/kfv-x",
    ]
    assert group.removable == group.directories
    assert str(group.joins[1]) == "/sys/fs/cgroup/memory/kfv-x/daemons/cgroup.procs"


def test_a_hybrid_host_has_one_more_place_to_clean() -> None:
    layout = parse_layout(mountinfo(*V1, ("/sys/fs/cgroup/unified", "cgroup2", "nsdelegate")))

    assert layout.kind == "hybrid"
    group = NodeCgroup(layout, "kfv-x")
    assert Path("/sys/fs/cgroup/unified/kfv-x") not in group.directories
    assert group.removable == (*group.directories, Path("/sys/fs/cgroup/unified/kfv-x"))


def test_version_2_has_one_hierarchy() -> None:
    layout = parse_layout(mountinfo(V2))

    assert layout.kind == "v2"
    group = NodeCgroup(layout, "kfv-x")
    assert group.directories == group.removable == (Path("/sys/fs/cgroup/kfv-x"),)
    assert group.joins == (Path("/sys/fs/cgroup/kfv-x/daemons/cgroup.procs"),)


def test_a_host_without_control_groups_is_told_apart() -> None:
    assert parse_layout("24 1 8:1 / / rw - ext4 /dev/sda1 rw\n").kind == "none"


def test_a_hierarchy_that_is_mounted_twice_counts_once() -> None:
    assert len(parse_layout(mountinfo(*V1, V1[1])).hierarchies) == 3


def test_version_1_groups_inherit_the_cpuset_before_anything_joins(tmp_path: Path) -> None:
    (tmp_path / "cpuset.cpus").write_text("0-1")
    (tmp_path / "cpuset.mems").write_text("0")
    group = NodeCgroup(Layout("v1", (Hierarchy(tmp_path, frozenset({"cpuset"})),)), "kfv-x")

    group.create()

    assert (tmp_path / "kfv-x/daemons/cpuset.cpus").read_text() == "0-1"
    assert (tmp_path / "kfv-x/daemons/cpuset.mems").read_text() == "0"


def test_version_2_hands_controllers_down_to_an_empty_group(tmp_path: Path) -> None:
    """Plain files stand for the kernel's: no host with version 2 was at hand."""
    layout = Layout(
        "v2", (Hierarchy(tmp_path, frozenset({"cpu", "cpuset", "hugetlb", "io", "memory", "pids", "rdma"})),)
    )

    NodeCgroup(layout, "kfv-x").create()

    for directory in (tmp_path, tmp_path / "kfv-x"):
        assert (directory / "cgroup.subtree_control").read_text() == "+cpu +cpuset +hugetlb +io +memory +pids"
    assert (tmp_path / "kfv-x/daemons").is_dir()
    assert not (tmp_path / "kfv-x/daemons/cgroup.subtree_control").exists()


def test_what_can_not_be_removed_is_named(tmp_path: Path) -> None:
    group = NodeCgroup(Layout("v1", (Hierarchy(tmp_path, frozenset()),)), "kfv-x")
    group.create()
    (tmp_path / "kfv-x/daemons/busy").write_text("")

    assert group.remove(0.1) == (str(tmp_path / "kfv-x"),)
    (tmp_path / "kfv-x/daemons/busy").unlink()
    assert group.remove(0.1) == ()


def test_of_several_mounts_of_version_2_the_usual_one_is_used() -> None:
    elsewhere = ("/run/elsewhere", "cgroup2", "nsdelegate")
    (hierarchy,) = parse_layout(mountinfo(elsewhere, V2)).hierarchies
    assert hierarchy.mountpoint == Path("/sys/fs/cgroup")


def version_2(top: Path) -> NodeCgroup:
    """A directory that stands for a version 2 hierarchy in which systemd has enabled what it uses itself."""
    (top / "cgroup.subtree_control").write_text("cpu memory pids\n")
    return NodeCgroup(
        Layout("v2", (Hierarchy(top, frozenset(["cpu", "cpuset", "hugetlb", "memory", "pids", "rdma"])),)), "kfv-x"
    )


def test_on_version_2_controllers_are_enabled_from_the_top_down(tmp_path: Path) -> None:
    version_2(tmp_path).create()

    for group in (tmp_path, tmp_path / "kfv-x"):
        assert (group / "cgroup.subtree_control").read_text() == "+cpu +cpuset +hugetlb +memory +pids"
    assert (tmp_path / "kfv-x/daemons").is_dir()


@pytest.fixture
def container() -> Iterator[tuple[Path, int]]:
    """A real group of version 2 that is not the root, as a container's top group is, with a process in it."""
    mounts = read_mounts(Path("/proc/self/mountinfo").read_text())
    real = next((mount.point for mount in mounts if mount.kind == "cgroup2"), None)
    if real is None or not os.access(real, os.W_OK):
        pytest.skip("needs a writable hierarchy of version 2")
    top = real / f"kfv-test-{os.getpid()}"
    top.mkdir()
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            (top / "cgroup.procs").write_text(str(process.pid))
            yield top, process.pid
        finally:
            process.kill()
            process.wait()
            for group in (top / "kfv-x/daemons", top / "kfv-x", top / "init", top):
                if group.exists():
                    group.rmdir()


@pytest.mark.programs
def test_a_containers_processes_make_room_and_come_back(container: tuple[Path, int]) -> None:
    top, pid = container
    group = NodeCgroup(Layout("v2", (Hierarchy(top, frozenset()),)), "kfv-x")

    group.create()
    assert (top / "cgroup.procs").read_text() == "", "with processes in it, the group cannot enable a controller"
    assert (top / "init/cgroup.procs").read_text() == f"{pid}\n"

    assert group.remove() == ()
    assert (top / "cgroup.procs").read_text() == f"{pid}\n"
    assert not (top / "init").exists()


def test_the_real_root_keeps_its_processes(tmp_path: Path) -> None:
    (tmp_path / "cgroup.procs").write_text("41\n")
    version_2(tmp_path).create()
    assert not (tmp_path / "init").exists()


def test_controllers_that_only_the_cluster_needed_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notes: dict[str, bytes] = {}
    monkeypatch.setattr("os.setxattr", lambda path, _, value: notes.update({str(path): value}))
    monkeypatch.setattr("os.getxattr", lambda path, _: notes.get(str(path), b""))
    group = version_2(tmp_path)
    group.create()
    assert notes == {str(tmp_path / "kfv-x"): b"cpuset hugetlb rdma"}

    (tmp_path / "kfv-x/cgroup.subtree_control").unlink()  # the kernel's files go with their directory
    assert group.remove() == ()
    assert (tmp_path / "cgroup.subtree_control").read_text() == "-rdma"  # after the others: each write is one change


def test_what_the_kernel_refuses_is_said_without_a_traceback(tmp_path: Path) -> None:
    group = version_2(tmp_path)
    (tmp_path / "kfv-x").write_text("in the way")
    with pytest.raises(ProblemsError, match=f"({os.strerror(errno.EEXIST)}|{os.strerror(errno.ENOTDIR)})"):
        group.create()
