"""Preflight and the roles of hosts over SSH, on a machine with a kernel and a systemd of its own, through reboots.

SELinux enforces. Real: services and their restarts, kernel modules and settings, swap, labels and what they allow,
firewalld, and pulls of Debian's containerd 1.6 from a mirror. Not as on openEuler: Debian's kernel, policy and
packages; the types of containers come from policy.cil, because Debian has no container-selinux; kubelet and API
server are programs of that name which only listen.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hosts.lab import Lab, Registry
from tests.machines.machine import Machine

pytestmark = pytest.mark.timeout(7200)  # without hardware acceleration, beside other work

VOLUMES = "/opt/local-path-provisioner"
IMAGE = "gcr.io/only/here:1"
PREPARE = """
set -e
useradd --create-home --groups sudo --shell /bin/bash ops
echo ops:ops-secret | chpasswd
install -d -m 0700 -o ops -g ops /home/ops/.ssh
install -m 0600 -o ops -g ops /root/.ssh/authorized_keys /home/ops/.ssh/authorized_keys
restorecon -R /home/ops
mkdir -p /etc/containerd; containerd config default >/etc/containerd/config.toml
systemctl enable --now containerd
"""
WRONG = """
set -e
echo net.ipv4.ip_forward=0 >>/etc/sysctl.conf
echo net.bridge.bridge-nf-call-iptables=0 >/etc/sysctl.d/50-bridge.conf
dd if=/dev/zero of=/swapfile bs=1M count=32 2>/dev/null; chmod 600 /swapfile; mkswap /swapfile >/dev/null
chcon -t swapfile_t /swapfile
echo /swapfile none swap sw 0 0 >>/etc/fstab
systemctl daemon-reload; systemctl start swapfile.swap
"""
STATE = """
tail -n +2 /proc/swaps | cut -d' ' -f1
md5sum /etc/fstab /etc/sysctl.conf
ls /etc/sysctl.d /etc/modules-load.d /var/lib/kubeflow-volcano/repairs 2>/dev/null
sysctl net.ipv4.ip_forward fs.inotify.max_user_instances fs.inotify.max_user_watches
"""
"""Everything that repairs change, but modules: nothing says that the kernel did not need them meanwhile."""
REPAIRED = {
    "net.ipv4.ip_forward": "1",
    "net.bridge.bridge-nf-call-iptables": "1",
    "fs.inotify.max_user_instances": "8192",
    "fs.inotify.max_user_watches": "1255360",
}
WRITES = f"runcon -t container_t /bin/busybox touch {VOLUMES}/of-a-container"
WORKER = """
set -e
ip netns add worker; ip link add to-worker type veth peer name to-first netns worker
ip addr add 10.9.0.1/24 dev to-worker; ip link set to-worker up
ip netns exec worker sh -ec \
  'ip addr add 10.9.0.2/24 dev to-first; ip link set to-first up; ip link set lo up'
ip netns exec worker /usr/sbin/sshd -o PidFile=/run/worker.pid
ip netns exec worker setsid python3 -m http.server 10250 >/dev/null 2>&1 </dev/null &
systemd-run --quiet --unit kubelet-listens bash -c 'exec -a kubelet python3 -m http.server 10250'
systemd-run --quiet --unit server-listens bash -c 'exec -a kube-apiserver python3 -c "$0" "$@"' \
  'import http.server as h; h.ThreadingHTTPServer(("", 6443), h.SimpleHTTPRequestHandler).serve_forever()' \
  --service-cluster-ip-range=10.96.0.0/12
"""
"""A second host of the cluster: SSH in a network namespace. Only firewalld is between it and the first."""

Play = Callable[..., subprocess.CompletedProcess[str]]
Report = dict[str, Any]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine that enforces SELinux's policy, with containerd and firewalld, and the user ops."""
    policy = Path(__file__).with_name("policy.cil")
    made = Machine(tmp_path_factory.mktemp("host") / "it", memory_mib=2048, processors=1, policy=policy)
    try:
        made.make()
        made.start()
        made.run(PREPARE)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    registry = Registry("127.0.0.1", tmp_path_factory.mktemp("mirror"))
    registry.put("gcr.io/only/here", "1")
    yield registry
    registry.stop()


