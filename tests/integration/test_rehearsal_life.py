"""What ends a rehearsal cluster, in whole or in part, and what comes after. Each test has the cluster for itself.

$KFV_TEST_GENERATION names another generation than the default one, and $KFV_TEST_SEED other moments.
"""

from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Exit
from kubeflow_volcano.rehearsal.cluster.status import DaemonStatus, read_status
from kubeflow_volcano.rehearsal.lifecycle import down, find_leftovers, up
from kubeflow_volcano.rehearsal.lock import hold_lock
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long]

GENERATION = os.environ.get("KFV_TEST_GENERATION") or RehearsalSpec().generation
SPEC = RehearsalSpec(f"t-{uuid.uuid4().hex[:8]}", gpu_nodes=1, generation=GENERATION)
PATHS = ClusterPaths.of(SPEC.name)
CGROUP = NodeCgroup(read_layout(), PATHS.cgroup)
COMMAND = [sys.executable, "-m", "kubeflow_volcano.rehearsal"]
UP = [*COMMAND, "up", "--name", SPEC.name, "--gpu-nodes", "1", "--generation", GENERATION]
STARTED = "the node was started"
SETTINGS = ("kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward", "vm/overcommit_memory", "vm/panic_on_oom")


@dataclass(frozen=True)
class Traces:
    """What a cluster could leave on the host; other clusters' own traces are left out."""

    mounts: tuple[str, ...]
    links: frozenset[str]
    routes: frozenset[str]
    settings: tuple[str, ...]
    processes: tuple[str, ...]
    networks: str
    """Named network namespaces; the node has one, whose name must not be seen outside."""
    rules: tuple[str, ...]
    """The host's packet filter; Services and simulated pods are translated in the node's networks alone."""

    @classmethod
    def now(cls) -> Traces:
        routes = json.loads(_out("ip", "-json", "-4", "route", "show", "table", "all"))
        return cls(
            mounts=tuple(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
            links=frozenset(path.name for path in Path("/sys/class/net").iterdir() if not _others_link(path.name)),
            routes=frozenset(str(route) for route in routes if not _others_route(route)),
            settings=tuple(Path("/proc/sys", key).read_text() for key in SETTINGS),
            processes=tuple(_rooted_in(PATHS.home)),
            networks=_out("ip", "netns", "list"),
            rules=tuple(line for line in _out("iptables-save").splitlines() if not line.startswith(("#", ":"))),
        )


def _out(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _others_link(name: str) -> bool:
    """Of another cluster, or of hosts that are tried at the same time."""
    return name.startswith(("kfv", "lab")) and name != PATHS.interface


def _others_route(route: dict[str, Any]) -> bool:
    others_unreachable = (
        route.get("type") == "unreachable" and route["metric"] != 0xF0000000 | int(PATHS.identity, 16) >> 4
    )
    return _others_link(route.get("dev", "")) or others_unreachable


def _rooted_in(home: Path) -> Iterator[str]:
    """Processes that live in the node's root, or were started from its files."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text()
            if (process / "root").readlink().is_relative_to(home) or str(home) in words:
                yield f"{process.name} {words}"
        except OSError:
            continue


@pytest.fixture(scope="module", autouse=True)
def nothing_left_in_the_end() -> Iterator[None]:
    before = Traces.now()
    yield
    assert down(SPEC.name).left == ()
    assert Traces.now() == before
    assert find_leftovers(PATHS, CGROUP) == ()
    assert not PATHS.lock.exists()


@pytest.fixture
def api() -> Cluster:
    """The cluster, up and whole."""
    return Cluster.connect(up(SPEC).kubeconfig)


def daemon(name: str) -> DaemonStatus:
    (found,) = [item for item in read_status(SPEC.name).daemons if item.name == name]
    return found


@pytest.mark.parametrize("name", ["kubelet", "kube-apiserver", "containerd", "placement", "webhook-stub"])
@pytest.mark.usefixtures("api")
def test_a_killed_daemon_comes_back_by_itself(name: str) -> None:
    former = daemon(name)
    command = Path(f"/proc/{former.pid}/cmdline").read_text().replace("_", "-")
    assert former.name in command  # not a process of somebody else
    os.kill(former.pid, signal.SIGKILL)

    until(lambda: daemon(name).restarts > former.restarts and daemon(name).pid not in {0, former.pid})
    until(lambda: read_status(SPEC.name).ready)

    assert up(SPEC).changes == ()


def test_after_the_node_s_first_process_was_killed_up_converges_and_keeps_the_data(api: Cluster) -> None:
    kept = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "default"}}
    api.create(kept)
    os.kill(CGROUP.first_process(), signal.SIGKILL)
    until(lambda: not CGROUP.first_process())
    assert read_status(SPEC.name).trouble.endswith(" not run")

    result = up(SPEC)

    assert STARTED in result.changes
    assert Cluster.connect(result.kubeconfig).get(Ref("v1", "ConfigMap", "default", "kept"))


@pytest.mark.usefixtures("api")
def test_a_cable_that_was_pulled_is_found_and_mended() -> None:
    subprocess.run(["ip", "link", "delete", PATHS.interface], check=True)

    assert any("veth pair" in change for change in up(SPEC).changes)
    assert up(SPEC).changes == ()


@pytest.mark.usefixtures("api")
def test_addresses_of_a_node_that_is_down_are_unreachable_rather_than_somebody_else() -> None:
    os.kill(CGROUP.first_process(), signal.SIGKILL)
    until(lambda: not Path("/sys/class/net", PATHS.interface).exists())
    address = json.loads(PATHS.state.read_text())["subnet"].replace("/30", "")

    done = subprocess.run(["ip", "route", "get", address], capture_output=True, text=True, check=False)

    assert "unreachable" in done.stderr + done.stdout or os.strerror(errno.EHOSTUNREACH) in done.stderr


@pytest.mark.usefixtures("api")
def test_a_cluster_whose_directory_was_deleted_is_built_anew() -> None:
    shutil.rmtree(PATHS.home, ignore_errors=True)

    assert STARTED in up(SPEC).changes
    assert read_status(SPEC.name).ready
    assert len([pid for pid in CGROUP.processes() if _is_first(pid)]) == 1


def _is_first(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):  # a short-lived one that has ended since the list
        return False
    return any(line.split()[2:] == ["1"] for line in status.splitlines() if "NSpid" in line)


def test_up_killed_at_random_moments_leaves_nothing_that_the_next_does_not_mend() -> None:
    seed = int(os.environ.get("KFV_TEST_SEED", "7"))
    moments = random.Random(seed)  # noqa: S311  no secret
    down(SPEC.name)
    for most in (0.6, 0.9, 1.5, 3.0, 5.0):
        with subprocess.Popen(UP, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(moments.uniform(0.3, most))
            process.kill()
        first = CGROUP.first_process()
        if first and moments.random() < 0.4:  # sometimes the node dies with it
            os.kill(first, signal.SIGKILL)

    up(SPEC)

    assert_whole(f"seed {seed}")


@pytest.mark.parametrize("moment", [STARTED, "node gpu-1 created"])
def test_up_killed_at_a_certain_moment_is_gone_on_with(moment: str) -> None:
    down(SPEC.name)
    with subprocess.Popen(UP, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any(moment in line for line in process.stderr)
        process.kill()

    changes = up(SPEC).changes

    assert STARTED not in changes  # the running one was adopted
    assert_whole(moment)


def assert_whole(when: str) -> None:
    assert read_status(SPEC.name).ready, when
    assert len([pid for pid in CGROUP.processes() if _is_first(pid)]) == 1, when
    assert up(SPEC).changes == (), when


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED)],
    ids=["SIGINT", "SIGTERM"],
)
def test_an_interrupted_up_says_how_to_go_on(number: signal.Signals, code: Exit) -> None:
    down(SPEC.name)
    with subprocess.Popen(UP, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "the node was started" in line:
                process.send_signal(number)
                break
        rest = process.stderr.read()
    assert process.returncode == code
    assert "continues from here" in rest
    assert "Traceback" not in rest

    assert read_status(SPEC.name).pid or read_status(SPEC.name).trouble
    up(SPEC)
    assert read_status(SPEC.name).ready


def test_a_host_without_the_unified_hierarchy_will_do() -> None:
    """Version 1 alone, as this machine shows it to a mount namespace in which `unified` is unmounted."""
    unified = read_layout().unified
    if unified is None:
        pytest.skip("this machine has no hybrid layout to take anything from")
    down(SPEC.name)
    inside = ["unshare", "--mount", "sh", "-ec", 'umount "$0"; exec "$@"', str(unified)]

    subprocess.run([*inside, *UP], check=True, capture_output=True)
    assert not (unified / PATHS.cgroup).exists()
    assert read_status(SPEC.name).ready
    subprocess.run([*inside, *COMMAND, "down", "--name", SPEC.name], check=True, capture_output=True)

    assert find_leftovers(PATHS, CGROUP) == ()


def test_two_callers_at_once_make_one_cluster() -> None:
    down(SPEC.name)

    callers = [subprocess.Popen(UP, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(2)]
    answers = [caller.communicate()[0] for caller in callers]

    assert [caller.returncode for caller in callers] == [Exit.OK, Exit.OK]
    assert sorted(answer.split(":")[0] for answer in answers) == ["changed", "unchanged"]


def test_a_caller_that_may_not_wait_is_told_who_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.rehearsal.lifecycle._LOCK_SECONDS", 0.5)
    with hold_lock(PATHS.lock, print, 0), pytest.raises(Exception, match=f"process {os.getpid()}") as refusal:
        down(SPEC.name)

    assert getattr(refusal.value, "exit_code", None) == Exit.BUSY


def test_a_removal_that_was_killed_is_finished_by_the_next() -> None:
    up(SPEC)
    with subprocess.Popen([*COMMAND, "down", "--name", SPEC.name], stderr=subprocess.DEVNULL) as process:
        until(lambda: not CGROUP.first_process())
        process.kill()

    result = down(SPEC.name)

    assert result.left == ()
    assert find_leftovers(PATHS, CGROUP) == ()
    assert down(SPEC.name).changed is False


def test_what_can_not_be_removed_is_reported(tmp_path: Path) -> None:
    up(SPEC)
    foreign = PATHS.root / "mnt"
    subprocess.run(["mount", "--bind", str(tmp_path), str(foreign)], check=True)
    (tmp_path / "precious").write_text("not ours")
    try:
        done = subprocess.run([*COMMAND, "down", "--name", SPEC.name], capture_output=True, text=True, check=False)
    finally:
        subprocess.run(["umount", str(foreign)], check=True)

    assert done.returncode == Exit.LEFTOVERS
    assert str(foreign) in done.stderr
    assert (tmp_path / "precious").read_text() == "not ours"
    assert down(SPEC.name).left == ()
