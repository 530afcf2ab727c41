"""What the node's daemons are told; that they understand it is seen on a cluster."""

from __future__ import annotations

import json
import re
import tomllib
from ipaddress import IPv4Network, ip_address
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.cluster.simulated_nodes import device_node, platform_node
from kubeflow_volcano.rehearsal.inside import placement
from kubeflow_volcano.rehearsal.node.cgroups import Layout, NodeCgroup
from kubeflow_volcano.rehearsal.node.daemons import NODE_PROGRAMS, Parts, node_duty
from kubeflow_volcano.rehearsal.node.files import (
    DNS_ADDRESS,
    PAUSE_IMAGE,
    PLACEMENT_PORT,
    REGISTRY_PORT,
    NodeFacts,
    node_files,
)
from kubeflow_volcano.rehearsal.node.network import SERVICE_RANGE, VethPair
from kubeflow_volcano.rehearsal.node.node import Node
from kubeflow_volcano.rehearsal.spec import GPU, ClusterPaths, NodeKind
from tests.places import ROOT

ADDONS = ROOT / "kubeflow_volcano/rehearsal/addons"
VETH = VethPair("kfv12345678", IPv4Network("10.213.4.0/30"), "12345678")
FACTS = NodeFacts("rehearsal-1", VETH, "kfv-x-12345678", may_lower_oom_score=False)


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ADDONS / name).read_text()))


def node(tmp_path: Path, **parts: Path) -> Node:
    programs = {name: tmp_path / "tools/all-1/bin" / name for name in NODE_PROGRAMS} | parts
    cgroup = NodeCgroup(Layout("none", ()), FACTS.cgroup)
    return Node(ClusterPaths(tmp_path / "x"), FACTS, cgroup, Parts(programs, tmp_path / "images"))


def test_containerd_s_configuration_is_toml_and_says_what_was_proved() -> None:
    config = tomllib.loads(node_files(FACTS)["etc/containerd/config.toml"])

    runtime = config["plugins"]["io.containerd.cri.v1.runtime"]
    assert config["version"] == 3
    assert runtime["restrict_oom_score_adj"] is True
    assert runtime["containerd"]["runtimes"]["runc"]["options"]["SystemdCgroup"] is False
    assert config["plugins"]["io.containerd.cri.v1.images"]["pinned_images"]["sandbox"] == PAUSE_IMAGE


def test_with_cap_sys_resource_scores_are_not_restricted() -> None:
    facts = NodeFacts("n", VETH, "kfv", may_lower_oom_score=True)

    config = tomllib.loads(node_files(facts)["etc/containerd/config.toml"])

    assert config["plugins"]["io.containerd.cri.v1.runtime"]["restrict_oom_score_adj"] is False


def test_every_registry_is_mirrored_to_the_node_s_own() -> None:
    hosts = tomllib.loads(node_files(FACTS)["etc/containerd/certs.d/_default/hosts.toml"])

    assert hosts["server"] == f"http://127.0.0.1:{REGISTRY_PORT}"
    assert list(hosts["host"]) == [hosts["server"]]


def test_the_kubelet_keeps_its_pods_below_the_cluster_s_group() -> None:
    config = json.loads(node_files(FACTS)["etc/rehearsal/kubelet.json"])

    assert config["cgroupRoot"] == "/kfv-x-12345678"
    assert config["clusterDNS"] == ["10.96.0.10"]
    assert config["authentication"]["anonymous"]["enabled"] is False


def test_kube_proxy_leaves_the_host_s_connection_table_alone() -> None:
    config = json.loads(node_files(FACTS)["etc/rehearsal/kube-proxy.json"])

    assert (config["conntrack"]["maxPerCore"], config["conntrack"]["min"]) == (0, 0)


def test_no_argument_of_a_daemon_is_a_secret() -> None:
    words = [word for daemon in node_duty(FACTS).daemons for word in daemon.command]

    assert not [word for word in words if "BEGIN" in word or "password" in word.lower() or "token=" in word]
    keys = [word for word in words if ".key" in word]
    assert keys
    assert all("=/etc/kubernetes/pki/" in word for word in keys)


def test_daemons_have_different_names_and_the_control_plane_waits_for_the_api() -> None:
    daemons = {daemon.name: daemon for daemon in node_duty(FACTS).daemons}

    assert len(daemons) == len(node_duty(FACTS).daemons)
    assert {name for name, daemon in daemons.items() if not daemon.needs_api} == {
        "containerd",
        "etcd",
        "kube-apiserver",
        "placement",
        "registry",
    }
    assert daemons["kubelet"].command[0] == "kubelet"
    assert daemons["kubelet"].program == "/host/bin/kube"


def test_a_fingerprint_changes_with_the_programs_and_not_with_who_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = node(tmp_path).fingerprint()
    assert node(tmp_path).fingerprint() == former

    assert node(tmp_path, kwok=tmp_path / "tools/kwok-2/bin/kwok").fingerprint() != former

    for prefix in ("/opt/other", "/usr"):
        monkeypatch.setattr("sys.executable", f"{prefix}/bin/python3.13")
        monkeypatch.setattr("sys.base_prefix", prefix)
        assert node(tmp_path).fingerprint() == former


def test_programs_are_linked_into_one_directory_from_where_they_are_bound(tmp_path: Path) -> None:
    parts = Parts({name: tmp_path / f"tools/{name}-1/bin/{name}" for name in NODE_PROGRAMS}, tmp_path)

    targets = {bind.target for bind in parts.binds()}

    assert all(link.rpartition("/")[0] in targets for link in parts.links().values())
    assert parts.links()["runc"] == "/host/tools/runc-1/runc"