@pytest.fixture(scope="module")
def inventory(host: Machine, mirror: Registry, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inventory(
        tmp_path_factory.mktemp("inventory"),
        host,
        {"machine": {"ansible_host": "127.0.0.1", "ansible_port": host.port}},
        image_mirror_mode="containerd",
        image_mirror_rules=[{"source": "gcr.io", "prefix": mirror.address}],
        image_mirror_containerd_ca=str(mirror.ca),
        image_mirror_containerd_ready_seconds=300,
    )


def write_inventory(directory: Path, host: Machine, hosts: dict[str, dict[str, Any]], **variables: object) -> Path:
    """An inventory whose report is beside it; the first host is the control plane."""
    known = {
        "ansible_user": "ops",
        "ansible_become_password": "ops-secret",
        "ansible_ssh_private_key_file": str(host.home / "key"),
        "ansible_ssh_args": "-o ControlMaster=auto -o ControlPersist=300s -o ServerAliveInterval=60",
        "ansible_ssh_common_args": "-F none -o IdentitiesOnly=yes -o StrictHostKeyChecking=no "
        "-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR",
        "ansible_timeout": 120,
        "ansible_python_interpreter": "/usr/bin/python3",
        "preflight_report_directory": str(directory),
        "preflight_waivers": dict.fromkeys(("P19", "P22"), "a small machine without a cluster"),
    }
    groups: dict[str, dict[str, Any]] = {
        "control_plane": {"hosts": {name: {} for name in list(hosts)[:1]}},
        "nodes": {"hosts": {name: {} for name in hosts}},
    }
    content = {"all": {"hosts": hosts, "vars": known | variables, "children": groups}}
    path = directory / "hosts.yml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


@pytest.fixture
def play(inventory: Path) -> Play:
    """Run a playbook, with repairs on request."""

    def run(playbook: str, *arguments: str, repair: str = "present") -> subprocess.CompletedProcess[str]:
        chosen = json.dumps({"preflight_repair": True, "preflight_repair_state": repair})
        return Lab.play(f"playbooks/{playbook}.yml", inventory, "-e", chosen, *arguments)

    return run


def findings(inventory: Path) -> dict[str, list[str]]:
    """What the last preflight found wrong, by check."""
    report: Report = json.loads((inventory.parent / "preflight-latest.json").read_text())
    return {
        item["id"]: [row["found"] for row in item["observed"].get("findings", []) if row.get("status") != "pass"]
        for item in report["checks"]
    }


def changed(done: subprocess.CompletedProcess[str]) -> int:
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"^machine .* changed=(\d+) ", done.stdout, re.MULTILINE)
    assert found, done.stdout
    return int(found[1])


