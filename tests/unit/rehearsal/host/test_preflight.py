"""Every refusal of preflight, by a view of a host that lacks exactly that. A real host is looked at further down."""

from __future__ import annotations

import os
from dataclasses import replace
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from kubeflow_volcano.problems import Exit, InvalidInput, Problem
from kubeflow_volcano.rehearsal.host.facts import CAPABILITIES, Host, look_closely
from kubeflow_volcano.rehearsal.host.preflight import check_basics, check_earlier, check_host
from kubeflow_volcano.rehearsal.node.cgroups import NEEDED_CONTROLLERS, Hierarchy, Layout
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec, State

SEED = "9d54032c"
GIB = 1 << 30
ALL_CAPABILITIES = sum(1 << number for number in CAPABILITIES.values())
LAYOUT = Layout("hybrid", (Hierarchy(Path("/sys/fs/cgroup/all"), NEEDED_CONTROLLERS),))
GOOD = Host(
    system="Linux",
    machine="x86_64",
    uid=0,
    capabilities=ALL_CAPABILITIES,
    layout=LAYOUT,
    networks=(IPv4Network("192.0.2.0/24"),),
    free_bytes=20 * GIB,
    inotify_instances=128,
    inotify_watches=65536,
)
SPEC = RehearsalSpec()


def refusal(host: Host, state: State | None = None) -> tuple[Problem, ...]:
    with pytest.raises(InvalidInput) as raised:
        check_host(host, SPEC, state, SEED)
    assert raised.value.exit_code == Exit.INVALID_INPUT
    return raised.value.problems


def only(host: Host, state: State | None = None) -> Problem:
    (problem,) = refusal(host, state)
    assert problem.found
    assert problem.needed
    assert problem.todo
    return problem


def test_a_good_host_passes() -> None:
    check_basics(GOOD)
    check_host(GOOD, SPEC, None, SEED)


def test_another_system_is_refused() -> None:
    assert "Darwin" in only(replace(GOOD, system="Darwin")).found
    with pytest.raises(InvalidInput, match="Darwin"):
        check_basics(replace(GOOD, system="Darwin"))


def test_another_processor_is_refused() -> None:
    assert "riscv64" in only(replace(GOOD, machine="riscv64")).found


def test_a_user_who_is_not_root_is_told_of_sudo() -> None:
    problem = only(replace(GOOD, uid=1000, capabilities=0))
    assert "1000" in problem.found
    assert "sudo" in problem.todo


@pytest.mark.parametrize("name", sorted(CAPABILITIES))
def test_a_missing_capability_is_named(name: str) -> None:
    assert name in only(replace(GOOD, capabilities=ALL_CAPABILITIES & ~(1 << CAPABILITIES[name]))).found


def test_cap_sys_resource_is_not_needed_but_noticed() -> None:
    assert not GOOD.may_lower_oom_score
    assert replace(GOOD, capabilities=ALL_CAPABILITIES | 1 << 24).may_lower_oom_score


def test_missing_controllers_are_named() -> None:
    layout = Layout("v2", (Hierarchy(Path("/sys/fs/cgroup"), NEEDED_CONTROLLERS - {"pids", "cpuset"}),))
    assert "cpuset, pids" in only(replace(GOOD, layout=layout)).found


def test_control_groups_that_can_not_be_written_are_refused() -> None:
    assert "/sys/fs/cgroup is full" in only(replace(GOOD, cgroup_trouble="/sys/fs/cgroup is full")).found


def test_an_address_range_in_use_is_refused() -> None:
    everything = tuple(IPv4Network(text) for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
    assert "/30" in only(replace(GOOD, networks=everything)).needed


def test_trouble_with_network_features_is_told_in_the_kernel_s_words() -> None:
    problem = only(
        replace(GOOD, network_trouble="`iptables-restore` says: Extension statistic revision 0 not supported")
    )
    assert "statistic" in problem.found
    assert "modprobe" in problem.todo


def test_a_disk_without_overlay_is_refused() -> None:
    assert "XDG_CACHE_HOME" in only(replace(GOOD, overlay_trouble="wrong fs type")).todo


@pytest.mark.parametrize(
    ("to_make", "enough"),
    [((), 4), (("pause", "runc"), 6), (("kube",), 9), (("kube", "a", "b", "c", "d", "e"), 13)],
)
def test_disk_space_counts_the_tools_that_are_to_be_built(enough: int, to_make: tuple[str, ...]) -> None:
    host = replace(GOOD, to_make=to_make, free_bytes=enough * GIB)
    check_host(host, SPEC, None, SEED)

    assert f"{enough} GiB" in only(replace(host, free_bytes=enough * GIB - 1)).needed


@pytest.mark.parametrize("setting", ["inotify_instances", "inotify_watches"])
def test_low_inotify_limits_are_refused_with_the_command_that_raises_them(setting: str) -> None:
    host = replace(GOOD, inotify_instances=16) if setting == "inotify_instances" else replace(GOOD, inotify_watches=16)
    assert "sysctl -w fs.inotify.max_user_" in only(host).todo


def test_missing_packages_are_passed_on() -> None:
    missing = Problem("iptables is missing.", "kube-proxy's routes.", "install the package iptables (apt).")
    assert only(replace(GOOD, missing_packages=(missing,))) == missing


def test_a_foreign_mount_in_the_cluster_s_directory_is_refused() -> None:
    assert "/x/default/root/mnt" in only(replace(GOOD, mounts=("/x/default/root/mnt",))).found


def test_data_of_another_generation_is_refused_running_or_not() -> None:
    state = State(replace(SPEC, generation="1.22"), IPv4Network("10.213.0.0/30"))

    assert "1.22" in only(GOOD, state).found
    with pytest.raises(InvalidInput, match=r"1\.22"):
        check_earlier(GOOD, SPEC, state)


def test_all_obstacles_come_at_once() -> None:
    host = replace(
        GOOD, free_bytes=0, inotify_watches=1, capabilities=0, overlay_trouble="no", layout=Layout("none", ())
    )

    assert len(refusal(host)) == 5


def seen() -> tuple[str, list[Path]]:
    """Mounts of this process, and interfaces of the machine that trials make; other tests make others meanwhile."""
    return Path("/proc/self/mountinfo").read_text(), sorted(Path("/sys/class/net").glob("trial*"))


@pytest.mark.programs
def test_a_real_host_is_looked_at_without_changing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.geteuid() != 0:
        pytest.skip("the trials in namespaces need root")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "not there"))
    before = seen()

    host = look_closely(ClusterPaths.of("t-look"), ["runc"])

    assert host.free_bytes > 0
    assert host.inotify_instances > 0
    assert host.network_trouble == ""
    assert host.overlay_trouble == ""
    assert host.to_make == ("runc",)
    assert seen() == before
    assert list(tmp_path.iterdir()) == []
