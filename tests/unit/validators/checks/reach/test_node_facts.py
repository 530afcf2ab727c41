"""A5 on literal facts, and its script run for real on a made-up /sys/fs."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.ended import End
from kubeflow_volcano.validators.checks.reach.node_facts import node_facts
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Cause, Status
from kubeflow_volcano.validators.probes.node_settings import NODE_SETTINGS, SCRIPT, Settings, account
from kubeflow_volcano.validators.probes.storage.directories import Base, Seen
from kubeflow_volcano.validators.probes.storage.storage import STORAGE, StorageEvidence
from tests.samples.facts import facts, node, obj, ref

NODE = frozenset({ref("Node", "n1")})
UID = "0a1b2c3d-0000-4000-8000-000000000001"


def told(name: str = "n1", **info: str) -> Object:
    known = {
        "osImage": "openEuler 22.03 (LTS-SP4)",
        "kernelVersion": "5.10.0",
        "containerRuntimeVersion": "containerd://1.6.33",
        "kubeletVersion": "v1.30.2",
    }
    return node(name, status={"nodeInfo": known | info})


def seen(node: str = "n1", **rest: Any) -> Settings:
    return Settings(
        node, **({"selinux": "disabled", "cgroups": "2", "kubelet": "systemd", "runtime": "systemd"} | rest)
    )


def known(*nodes: Object, looked: tuple[Settings, ...] | None = None, storage: StorageEvidence | None = None) -> Facts:
    of_storage = obj("StorageClass", "local-path", provisioner="rancher.io/local-path")
    names = [item["metadata"]["name"] for item in nodes]
    settings = looked if looked is not None else tuple(seen(name) for name in names)
    return facts(*nodes, of_storage, evidences={NODE_SETTINGS: settings, **({STORAGE: storage} if storage else {})})


def test_nodes_that_tell_what_they_are_pass_and_it_is_shown() -> None:
    outcome = node_facts(known(told(), told("n2"), told("n3", kernelVersion="6.6.0")))
    assert (outcome.status, len(outcome.objects)) == (Status.PASS, 3)
    facts_of_both = "openEuler 22.03 (LTS-SP4), 5.10.0, containerd://1.6.33, v1.30.2"
    for word in (f"2 with {facts_of_both}", "SELinux disabled", "cgroups v2", "systemd"):
        assert word in outcome.message


def test_a_node_that_does_not_tell_is_no_pass() -> None:
    outcome = node_facts(known(told(), told("n2", osImage="")))
    assert (outcome.status, outcome.reason, outcome.because) == (
        Status.ERROR,
        "NotTold",
        (frozenset({ref("Node", "n2")}),),
    )
    assert [item.name for item in outcome.objects] == ["n2"]


@pytest.mark.parametrize(
    ("server", "kubelet", "status"),
    [
        ("v1.22.17", "v1.20.1", "pass"),
        ("v1.22.17", "v1.19.1", "warn"),
        ("v1.27.3", "v1.24.9", "warn"),
        ("v1.26.3", "v1.24.9", "pass"),
        ("v1.28.3", "v1.25.0", "pass"),
        ("v1.29.3", "v1.25.0", "warn"),
    ],
)
def test_a_kubelet_before_1_25_may_be_two_minor_versions_older_not_three(
    server: str, kubelet: str, status: str
) -> None:
    found = replace(known(told(kubeletVersion=server), told("n2", kubeletVersion=kubelet)), server_version=server)
    assert node_facts(found).status == status


@pytest.mark.parametrize(
    ("kubelet", "status"),
    [("v1.30.9", "pass"), ("v1.27.1", "pass"), ("v1.26.0", "warn"), ("v1.31.0", "warn"), ("new", "warn")],
)
def test_a_kubelet_goes_with_the_api_server_or_is_a_warning(kubelet: str, status: str) -> None:
    outcome = node_facts(known(told(), told("n2", kubeletVersion=kubelet)))
    assert outcome.status == status
    assert ("n2 has kubelet" in outcome.message) == (status == "warn")


def test_simulated_nodes_have_nothing_to_tell() -> None:
    simulated = told(osImage="")
    simulated["metadata"]["annotations"] = {"kwok.x-k8s.io/node": "fake"}
    assert node_facts(known(simulated)).reason == "Simulated"


def test_a_kubelet_and_a_runtime_with_two_drivers_are_a_warning() -> None:
    outcome = node_facts(known(told(), looked=(seen(runtime="cgroupfs"),)))
    assert (outcome.status, outcome.reason) == (Status.WARN, "DriversDiffer")
    assert re.search("on n1 .*kubelet .*systemd, .*runtime cgroupfs", outcome.message)


@pytest.mark.parametrize(
    ("trouble", "because"),
    [(("ProbeRefused", "hostPath is not allowed"), ()), (("TimedOut", "still Pending"), (NODE,))],
)
def test_a_node_that_cannot_be_looked_at_is_no_pass(trouble: tuple[str, str], because: tuple[Cause, ...]) -> None:
    outcome = node_facts(known(told(), looked=(Settings("n1", failure=trouble),)))
    assert (outcome.status, outcome.reason, outcome.because) == (Status.ERROR, trouble[0], because)
    assert trouble[1] in outcome.message


def test_a_lost_node_keeps_no_other_from_being_judged() -> None:
    asleep = Settings("n2", failure=("NotReady", "it is not Ready"))
    outcome = node_facts(known(told(), told("n2", osImage=""), looked=(seen(), asleep)))
    assert outcome.status is Status.PASS
    assert outcome.message.endswith("not looked at: n2.")
    assert node_facts(known(told(), looked=(Settings("n1", failure=("NotReady", "")),))).status is Status.ERROR


@pytest.mark.parametrize(
    ("labels", "status"),
    [((), "warn"), (("system_u:object_r:default_t:s0",), "warn"), (("system_u:object_r:container_file_t:s0",), "pass")],
)
def test_selinux_that_enforces_asks_for_labels_of_directories(labels: tuple[str, ...], status: str) -> None:
    storage = StorageEvidence(bases=tuple(Seen(Base("n1", "/volumes"), label=label) for label in labels))
    outcome = node_facts(known(told(), looked=(seen(selinux="enforcing"),), storage=storage))
    assert (outcome.status, outcome.reason) == (status, "AsClaimed" if status == "pass" else "Confined")


def test_selinux_matters_where_a_volume_is_a_directory_of_a_node_and_nowhere_else() -> None:
    looked = {NODE_SETTINGS: (seen(selinux="enforcing"),)}
    assert node_facts(facts(told(), evidences=looked)).status is Status.PASS
    volume = obj("PersistentVolume", "v", spec={"hostPath": {"path": "/data"}})
    assert node_facts(facts(told(), volume, evidences=looked)).reason == "Confined"


def run_script(root: Path) -> Settings:
    log = root / "log"
    script = SCRIPT.replace("/kfv", str(root)).replace("/dev/termination-log", str(log))
    done = subprocess.run(["sh", "-c", script], env={"KFV_UID": UID, "PATH": "/usr/bin:/bin"}, check=False)
    return account("n1", End(done.returncode == 0, "n1", log.read_text(), "", "", 0.1))


SLICE = f"kubepods-burstable-pod{UID.replace('-', '_')}.slice"


@pytest.mark.programs
@pytest.mark.parametrize(
    ("paths", "found"),
    [
        ([f"cgroup/kubepods.slice/kubepods-burstable.slice/{SLICE}/cri-containerd-1.scope"], ("systemd", "systemd")),
        ([f"cgroup/kubepods.slice/kubepods-burstable.slice/{SLICE}"], ("systemd", "cgroupfs")),
        ([f"cgroup/cpu/kubepods/burstable/pod{UID}/1234"], ("cgroupfs", "cgroupfs")),
        ([f"cgroup/kubepods/pod{UID}/1234"], ("cgroupfs", "cgroupfs")),
        (["cgroup/kubepods/pod1"], ("", "")),
    ],
)
def test_the_script_tells_drivers_by_the_names_of_groups(
    tmp_path: Path, paths: list[str], found: tuple[str, str]
) -> None:
    for path in paths:
        (tmp_path / path).mkdir(parents=True)
    settings = run_script(tmp_path)
    assert (settings.kubelet, settings.runtime, settings.failure) == (*found, ("", ""))


@pytest.mark.programs
@pytest.mark.parametrize(("enforce", "mode"), [("1", "enforcing"), ("0", "permissive"), (None, "disabled")])
def test_the_script_reads_how_selinux_stands(tmp_path: Path, enforce: str | None, mode: str) -> None:
    (tmp_path / "selinux").mkdir()
    (tmp_path / "cgroup").mkdir()
    (tmp_path / "cgroup/cgroup.controllers").touch()
    if enforce is not None:
        (tmp_path / "selinux/enforce").write_text(enforce)
    settings = run_script(tmp_path)
    assert (settings.selinux, settings.cgroups) == (mode, "2")


def test_a_script_that_ended_early_has_seen_nothing() -> None:
    cut = account("n1", End(succeeded=False, node="n1", said="selinux disabled", reason="", failure="", seconds=0.1))
    assert cut.failure[0] == "ProbeInterrupted"
