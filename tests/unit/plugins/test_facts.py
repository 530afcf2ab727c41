"""The module that looks at a host: what it makes of files, and that Python 3.9 and 3.11 both run it whole."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ansible
import pytest

from ansible_collections.kubeflow_volcano.platform.plugins.module_utils import host_files, programs
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.disks import Mount, mount_of, mounts
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.kernel import (
    look_cgroup,
    look_modules,
    look_sysctls,
)
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.kubelet import look_kubelet
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.network import look_connections, look_proxies
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.processes import Process, daemon_of
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.runtimes import look_runtime
from ansible_collections.kubeflow_volcano.platform.plugins.module_utils.system import look_firewall, look_swap, zones_of
from ansible_collections.kubeflow_volcano.platform.plugins.modules import kfv_host_facts
from kubeflow_volcano.hosts.facts import HostFacts
from kubeflow_volcano.hosts.kernel import SYSCTLS, modules_for
from tests.places import ROOT

PYTHONS = [*sorted((Path.home() / ".pyenv/versions").glob("3.9.*/bin/python3")), Path(sys.executable)]
"""The oldest that hosts may have, where this machine has one, and this one."""
Files = Callable[[Mapping[str, str]], None]


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Files:
    """Writes files of a host, which the module then sees below its root."""
    monkeypatch.setattr(host_files, "ROOT", str(tmp_path))

    def write(texts: Mapping[str, str]) -> None:
        for path, text in texts.items():
            target = tmp_path / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")

    return write


@pytest.mark.programs
@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[-3])
def test_a_host_answers_everything_and_it_is_understood(python: Path) -> None:
    arguments = {
        "modules": list(modules_for(["istio"])),
        "sysctls": [item.name for item in SYSCTLS],
        "names": ["localhost", "nowhere.invalid"],
        "paths": {"volumes": "/nonexistent/volumes"},
    }
    done = subprocess.run(
        [python, "-m", "plugins.modules.kfv_host_facts"],
        input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}),
        env=os.environ | {"PYTHONPATH": f"{Path(ansible.__file__).parents[1]}:{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    answer = json.loads(done.stdout)
    facts = HostFacts.decode(answer["facts"])
    assert (answer["changed"], facts.troubles) == (False, {})
    assert f"python{facts.need('machine').python}".startswith(python.resolve().name)
    assert facts.need("names")["localhost"].addresses
    assert facts.need("names")["nowhere.invalid"].error
    assert facts.need("paths")["volumes"].bytes > 0
    assert abs(facts.need("time").epoch - time.time()) < 60


def test_modules_are_loaded_built_in_loadable_forbidden_or_absent(files: Files) -> None:
    tree = f"/lib/modules/{os.uname().release}"
    files(
        {
            "/proc/modules": "overlay 151552 3 - Live 0x0\n",
            f"{tree}/modules.builtin": "kernel/net/netfilter/nf_conntrack.ko\n",
            f"{tree}/modules.dep": "kernel/br-netfilter.ko.xz: kernel/net/bridge/bridge.ko.xz\nkernel/xt_owner.ko:\n",
            "/etc/modprobe.d/hard.conf": "install xt_owner /bin/false\nblacklist br_netfilter\n",
            "/usr/lib/modules-load.d/a.conf": "# containers\noverlay\n",
            "/etc/modules-load.d/a.conf": "; none\n",
            "/etc/modules-load.d/b.conf": "br-netfilter\n",
        },
    )
    found = look_modules(["overlay", "nf_conntrack", "br_netfilter", "xt_owner", "iptable_nat"])
    assert found["states"] == {
        "overlay": "loaded",
        "nf_conntrack": "builtin",
        "br_netfilter": "loadable",
        "xt_owner": "forbidden",
        "iptable_nat": "absent",
    }
    assert found["at_boot"] == ["br_netfilter"]


def test_without_the_files_of_the_running_kernel_nothing_is_said_of_a_module(files: Files) -> None:
    files({"/proc/modules": ""})
    found = look_modules(["overlay"])
    assert (found["states"], found["directory"]) == ({"overlay": "unknown"}, False)


def test_the_last_writer_of_a_setting_is_found_and_sysctl_conf_comes_last_by_hand(files: Files, tmp_path: Path) -> None:
    files(
        {
            "/proc/sys/net/ipv4/ip_forward": "1\n",
            "/usr/lib/sysctl.d/50-default.conf": "net.ipv4.ip_forward = 7\n",
            "/etc/sysctl.d/50-default.conf": "-net/ipv4/ip_forward=5\n",
            "/run/sysctl.d/zz-k8s.conf": "net.ipv4.*=1\n; net.ipv4.ip_forward=9\n",
            "/etc/sysctl.conf": "# hardened\nnet.ipv4.ip_forward=0\n",
        },
    )
    (tmp_path / "etc/sysctl.d/99-sysctl.conf").symlink_to("../sysctl.conf")
    found = look_sysctls(["net.ipv4.ip_forward", "kernel.panic"])
    assert found["net.ipv4.ip_forward"] == {
        "live": "1",
        "boot": {"value": "1", "file": "/run/sysctl.d/zz-k8s.conf"},
        "by_hand": {"value": "0", "file": "/etc/sysctl.conf"},
    }
    assert found["kernel.panic"]["live"] == found["kernel.panic"]["boot"]["file"] == ""


@pytest.mark.parametrize(
    ("mounts", "version", "controllers"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n", 2, {"cpu", "memory", "pids"}),
        (
            (
                "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n"
                "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
            ),
            1,
            {"rw", "cpu", "cpuacct"},
        ),
        ("proc /proc proc rw 0 0\n", 0, set()),
    ],
)
def test_the_hybrid_layout_is_version_one(files: Files, mounts: str, version: int, controllers: set[str]) -> None:
    files(
        {
            "/proc/self/mounts": mounts,
            "/sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
            "/sys/fs/cgroup/cgroup.subtree_control": "memory\n",
            f"/boot/config-{os.uname().release}": "CONFIG_X=m\nCONFIG_RT_GROUP_SCHED=y\n",
        },
    )
    found = look_cgroup()
    assert (found["version"], set(found["controllers"])) == (version, controllers)
    assert found["realtime_groups"] is True


@pytest.mark.parametrize(
    ("dump", "expected"),
    [
        (
            (
                'version = 2\n[plugins]\n  [plugins."io.containerd.grpc.v1.cri"]\n'
                '    sandbox_image = "registry.k8s.io/pause:3.8"\n'
                '    [plugins."io.containerd.grpc.v1.cri".containerd]\n      default_runtime_name = "nvidia"\n'
                '          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]\n'
                "            SystemdCgroup = true\n"
                '          [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]\n'
                "            SystemdCgroup = false\n"
                '    [plugins."io.containerd.grpc.v1.cri".registry]\n      config_path = "/etc/containerd/certs.d"\n'
            ),
            ("systemd", "registry.k8s.io/pause:3.8"),
        ),
        (
            (
                "version = 3\nroot = '/data/containerd'\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\n"
                "  sandbox = 'registry.k8s.io/pause:3.10'\n[plugins.'io.containerd.cri.v1.images'.registry]\n"
                "  config_path = '/etc/containerd/certs.d:/etc/docker/certs.d'\n"
                "[plugins.'io.containerd.cri.v1.runtime'.containerd]\n  default_runtime_name = 'runc'\n"
                "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]\n  SystemdCgroup = false\n"
                "[plugins.'io.containerd.transfer.v1.local']\n  config_path = ''\n"
            ),
            ("cgroupfs", "registry.k8s.io/pause:3.10"),
        ),
    ],
)
def test_containerd_is_believed_about_its_merged_configuration(
    files: Files, monkeypatch: pytest.MonkeyPatch, dump: str, expected: tuple[str, str]
) -> None:
    files({"/etc/containerd/config.toml": "version = 2\n"})
    answers = {"--version": "containerd containerd.io 1.7.27 05044ec0a9a75232cad458027ca83437aae3f4da\n", "dump": dump}
    monkeypatch.setattr(programs, "run", lambda command, _: programs.Finished(0, answers.get(command[-1], ""), ""))
    found = look_runtime({}, {"endpoint": "unix:///run/containerd/containerd.sock"})
    assert found["name"] == "containerd"
    assert (found["version"], found["config_version"]) == ("1.7.27", 2)
    assert (found["cgroup_driver"], found["sandbox"]) == expected


@pytest.mark.programs
@pytest.mark.parametrize(
    ("endpoint", "name", "through"),
    [
        ("unix:///run/cri-dockerd.sock", "docker", "cri-dockerd"),
        ("unix:///var/run/dockershim.sock", "docker", "dockershim"),
        ("unix:///var/run/crio/crio.sock", "cri-o", ""),
        ("unix:///var/run/isulad.sock", "isulad", ""),
        ("unix:///run/other.sock", "other", ""),
    ],
)
def test_the_runtime_is_the_one_behind_the_endpoint(files: Files, endpoint: str, name: str, through: str) -> None:
    files(
        {
            "/proc/self/mounts": "",
            "/etc/docker/daemon.json": '{"exec-opts": ["native.cgroupdriver=systemd"], "data-root": "/data"}',
            "/etc/isulad/daemon.json": '{"graph": "/data", "enable-cri-v1": true}',
            "/etc/crio/crio.conf.d/10.conf": '[crio.runtime]\ncgroup_manager = "cgroupfs"\n',
        },
    )
    found = look_runtime({}, {"endpoint": endpoint})
    assert (found["name"], found["through"]) == (name, through)
    assert found["root"] in {"/data", "/var/lib/containers/storage", ""}
    assert found["cgroup_driver"] == {"docker": "systemd", "cri-o": "cgroupfs", "isulad": "cgroupfs"}.get(name, "")


@pytest.mark.programs
@pytest.mark.parametrize(
    "text",
    [
        (
            "apiVersion: kubelet.config.k8s.io/v1beta1\ncgroupDriver: systemd  # as containerd\nfailSwapOn: false\n"
            "authentication:\n  cgroupDriver: no\n"
        ),
        '{"cgroupDriver": "systemd", "failSwapOn": false}',
    ],
)
def test_the_kubelet_is_read_from_its_file_where_it_does_not_run(files: Files, text: str) -> None:
    files(
        {
            "/var/lib/kubelet/config.yaml": text,
            "/var/lib/kubelet/kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///x"\n',
        },
    )
    found = look_kubelet({})
    assert (found["running"], found["cgroup_driver"], found["fail_swap_on"]) == (False, "systemd", False)
    assert found["endpoint"] == "unix:///x"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["/usr/bin/kubelet", "--config=/x"], "kubelet"),
        (["/usr/bin/python3", "-s", "/usr/sbin/firewalld", "--nofork"], "firewalld"),
        (["/usr/local/bin/k3s server"], "k3s"),
        (["tail", "-f", "/var/log/kubelet"], ""),
        (["vi", "/etc/containerd"], ""),
        ([""], ""),
    ],
)
def test_only_daemons_themselves_count(arguments: list[str], name: str) -> None:
    assert daemon_of(arguments) == name


def test_proxies_of_files_are_found_and_passwords_stay_on_the_host(files: Files) -> None:
    files(
        {
            "/etc/systemd/system/containerd.service.d/proxy.conf": "[Service]\n"
            'Environment="HTTPS_PROXY=http://me:s3cret@proxy:3128" "NO_PROXY=10.0.0.0/8"\nEnvironmentFile=/etc/px\n',
            "/etc/px": "HTTP_PROXY=http://proxy:3128\nOTHER=1\n",
            "/etc/environment": 'https_proxy="me:s3cret@proxy:3128"\nLANG=C\n',
            "/etc/systemd/system/kubelet.service": "[Service]\nEnvironment='HTTP_PROXY=unfinished\n",
        },
    )
    found = look_proxies({})
    assert "s3cret" not in json.dumps(found)
    assert {(item["of"], item["name"], item["value"]) for item in found} == {
        ("containerd", "HTTPS_PROXY", "http://[redacted]@proxy:3128"),
        ("containerd", "NO_PROXY", "10.0.0.0/8"),
        ("containerd", "HTTP_PROXY", "http://proxy:3128"),
        ("every login", "HTTPS_PROXY", "[redacted]@proxy:3128"),
    }


def test_swap_in_use_and_swap_to_come_are_both_seen(files: Files) -> None:
    files(
        {
            "/proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n/dev/dm-1 partition 8388604 0 -2\n",
            "/etc/fstab": "# /dev/old none swap sw 0 0\n/dev/dm-1 none swap defaults 0 0\n\nUUID=1 / ext4 rw 0 1\n",
            "/etc/systemd/system/zram.swap": "",
        },
    )
    assert look_swap() == {
        "devices": [{"name": "/dev/dm-1", "type": "partition", "kib": 8388604}],
        "fstab": ["/dev/dm-1 none swap defaults 0 0"],
        "units": ["/etc/systemd/system/zram.swap"],
    }


def test_swap_that_systemd_found_by_itself_is_seen_unless_it_is_masked(files: Files, tmp_path: Path) -> None:
    late, early = "/run/systemd/generator.late", "/run/systemd/generator"
    files(
        {
            f"{late}/dev-vda2.swap": "[Swap]\nWhat=/dev/vda2\n",
            f"{late}/dev-vda3.swap": "[Swap]\nWhat=/dev/vda3\n",
            f"{early}/dev-vdb.swap": "[Unit]\nSourcePath=/etc/fstab\n[Swap]\nWhat=/dev/vdb\n",
            "/etc/systemd/system/other.target": "",
        },
    )
    (tmp_path / "etc/systemd/system/dev-vda3.swap").symlink_to("/dev/null")  # systemctl mask
    assert look_swap()["units"] == [f"{late}/dev-vda2.swap"]


def test_the_nearest_and_last_mount_holds_a_path(files: Files) -> None:
    lines = ["1 0 8:1 / / rw - ext4 /dev/a rw", "2 1 8:2 / /var rw - xfs /dev/b rw", "3 2 8:3 / /var rw - tmpfs t rw"]
    lines.append("4 1 8:4 / /my\\040disk rw,noexec shared:1 - xfs /dev/c ro")
    files({"/proc/self/mountinfo": "\n".join(lines)})
    known = mounts()
    assert mount_of("/var/lib", known).type == "tmpfs"
    assert mount_of("/variable", known).source == "/dev/a"
    assert mount_of("/my disk/x", known) == Mount("/my disk", "xfs", "/dev/c", ("noexec", "ro", "rw"))


def test_connections_are_tried_and_what_stands_against_them_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        listening = f"127.0.0.1:{server.getsockname()[1]}"
        found = look_connections([listening, "127.0.0.1:1", "nonsense"])
    assert found[listening] == ""
    assert "refused" in found["127.0.0.1:1"]
    assert found["nonsense"]


def test_zones_of_firewalld_are_read_with_their_sources() -> None:
    text = "public (default)\n  interfaces: eth0\ntrusted\n  sources: 10.96.0.0/12 10.244.0.0/16\n"
    assert zones_of(text) == {"public": [], "trusted": ["10.96.0.0/12", "10.244.0.0/16"]}


@pytest.mark.programs
@pytest.mark.parametrize(
    ("script", "zones", "trouble"),
    [
        ("echo trusted; echo '  sources: 10.96.0.0/12'", {"trusted": ["10.96.0.0/12"]}, ""),
        ("echo ERROR: first >&2; echo Error: no reply. >&2; exit 254", {}, "Error: no reply."),
        ("exit 252", {}, "firewall-cmd ended with 252"),
    ],
)
def test_a_firewalld_that_does_not_answer_is_not_taken_for_one_without_zones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, zones: Mapping[str, list[str]], trouble: str
) -> None:
    program = tmp_path / "firewall-cmd"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = look_firewall({"firewalld": Process("1", "firewalld", ["firewalld"])})
    assert found["active"] == ["firewalld"]
    assert (found["zones"], found["zones_trouble"]) == (zones, trouble)


@pytest.mark.programs
def test_a_part_that_breaks_is_told_and_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> dict[str, Any]:
        raise PermissionError("no")

    monkeypatch.setattr(kfv_host_facts, "look_swap", broken)
    found = kfv_host_facts.look({"modules": [], "sysctls": [], "names": [], "connects": [], "paths": {}})
    assert found["troubles"] == {"swap": "PermissionError: no"}
    assert HostFacts.decode(found).troubles == {"swap": "PermissionError: no"}