def pulled(host: Machine, mirror: Registry) -> bool:
    """Whether containerd pulls an image that only the mirror has, through a tunnel to it."""
    host.run("setsebool sshd_port_forwarding 1")
    forwarded = f"{mirror.address}:{mirror.address}"
    tunnel = ["ssh", *host.ssh_options(), "-R", forwarded, "root@127.0.0.1", "echo up; sleep 3600"]
    with subprocess.Popen(tunnel, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == b"up\n"
            pull = f"ctr --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d {IMAGE}"
            return host.run(pull, check=False).returncode == 0
        finally:
            process.kill()


def test_what_is_wrong_is_found_repaired_and_stays_so_through_a_reboot(
    host: Machine, inventory: Path, mirror: Registry, play: Play
) -> None:
    assert host.ask("getenforce; cat /proc/1/comm; systemctl is-active firewalld") == "Enforcing\nsystemd\nactive"
    before = host.ask(STATE)
    host.run(WRONG)
    wrong = host.ask(STATE)

    assert play("preflight").returncode == 0, "findings that repairs solve do not fail the gate"
    found = findings(inventory)
    assert [text for text in found["P6"] if "not loaded: " in text and "br_netfilter" in text]
    assert "net.ipv4.ip_forward is 0, not 1" in found["P7"][0]
    assert any("/etc/sysctl.d/50-bridge.conf sets net.bridge.bridge-nf-call-iptables to 0" in x for x in found["P9"])
    assert [text.split()[0] for text in found["P16"]] == ["swap"]
    assert "SELinux is enforcing" in found["P14"][0]
    assert "firewalld is running" in found["P15"][0]
    assert host.ask(STATE) == wrong, "preflight changed something"

    process = host.ask("systemctl show -p MainPID --value containerd")
    assert changed(play("hosts")) > 0
    assert host.ask("systemctl show -p MainPID --value containerd") != process, "systemd restarted no containerd"
    require_repaired(host)
    require_labelled(host)
    assert pulled(host, mirror)
    host.run(f"ctr --namespace k8s.io images rm {IMAGE}")
    assert changed(play("hosts")) == 0

    host.reboot()
    require_repaired(host)
    require_labelled(host)
    assert pulled(host, mirror)
    assert play("preflight").returncode == 0
    later = findings(inventory)
    assert [text for id_ in ("P6", "P7", "P8", "P9", "P16") for text in later[id_]] == []
    assert changed(play("hosts")) == 0

    assert changed(play("hosts", "--tags", "repair", repair="absent")) > 0
    assert host.ask(STATE).splitlines()[-3:] == wrong.splitlines()[-3:], "settings have another value than before"
    host.reboot()
    assert host.ask(STATE) == wrong, "a boot after the repairs were undone differs from one before them"
    assert before != wrong


def require_repaired(host: Machine) -> None:
    for name, value in REPAIRED.items():
        assert host.ask(f"sysctl -n {name}") == value, name
    host.run("sysctl --system")
    assert host.ask("sysctl -n net.ipv4.ip_forward") == "1", "a reload takes it back"
    host.run("systemctl restart containerd")
    assert host.ask("tail -n +2 /proc/swaps") == "", "systemd turned swap on with another service"
    started = host.run("systemctl is-failed systemd-modules-load systemd-sysctl", check=False)  # 0 if one has
    assert started.stdout.split() == ["active", "active"]
    loaded = set(host.ask("cut -d' ' -f1 /proc/modules").split())
    assert {"br_netfilter", "overlay", "nf_conntrack"} <= loaded


def require_labelled(host: Machine) -> None:
    assert ":container_file_t:" in host.ask(f"stat -c %C {VOLUMES}")
    host.run(f"{WRITES}; rm {VOLUMES}/of-a-container")
    elsewhere = WRITES.replace(VOLUMES, "/opt")
    assert host.run(elsewhere, check=False).returncode != 0, "SELinux does not confine what is to be a container"


def test_a_port_that_firewalld_closes_is_named_and_its_remedy_opens_it(host: Machine, tmp_path: Path) -> None:
    host.run(WORKER)
    jump = f"ssh {' '.join(host.ssh_options())} -W %h:%p root@127.0.0.1"
    through = {"ansible_ssh_extra_args": f"-o ProxyCommand='{jump}'"}
    addresses = {"first": "10.9.0.1", "worker": "10.9.0.2"}
    inventory = write_inventory(
        tmp_path,
        host,
        {name: {"ansible_host": address, **through} for name, address in addresses.items()},
        preflight_select=["P15"],
    )

    def judged() -> list[str]:
        host.run("setsebool sshd_port_forwarding 1")
        done = Lab.play("playbooks/preflight.yml", inventory)
        assert done.returncode == 0, done.stdout
        return findings(inventory)["P15"]

    closed = judged()
    assert [text for text in closed if "first at 10.9.0.1:10250" in text]
    assert [text for text in closed if "zone has 10.96.0.0/12" in text]
    report = json.loads((tmp_path / "preflight-latest.json").read_text())
    commands = re.findall(r"firewall-cmd [^`\"\\]+", json.dumps(report))
    host.run("\n".join(["set -e", *dict.fromkeys(commands), "firewall-cmd --add-port=10250/tcp --add-port=6443/tcp"]))
    assert judged() == []