def test_the_folder_inside_holds_what_the_node_runs_and_nothing_else() -> None:
    room = "kubeflow_volcano.rehearsal.inside"
    modules = {path.stem: path.read_text() for path in (ROOT / room.replace(".", "/")).glob("*.py")}
    commands = [word for daemon in node_duty(FACTS).daemons for word in daemon.command if word.startswith(f"{room}.")]
    reached: set[str] = set()
    found = {"__init__", "boot", "supervisor", *(word.removeprefix(f"{room}.") for word in commands)}
    while found - reached:
        reached |= found
        imported = (re.findall(rf"from {re.escape(room)}\.(\w+) import", modules[name]) for name in reached)
        found = {name for names in imported for name in names}

    assert reached == set(modules)


@pytest.mark.parametrize("name", ["cluster-dns.yaml", "control-plane.yaml", "kwok-stages.yaml"])
def test_addons_are_objects_with_names_and_no_two_are_alike(name: str) -> None:
    refs = [(item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in documents(name)]

    assert refs
    assert len(set(refs)) == len(refs)


def test_the_dns_service_has_the_address_that_pods_are_told() -> None:
    (service,) = [item for item in documents("cluster-dns.yaml") if item["kind"] == "Service"]

    assert service["spec"]["clusterIP"] == str(DNS_ADDRESS)
    assert ip_address(service["spec"]["clusterIP"]) in SERVICE_RANGE


def test_images_of_the_cluster_s_own_are_assembled_by_every_generation() -> None:
    (deployment,) = [item for item in documents("cluster-dns.yaml") if item["kind"] == "Deployment"]
    used = {PAUSE_IMAGE, *(item["image"] for item in deployment["spec"]["template"]["spec"]["containers"])}

    assert used <= {name for image in load_generation("1.30").images for name in image.names}


def test_every_program_of_the_node_is_built_by_every_generation() -> None:
    tools = load_generation("1.30").tools

    assert set(NODE_PROGRAMS) <= {name for tool in tools for name in (*tool.programs, *tool.links)}


def test_the_placement_webhook_lets_pods_pass_when_it_is_away_and_never_touches_the_system() -> None:
    (configuration,) = [item for item in documents("control-plane.yaml") if item["kind"].startswith("Mutating")]
    pods, daemon_sets = configuration["webhooks"]

    for webhook in (pods, daemon_sets):
        assert webhook["failurePolicy"] == "Ignore"
        assert webhook["clientConfig"]["url"] == f"https://127.0.0.1:{PLACEMENT_PORT}/"
    assert pods["namespaceSelector"]["matchExpressions"][0]["values"] == ["kube-system"]


def test_stages_end_a_pod_by_annotation_alone() -> None:
    stages = {item["metadata"]["name"]: item["spec"] for item in documents("kwok-stages.yaml")}

    assert set(stages) == {
        "node-becomes-ready",
        "node-heartbeat",
        "pod-runs",
        "pod-succeeds",
        "pod-fails",
        "pod-is-deleted",
    }
    ending = {
        name: spec for name, spec in stages.items() if "phase: Succeeded" in str(spec) or "phase: Failed" in str(spec)
    }
    assert set(ending) == {"pod-succeeds", "pod-fails"}
    for spec in ending.values():
        keys = [item["key"] for item in spec["selector"]["matchExpressions"] if item["operator"] == "Exists"]
        assert keys == [spec["delay"]["durationFrom"]["expressionFrom"]]
        assert "rehearsal.kubeflow-volcano.io/" in keys[0]


def test_a_simulated_node_offers_gpus_and_keeps_other_pods_away() -> None:
    node = device_node("gpu-3", NodeKind("gpu", 3, {GPU: 2}), "v1.30.2")

    assert node["metadata"]["name"] == "gpu-3"
    assert node["metadata"]["labels"]["type"] == "kwok"
    assert node["metadata"]["annotations"]["kwok.x-k8s.io/node"] == "fake"
    assert node["spec"]["taints"] == [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]
    assert node["status"]["capacity"][GPU] == node["status"]["allocatable"][GPU] == "2"
    assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.30.2-simulated"


def test_a_node_is_what_its_kind_describes_and_stays_a_simulated_one() -> None:
    labels = {"accelerator-type": "module-910b-8", "kubernetes.io/arch": "arm64", "type": "mine"}
    node = device_node("atlas-1", NodeKind("atlas", 2, {"huawei.com/Ascend910": 8}, labels), "v1.30.2")

    assert node["metadata"]["labels"].items() >= {**labels, **placement.TRAINING_POOL}.items()
    assert node["status"]["allocatable"].items() >= {"huawei.com/Ascend910": "8", "cpu": "32"}.items()
    assert node["status"]["nodeInfo"]["architecture"] == "arm64"


def test_the_node_of_kubeflow_s_parts_offers_no_gpus_and_is_another_pool() -> None:
    node = platform_node("v1.30.2")

    assert GPU not in node["status"]["allocatable"]
    assert node["metadata"]["labels"].items() >= placement.PLATFORM_POOL.items()
    assert node["spec"]["taints"] == device_node("gpu-1", NodeKind("gpu", 1, {GPU: 1}), "v1.30.2")["spec"]["taints"]
    assert placement.TRAINING_POOL != placement.PLATFORM_POOL
