"""Every check of hosts holds on a good host, and says what it found on one that was made wrong."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.inventory import Mirrored
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from kubeflow_volcano.validators.hosts import CHECKS
from kubeflow_volcano.validators.hosts.system import ALWAYS_BUILT
from tests.places import ROOT
from tests.samples.facts import NOW, node
from tests.samples.hosts import GB, answer, broken, facts, host, place, sysctl

BY_ID = {item.id: item for item in CHECKS}
MIRROR: dict[str, Any] = {"mirror_names": ("reg.lan",), "mirror_mode": "containerd"}
CIDRS: dict[str, Any] = {"networks": {"services": "10.96.0.0/12", "pods": "10.244.0.0/16"}}
RUNTIME_1_35: dict[str, Any] = {"runtime": {"version": "1.7.28"}, "kubelet": {"version": "1.35.0"}}


def judged(id_: str, found: Facts) -> Outcome:
    return BY_ID[id_](found)


def proxy(of: str, name: str, value: str) -> dict[str, str]:
    return {"of": of, "where": "process 7", "name": name, "value": value}


@pytest.mark.parametrize("item", CHECKS, ids=lambda item: str(item.id))
def test_every_check_holds_on_good_hosts_of_a_good_cluster(item: Check) -> None:
    good = facts(host("n1"), host("n2"), nodes=[node("n1"), node("n2")], server="v1.30.2", **MIRROR)
    outcome = item(good)
    assert (outcome.status, outcome.objects != ()) == (Status.PASS, True), outcome.message


@pytest.mark.parametrize(
    ("id_", "parts", "reason", "said"),
    [
        ("P2", {"machine": {"uid": 1000}}, "NotRoot", "uid 1000 on n1"),
        ("P5", {"machine": {"architecture": "riscv64"}}, "NoImages", "riscv64 has no images"),
        ("P5", {"machine": {"architecture": "aarch64"}}, "NotPlanned", "aarch64 (arm64) is not planned for"),
        ("P6", {"modules": {"states": {"xt_owner": "absent"}}}, "ModuleAbsent", "no module xt_owner"),
        (
            "P6",
            {"modules": {"states": {"overlay": "forbidden"}}},
            "ModuleForbidden",
            "the host forbids loading overlay",
        ),
        ("P7", {"sysctls": {"net.ipv4.ip_forward": sysctl("0")}}, "SettingWrong", "net.ipv4.ip_forward is 0, not 1"),
        (
            "P7",
            {"sysctls": {"kernel.panic": sysctl("0")}, "kubelet": {"protect_kernel_defaults": True}},
            "SettingWrong",
            "kernel.panic is 0, not 10",
        ),
        ("P8", {"sysctls": {"fs.inotify.max_user_instances": sysctl("128")}}, "SettingWrong", "is 128, not 1280"),
        ("P10", {"cgroup": {"controllers": ["cpu", "pids"]}}, "ControllerMissing", "without memory"),
        ("P10", {"kubelet": {"version": "1.35.0"}}, "OldVersion", "the kubelet refuses from Kubernetes 1.35"),
        (
            "P10",
            {"cgroup": {"version": 2, "delegated": ["memory", "pids"]}},
            "CpuNotDelegated",
            "a realtime process outside of the root group prevents that",
        ),
        (
            "P11",
            {"runtime": {"cgroup_driver": "cgroupfs"}},
            "DriversDiffer",
            "the kubelet uses systemd, containerd uses cgroupfs",
        ),
        (
            "P11",
            {"kubelet": {"cgroup_driver": ""}},
            "DriversDiffer",
            "the kubelet uses cgroupfs, containerd uses systemd",
        ),
        ("P12", {"runtime": {"name": ""}}, "NoRuntime", "no container runtime"),
        ("P12", {"runtime": {"socket": False}}, "NoSocket", "the endpoint of the kubelet does not exist"),
        ("P12", {"runtime": {"name": "docker", "through": "dockershim"}}, "Dockershim", "dropped in 1.24"),
        ("P12", {"runtime": {"name": "isulad", "cri_v1": False}}, "OldCri", "supports CRI v1alpha2 only"),
        ("P13", {"runtime": {"version": "1.5.9"}}, "NoCriV1", "containerd 1.5.9 has no CRI v1"),
        ("P12", {"runtime": {"running": False}}, "NotRunning", "containerd is not running"),
        ("P13", {"runtime": {"config_version": 3}}, "ConfigurationTooNew", "of version 3"),
        (
            "P13",
            {"runtime": {"config_readable": False}},
            "ConfigurationBroken",
            "it will not start again after the next restart",
        ),
        (
            "P16",
            {"swap": {"devices": [{"name": "/dev/dm-1", "type": "partition", "kib": 8388608}]}},
            "SwapOn",
            "swap is in use: n1 (/dev/dm-1 8.0 GiB)",
        ),
        ("P17", {"time": {"epoch": NOW + 10800}}, "ClockWrong", "n1 (10800 s ahead)"),
        ("P17", {"time": {"epoch": NOW - 90}}, "ClockWrong", "n1 (90 s behind)"),
        ("P19", {"paths": {"images": place("/var/lib/containerd", free=5 * GB)}}, "DiskFull", "5.0 of 100.0 GB free"),
        ("P19", {"paths": {"volumes": place("/data", bytes=40 * GB, free=39 * GB)}}, "DiskSmall", "smaller than 50 GB"),
        ("P20", {"paths": {"images": place("/var/lib/containerd", inodes_free=9)}}, "InodesUsedUp", "9 of 1000 free"),
        ("P21", {"paths": {"volumes": place("/data", type="tmpfs")}}, "InMemory", "on tmpfs, which a boot empties"),
        ("P21", {"paths": {"kubelet": place("/k", options=["noexec", "rw"])}}, "NoExec", "with noexec"),
        ("P21", {"paths": {"images": place("/c", options=["ro"])}}, "ReadOnly", "read-only"),
        ("P22", {"machine": {"cpus": 2}}, "TooSmall", "2 CPUs and 32.0 GB of memory on 1 host"),
        (
            "P23",
            {"names": {"reg.lan": {"addresses": [], "error": "Name or service not known"}}},
            "NameNotFound",
            "reg.lan does not resolve (Name or service not known)",
        ),
        (
            "P24",
            {"proxies": [proxy("kube-apiserver", "HTTPS_PROXY", "http://p:1")], **CIDRS},
            "ProxyInBetween",
            "kube-apiserver uses the proxy http://p:1, and its NO_PROXY lacks 10.96.0.0/12, 10.244.0.0/16, .svc",
        ),
    ],
)
def test_what_cannot_work_fails_and_names_the_host(id_: str, parts: dict[str, Any], reason: str, said: str) -> None:
    outcome = judged(id_, facts(host("n1", **parts), **MIRROR))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason), outcome.message
    assert said in outcome.message
    assert [ref.name for ref in outcome.objects] == ["n1"]
    assert outcome.todo
    assert outcome.expected


@pytest.mark.parametrize(
    ("id_", "parts", "reason"),
    [
        ("P4", {"os": {"version_id": "20.03"}}, "UnknownRelease"),
        ("P4", {"os": {"version_id": "22.03", "version": "22.03 (LTS-SP1)", "release_file": ""}}, "OldServicePack"),
        ("P4", {"os": {"id": "debian", "like": ""}}, "UnknownSystem"),
        ("P6", {"modules": {"states": {"overlay": "loadable"}, "at_boot": []}}, "NotAtBoot"),
        ("P6", {"modules": {"states": {"overlay": "loaded"}, "at_boot": []}}, "NotAtBoot"),
        ("P6", {"modules": {"states": {"br_netfilter": "absent"}}}, "ModuleAbsent"),
        ("P6", {"modules": {"states": {"overlay": "unknown"}, "directory": False}}, "KernelFilesGone"),
        ("P7", {"sysctls": {"net.bridge.bridge-nf-call-iptables": sysctl("0")}}, "SettingWrong"),
        ("P8", {"sysctls": {"fs.inotify.max_user_instances": sysctl("1000")}}, "SettingWrong"),
        ("P8", {"inotify": {"used": {"0": 1200}}}, "NearlyUsedUp"),
        ("P9", {"sysctls": {"net.ipv4.ip_forward": sysctl("1", ("0", "/etc/sysctl.conf"))}}, "TakenBack"),
        (
            "P9",
            {
                "modules": {"states": {"br_netfilter": "loadable"}},
                "sysctls": {"net.bridge.bridge-nf-call-iptables": sysctl("", ("0", "/etc/sysctl.d/50-bridge.conf"))},
            },
            "TakenBack",
        ),
        (
            "P9",
            {"sysctls": {"net.ipv4.ip_forward": sysctl("1", ("1", "/etc/sysctl.d/z.conf"), ("0", "/etc/sysctl.conf"))}},
            "TakenBack",
        ),
        ("P10", {"kubelet": {"version": "1.35.0", "fail_cgroup_v1": False}}, "OldVersionTolerated"),
        ("P12", {"runtime": {"name": "docker", "through": "cri-dockerd"}}, "OtherEngine"),
        ("P12", {"runtime": {"name": "cri-o"}}, "OtherEngine"),
        ("P12", {"runtime": {"name": "isulad", "cri_v1": True}}, "OtherEngine"),
        ("P12", {"runtime": {"origin": "installed", "running": False}}, "NotRunning"),
        ("P13", {"runtime": {"version": "1.7.2"}}, "NotTested"),
        ("P13", {"runtime": {"version": "2.0.6"}, "kubelet": {"version": "1.35.1"}}, "NotTested"),
        ("P14", {"selinux": {"mode": "enforcing", "configured": "enforcing"}}, "Enforcing"),
        ("P14", {"selinux": {"mode": "permissive", "configured": "enforcing"}}, "EnforcingAfterBoot"),
        ("P15", {"firewall": {"active": ["nftables"]}}, "OtherFirewall"),
        ("P15", {"firewall": {"active": ["firewalld"]}}, "NetworksUnknown"),
        ("P15", {"firewall": {"active": ["firewalld"]}, **CIDRS}, "NotAccepted"),
        ("P15", {"firewall": {"active": ["firewalld"], "zones_trouble": "no reply"}, **CIDRS}, "ZonesUnknown"),
        ("P16", {"swap": {"fstab": ["/dev/vdb none swap sw 0 0"]}}, "SwapAfterBoot"),
        (
            "P16",
            {"swap": {"devices": [{"name": "a", "type": "file", "kib": 1}]}, "kubelet": {"fail_swap_on": False}},
            "SwapTolerated",
        ),
        ("P17", {"time": {"epoch": NOW + 20}}, "ClockOff"),
        ("P18", {"time": {"service": "", "synchronised": False}}, "NotKept"),
        ("P18", {"time": {"synchronised": False}}, "NotSynchronised"),
        ("P19", {"paths": {"images": place("/c", free=18 * GB)}}, "DiskFilling"),
        ("P20", {"paths": {"images": place("/c", inodes_free=80)}}, "InodesUsedUp"),
        ("P21", {"paths": {"volumes": place("/data", options=["noexec"])}}, "NoExec"),
        ("P24", {"proxies": [proxy("containerd", "HTTPS_PROXY", "http://p:1")]}, "ProxyInBetween"),
    ],
)
def test_what_needs_attention_warns(id_: str, parts: dict[str, Any], reason: str) -> None:
    outcome = judged(id_, facts(host("n1", **parts)))
    assert (outcome.status, outcome.reason) == (Status.WARN, reason), outcome.message
    assert outcome.todo


@pytest.mark.parametrize(
    ("id_", "parts"),
    [
        ("P4", {"os": {"id": "rocky", "like": "rhel centos fedora"}}),
        ("P4", {"os": {"version_id": "22.03", "version": "22.03 (LTS-SP4)"}}),
        ("P6", {"modules": {"states": {"overlay": "builtin"}, "at_boot": []}}),
        ("P7", {"sysctls": {"net.bridge.bridge-nf-call-iptables": sysctl("")}}),
        ("P7", {"sysctls": {"kernel.panic": sysctl("0")}}),
        ("P10", {"cgroup": {"version": 2, "delegated": ["cpu", "memory", "pids"]}, "kubelet": {"version": "1.35.0"}}),
        ("P11", {"kubelet": {"version": "1.31.0"}, "runtime": {"version": "2.0.1", "cgroup_driver": "cgroupfs"}}),
        ("P13", {"runtime": {"version": "2.9.0"}}),
        ("P13", RUNTIME_1_35),
        ("P14", {"selinux": {"mode": "disabled", "configured": ""}}),
        (
            "P15",
            {"firewall": {"active": ["firewalld"], "zones": {"trusted": ["10.96.0.0/12", "10.244.0.0/16"]}}, **CIDRS},
        ),
        ("P20", {"paths": {"images": place("/c", type="btrfs", inodes=0, inodes_free=0)}}),
        (
            "P24",
            {
                "proxies": [
                    proxy("kube-apiserver", "HTTPS_PROXY", "http://p:1"),
                    proxy("kube-apiserver", "NO_PROXY", "10.0.0.0/8,.svc"),
                ],
                **CIDRS,
            },
        ),
        (
            "P10",
            {
                "cgroup": {"version": 2, "delegated": ["memory", "pids"], "realtime_groups": False},
                "kubelet": {"running": False},
            },
        ),
    ],
)
def test_what_looks_odd_and_works_passes(id_: str, parts: dict[str, Any]) -> None:
    outcome = judged(id_, facts(host("n1", **parts)))
    assert outcome.status is Status.PASS, outcome.message


def test_a_clock_is_not_blamed_for_the_way_of_the_question() -> None:
    slow = host("n1", took=200.0, time={"epoch": NOW - 90})
    assert judged("P17", facts(slow)).status is Status.PASS


@pytest.mark.parametrize(("id_", "kind"), [("P1", "reach"), ("P1", "module"), ("P2", "become"), ("P3", "python")])
def test_hosts_that_do_not_answer_are_named_once_with_their_reason_and_the_others_are_judged(
    id_: str, kind: str
) -> None:
    why = "No route to host."
    found = facts(host("n1"), broken("n2", kind, why), broken("n3", kind, why))
    outcome = judged(id_, found)
    assert (outcome.status, outcome.message) == (Status.FAIL, f"n2, n3: {why}")
    others = {item.id: item(found).status for item in CHECKS if item.id not in {id_, "P25", "P26", "P23"}}
    assert set(others.values()) == {Status.PASS}


def test_what_sudo_says_is_told_in_plain_words() -> None:
    said = "Module result deserialization failed: No start of json char found. sudo: a password is required"
    outcome = judged("P2", facts(host("n1"), broken("n2", "become", said)))
    assert outcome.message.startswith("n2: ")
    assert "deserialization" not in outcome.message
    assert "password" in outcome.message


def test_where_no_host_answers_only_the_reason_is_told() -> None:
    found = facts(broken("n1", "reach", "Connection refused"))
    outcomes = {item.id: item(found) for item in CHECKS if item.id not in {"P23", "P25", "P26"}}
    assert outcomes.pop("P1").status is Status.FAIL
    assert {outcome.status for outcome in outcomes.values()} == {Status.SKIP}


@pytest.mark.parametrize("item", [item for item in CHECKS if item.id not in {"P1", "P2", "P3", "P22", "P25", "P26"}])
def test_a_host_that_answers_nonsense_could_not_be_looked_at_and_hides_no_other(item: Check) -> None:
    nonsense: dict[str, Any] = dict.fromkeys(set(answer()) - {"troubles", "networks"}, 7)
    strange = host("n2", **nonsense)
    outcome = item(facts(host("n1"), strange, **MIRROR))
    assert outcome.status is Status.ERROR, outcome.message
    assert "not be examined" in outcome.message
    assert [ref.name for ref in outcome.objects] == ["n2"]


def test_a_version_that_is_none_could_not_be_looked_at() -> None:
    outcome = judged("P13", facts(host("n1", runtime={"version": "latest"})))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "NotLookedAt")


def test_docker_is_refused_where_its_mirrors_are_to_be_configured() -> None:
    outcome = judged("P12", facts(host("n1", runtime={"name": "docker", "through": "cri-dockerd"}), **MIRROR))
    assert outcome.status is Status.FAIL
    assert "Docker Hub only" in outcome.message


PAUSE, THERE = "registry.k8s.io/pause:3.8", "reg.lan/registry.k8s.io/pause:3.8"


@pytest.mark.parametrize(
    ("mode", "sandboxes", "reason"),
    [
        ("none", {}, "AsClaimed"),
        ("rewrite", {}, "AsClaimed"),
        ("rewrite", {PAUSE: Mirrored(THERE, served=True)}, "AsClaimed"),
        ("rewrite", {PAUSE: Mirrored(PAUSE, served=True)}, "AsClaimed"),
        ("rewrite", {PAUSE: Mirrored(PAUSE, served=False)}, "SandboxNotServed"),
        ("containerd", {PAUSE: Mirrored(THERE, served=True)}, "AsClaimed"),
        ("containerd", {PAUSE: Mirrored(THERE, served=None)}, "AsClaimed"),
        ("containerd", {PAUSE: Mirrored(THERE, served=False)}, "SandboxNotServed"),
    ],
)
def test_a_sandbox_image_that_the_mirror_does_not_give_is_a_warning(
    mode: str, sandboxes: dict[str, Mirrored], reason: str
) -> None:
    outcome = judged("P12", facts(host("n1"), mirror_mode=mode, sandboxes=sandboxes))
    assert outcome.reason == reason, outcome.message
    assert outcome.status is (Status.PASS if reason == "AsClaimed" else Status.WARN)


def test_what_is_not_known_of_a_sandbox_image_is_said() -> None:
    unread = judged("P12", facts(host("n1", runtime={"sandbox": ""}), **MIRROR))
    assert (unread.status, unread.reason) == (Status.WARN, "SandboxUnknown")
    open_ = judged("P12", facts(host("n1"), **MIRROR, sandboxes={PAUSE: Mirrored(THERE)}))
    assert "is not known" in str(open_.observed)


def test_volumes_are_asked_of_workers_only() -> None:
    small: dict[str, Any] = {"volumes": place("/data", bytes=GB, free=GB)}
    master = host("m1", groups=["control_plane"], paths=small)
    assert judged("P19", facts(master, host("n1", groups=["nodes"]))).status is Status.PASS
    assert judged("P19", facts(host("m1", groups=["control_plane", "nodes"], paths=small))).status is Status.FAIL


ARM: dict[str, Any] = {"machine": {"architecture": "aarch64"}}
BOTH = ("amd64", "arm64")


def test_images_that_are_not_built_for_a_host_fail_where_no_other_host_can_take_their_pods() -> None:
    lacking = {"arm64": ("gcr.io/ml-pipeline/api-server:2.3.0",)}
    alone = facts(host("n1", **ARM), architectures=BOTH, lacking=lacking)
    mixed = facts(host("n1", **ARM), host("n2"), architectures=BOTH, lacking=lacking)
    assert (judged("P5", alone).status, judged("P5", mixed).status) == (Status.FAIL, Status.WARN)
    assert re.search(r"aarch64 \(arm64\): 1 image .*: gcr\.io/ml", judged("P5", alone).message)
    assert judged("P5", facts(host("n1", **ARM), architectures=BOTH, images_unknown="no source")).status is Status.WARN
    assert judged("P5", facts(host("n1", **ARM), architectures=BOTH)).status is Status.PASS


def test_every_image_that_the_catalog_knows_was_built_for_amd64() -> None:
    known = load("images/architectures")["images"]
    assert [item for item in known if ALWAYS_BUILT not in item["architectures"]] == []


def test_hosts_that_cannot_be_told_apart_are_told_together() -> None:
    copies = [host(name, machine={"identity": "copy"}) for name in ("n1", "n2")]
    outcome = judged("P28", facts(*copies, host("n3")))
    assert (outcome.status, outcome.reason) == (Status.WARN, "SameMachine")
    assert re.fullmatch(".* /etc/machine-id .*: n1, n2.", outcome.message)
    twins = [host(name, machine={"hostname": "localhost"}) for name in ("n1", "n2")]
    assert "hostname localhost: n1, n2" in judged("P28", facts(*twins)).message
    unknown = [host(name, machine={"identity": ""}) for name in ("n1", "n2")]
    assert judged("P28", facts(*unknown)).status is Status.PASS


@pytest.mark.parametrize(
    ("kubelet", "server", "status", "reason"),
    [
        ({"running": False}, "v1.30.2", Status.FAIL, "KubeletNotRunning"),
        ({"running": False}, "", Status.WARN, "KubeletNotRunning"),
        ({"running": False, "program": ""}, "", Status.PASS, "AsClaimed"),
        ({"version": "1.31.0"}, "v1.30.2", Status.FAIL, "VersionSkew"),
        ({"version": "1.27.4"}, "v1.30.2", Status.PASS, "AsClaimed"),
        ({"version": "1.26.4"}, "v1.30.2", Status.FAIL, "VersionSkew"),
        ({"version": "1.24.9"}, "v1.27.3", Status.FAIL, "VersionSkew"),
        ({"version": "1.25.9"}, "v1.28.3", Status.PASS, "AsClaimed"),
        ({"version": ""}, "v1.30.2", Status.PASS, "AsClaimed"),
    ],
)
def test_a_kubelet_runs_and_is_neither_newer_nor_much_older_than_the_server(
    kubelet: dict[str, Any], server: str, status: Status, reason: str
) -> None:
    outcome = judged("P27", facts(host("n1", kubelet=kubelet), server=server))
    assert (outcome.status, outcome.reason) == (status, reason), outcome.message


def test_a_kubelet_that_runs_and_cannot_be_reached_is_told_and_one_that_does_not_run_is_not() -> None:
    refused = {"10.0.0.2:10250": "timed out", "[fd00::2]:6443": "timed out", "10.9.9.9:10250": "timed out"}
    where = {"n1": "10.0.0.1", "n2": "10.0.0.2"}
    outcome = judged("P15", facts(host("n1", connections=refused), host("n2"), addresses=where))
    assert (outcome.status, outcome.reason) == (Status.WARN, "NotConnected")
    assert re.fullmatch(r".* n2 at 10\.0\.0\.2:10250 \(timed out\): n1\.", outcome.message)
    stopped = host("n2", kubelet={"running": False})
    assert judged("P15", facts(host("n1", connections=refused), stopped, addresses=where)).status is Status.PASS


def test_an_api_server_that_cannot_be_reached_is_told() -> None:
    refused = {"[fd00::2]:6443": "No route to host"}
    master = host("m1", networks={"services": "10.96.0.0/12"})
    outcome = judged("P15", facts(host("n1", connections=refused), master, addresses={"m1": "fd00::2"}))
    assert re.search(r"m1 .*\[fd00::2\]:6443 .*: n1", outcome.message)


def test_sums_count_workers_and_stay_open_where_hosts_are_left_out() -> None:
    two = [host(name, machine={"cpus": 2, "memory_bytes": 6 * GB}) for name in ("n1", "n2")]
    assert judged("P22", facts(*two)).status is Status.PASS
    assert judged("P22", facts(two[0], left_out=("n2",))).status is Status.SKIP
    assert judged("P22", facts(two[0], broken("n2", "reach", "gone"))).status is Status.ERROR


def test_firewalld_gets_commands_for_now_and_for_good_and_is_never_reloaded() -> None:
    outcome = judged("P15", facts(host("n1", firewall={"active": ["firewalld"], "flushes": True}, **CIDRS)))
    assert outcome.changes[:2] == (
        "firewall-cmd --zone=trusted --add-source=10.244.0.0/16",
        "firewall-cmd --permanent --zone=trusted --add-source=10.244.0.0/16",
    )
    assert "FlushAllOnReload" in outcome.message


def test_a_cluster_that_does_not_answer_fails_and_none_at_all_is_skipped() -> None:
    silent = facts(host("n1"))
    for reason, status in (("Unreachable", Status.FAIL), ("NoKubeconfig", Status.SKIP)):
        silent = Facts(
            silent.expectations, NOW, unread={"cluster": Unread(reason, "why", "do")}, inventory=silent.inventory
        )
        assert judged("P25", silent).status is status
    assert judged("P25", facts(host("n1"), server="v1.22.1")).reason == "VersionOutsideRange"


def test_a_host_that_is_no_node_is_told_with_the_name_that_it_has() -> None:
    outcome = judged("P26", facts(host("web", machine={"hostname": "n1"}), nodes=[node("n1")], server="v1.30.2"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoSuchNode")
    assert re.search("for web; .* web is n1.", outcome.message)


def test_a_node_that_is_not_in_the_inventory_is_told() -> None:
    outcome = judged("P26", facts(host("n1"), nodes=[node("n1"), node("n2")], server="v1.30.2"))
    assert (outcome.status, outcome.reason) == (Status.WARN, "NodesLeftOut")


def test_the_readme_of_the_role_lists_every_check() -> None:
    readme = (ROOT / "roles/preflight/README.md").read_text("utf-8")
    rows = [f"| {item.id} | {item.slug} | {item.severity} | {item.title}. |" for item in CHECKS]
    assert "\n".join(rows) in readme


def test_a_host_that_is_not_reached_gets_the_remedy_of_its_own_message() -> None:
    denied = "Failed to connect to the host via ssh: ops@192.0.2.1: Permission denied (publickey,password)."
    strange = "something that no table has"
    lost = [broken("a", "reach", denied), broken("b", "module", strange)]
    outcome = judged("P1", facts(*lost))
    known = recognise(denied, "ssh")
    assert known is not None
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NotReached")
    assert known.todo in outcome.todo
    assert "is up" in outcome.todo
    assert judged("P1", facts(*lost[:1])).todo == known.todo
