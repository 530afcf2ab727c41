"""The cluster's paths, specification, state, lock and status text."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from kubeflow_volcano.files import write_file
from kubeflow_volcano.problems import Busy, Exit, InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.__main__ import main
from kubeflow_volcano.rehearsal.cluster.status import ClusterStatus, DaemonStatus, NodeStatus, PodStatus, render
from kubeflow_volcano.rehearsal.lock import hold_lock
from kubeflow_volcano.rehearsal.spec import ClusterPaths, NodeKind, RehearsalSpec, State

HOLDER = """
import sys, time
from pathlib import Path
from kubeflow_volcano.rehearsal.lock import hold_lock
with hold_lock(Path(sys.argv[1]), print, 0):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_default_specification_is_usable() -> None:
    RehearsalSpec().validate()


def test_all_faults_of_a_specification_come_at_once() -> None:
    with pytest.raises(InvalidInput) as refusal:
        RehearsalSpec(name="No Good", gpu_nodes=-1, gpus_per_node=0, generation="0.1").validate()

    assert len(refusal.value.problems) == 4
    assert "1.30" in refusal.value.problems[3].needed


@pytest.mark.parametrize(
    "kinds",
    [
        [NodeKind("gpu", 1)],
        [NodeKind("cpu", 1)],
        [NodeKind("rehearsal", 1)],
        [NodeKind("a", 1), NodeKind("a", 2)],
        [NodeKind("A", 1)],
        [NodeKind("a", 1001)],
        [NodeKind("a", 1, {"cpu": 1})],
        [NodeKind("a", 1, {"example.org/a": -1})],
    ],
)
def test_kinds_of_nodes_that_no_cluster_can_have_are_refused(kinds: list[NodeKind]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        RehearsalSpec(nodes=tuple(kinds)).validate()

    assert len(refusal.value.problems) == 1


@pytest.mark.parametrize("name", ["a" * 21, "-a", "a-", "../x", "", "A"])
def test_names_that_would_not_fit_the_kernel_or_the_disk_are_refused(name: str) -> None:
    with pytest.raises(InvalidInput):
        RehearsalSpec(name=name).validate()


def test_clusters_of_one_name_in_two_caches_share_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/a")
    first = ClusterPaths.of("default")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    second = ClusterPaths.of("default")

    assert first.kubeconfig == Path("/a/kubeflow-volcano/rehearsal/default/admin.kubeconfig")
    assert first.cgroup != second.cgroup
    assert first.interface != second.interface


def test_the_longest_name_fits_a_network_interface() -> None:
    paths = ClusterPaths.of("a" * 20)

    assert len(paths.interface) <= 15
    assert len(paths.cgroup) < 64


def test_a_file_is_written_once_and_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "deep/file"

    assert write_file(path, "text", 0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not write_file(path, "text", 0o600)
    assert write_file(path, "other", 0o600)
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_state_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    nodes = (NodeKind("atlas", 2, {"huawei.com/Ascend910": 8}, {"accelerator-type": "card"}),)
    state = State(RehearsalSpec("x", gpu_nodes=2, nodes=nodes), IPv4Network("10.213.0.0/30"), "abc", 12.5)

    state.save(tmp_path / "state.json")

    assert State.load(tmp_path / "state.json") == state


@pytest.mark.parametrize("text", ["", "{", "{}", '{"spec": {"later": 1}, "subnet": "x"}', "[]"])
def test_a_state_that_can_not_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)

    assert State.load(tmp_path / "state.json") is None


@pytest.mark.programs
def test_a_second_process_is_told_the_holder_and_may_wait(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(lock)], stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        with pytest.raises(Busy) as refusal, hold_lock(lock, silent, 0.3):
            pass
        assert str(holder.pid) in refusal.value.problems[0].found
        assert refusal.value.exit_code == Exit.BUSY

        started = time.monotonic()
        threading.Timer(0.5, holder.kill).start()
        with hold_lock(lock, silent, 3600):
            assert time.monotonic() - started >= 0.5
    assert not lock.exists()


def test_the_lock_file_is_gone_afterwards_even_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), hold_lock(tmp_path / "lock", silent, 0):
        raise RuntimeError

    assert list(tmp_path.iterdir()) == []


def test_status_says_which_pods_are_real() -> None:
    found = ClusterStatus(
        "x",
        4711,
        Path("/x/admin.kubeconfig"),
        daemons=(DaemonStatus("kubelet", 0, 2, "SIGKILL"),),
        nodes=(NodeStatus("gpu-1", simulated=True, ready=True, devices="1 nvidia.com/gpu"),),
        pods=(
            PodStatus("default", "a", "Running", "gpu-1", simulated=True, because="it requests nvidia.com/gpu"),
            PodStatus("default", "b", "ErrImagePull", "rehearsal-1", simulated=False, because=""),
        ),
    )

    lines = render(found).splitlines()

    assert lines[0] == "cluster x: ready"
    assert "kubelet  -    2         SIGKILL" in lines
    assert any(line.split()[:4] == ["default/a", "simulated", "Running", "gpu-1"] for line in lines)
    assert any(line.split() == ["default/b", "real", "ErrImagePull", "rehearsal-1"] for line in lines)


def test_status_of_a_cluster_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert main(["status", "--name", "t-none"]) == Exit.INCOMPLETE
    assert "does not run" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_bad_option_is_told_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--name", "No Good"]) == Exit.INVALID_INPUT

    told = capsys.readouterr().err
    assert "No Good" in told
    assert "Traceback" not in told


@pytest.mark.programs
def test_down_of_nothing_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert main(["down", "--name", "t-none"]) == Exit.OK
