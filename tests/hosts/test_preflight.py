"""Preflight over SSH: each host of one inventory is wrong in its own way, and each way is found, in one run.

What is not openEuler: SSH, Python and the programs are Debian's, and the kernel is this machine's, which has no
modules, no SELinux and control groups of version 1. Made wrong for real: full file systems and inodes, mount options, a
clock, kernel settings, files that take them back, drivers of control groups, runtimes, names, proxies, Python, sudo,
and a host that is down. Simulated: /proc/swaps is another file, as swap is the whole machine's and every host would see
it; modules are lists of names; a file says that SELinux enforces; firewalld is a process of that name; a kubelet is a
file that tells a version, or a process of that name, which listens nowhere.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hosts.lab import Host, Lab

GOOD = """
sed -i /ip_forward/d /etc/sysctl.conf
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 8192 >/proc/sys/fs/inotify/max_user_instances
echo 1255360 >/proc/sys/fs/inotify/max_user_watches
"""
CONFIG = "/var/lib/kubelet/config.yaml"
FLAGS = "/var/lib/kubelet/kubeadm-flags.env"

WRONG = {
    "full-disk": """
        mount -t tmpfs -o size=20M tmpfs /var/lib/containerd
        head -c 19M /dev/zero >/var/lib/containerd/layer""",
    "no-inodes": """
        mkdir -p /opt/local-path-provisioner
        mount -t tmpfs -o size=60G,nr_inodes=20 tmpfs /opt/local-path-provisioner
        cd /opt/local-path-provisioner; for n in $(seq 30); do touch $n 2>/dev/null || true; done""",
    "noexec": """
        mkdir -p /var/lib/kubelet
        mount --bind /var/lib/kubelet /var/lib/kubelet; mount -o remount,bind,noexec /var/lib/kubelet""",
    "swap": """
        printf 'Filename\\tType\\tSize\\tUsed\\tPriority\\n/dev/dm-1 partition 8388604 0 -2\\n' >/run/swaps
        mount --bind /run/swaps /proc/swaps""",
    "swap-later": "echo '/dev/dm-1 none swap defaults 0 0' >>/etc/fstab",
    "no-forwarding": "echo 0 >/proc/sys/net/ipv4/ip_forward",
    "taken-back": "echo 'net.ipv4.ip_forward=0' >>/etc/sysctl.conf",
    "low-inotify": "echo 128 >/proc/sys/fs/inotify/max_user_instances",
    "drivers": f"mkdir -p /var/lib/kubelet; echo 'cgroupDriver: systemd' >{CONFIG}",
    "cri-dockerd": f"""
        mkdir -p /var/lib/kubelet
        echo 'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/cri-dockerd.sock"' >{FLAGS}
        touch /run/cri-dockerd.sock""",
    "new-kubelet": """
        printf '#!/bin/sh\\necho Kubernetes v1.36.1\\n' >/usr/local/bin/kubelet; chmod 755 /usr/local/bin/kubelet""",
    "broken-config": "echo 'version = [' >>/etc/containerd/config.toml",
    "copy-1": "echo 0123456789abcdef0123456789abcdef >/etc/machine-id",
    "copy-2": "echo 0123456789abcdef0123456789abcdef >/etc/machine-id",
    "no-module": "sed -i '/overlay/d' /lib/modules/$(uname -r)/modules.builtin",
    "no-name": "sed '/registry.lab/d' /etc/hosts >/run/hosts; cat /run/hosts >/etc/hosts",
    "proxy": """
        mkdir -p /etc/systemd/system/containerd.service.d
        printf '[Service]\\nEnvironment=HTTPS_PROXY=http://me:s3cret@proxy:3128\\n' \\
          >/etc/systemd/system/containerd.service.d/proxy.conf""",
    "enforcing": "mount -t tmpfs tmpfs /sys/fs; mkdir /sys/fs/selinux; echo 1 >/sys/fs/selinux/enforce",
    "firewalld": """
        printf 'import time\\ntime.sleep(3600)\\n' >/usr/sbin/firewalld
        setsid python3 /usr/sbin/firewalld >/dev/null 2>&1 </dev/null &""",
    "deaf-kubelet": "setsid bash -c 'exec -a kubelet sleep 3600' >/dev/null 2>&1 </dev/null &",
}
"""What makes a host wrong, by its name."""
WITHOUT_ANSWER = ("down", "guessed-sudo", "old-python")
OTHERS = ("good", "clock", "no-runtime")
WITH_CONTAINERD = {"good", "full-disk", "drivers", "new-kubelet", "broken-config"}
Report = dict[str, Any]
Play = Callable[..., subprocess.CompletedProcess[str]]


def mended(lab: Lab, name: str) -> Host:
    containerd = "1.7" if name in WITH_CONTAINERD else ""
    host = lab.start("22.03" if name == "good" else "24.03", containerd, name)
    host.run(GOOD)
    return host


def old_python(host: Host) -> None:
    """Give the host the oldest Python of this machine that Ansible no longer runs modules with."""
    found = sorted((Path.home() / ".pyenv/versions").glob("3.[678].*"))
    if not found:
        pytest.skip("this machine has no Python older than 3.9")
    target = host.root / "opt/python"
    (target / "bin").mkdir(parents=True)
    (binary,) = (path for path in (found[-1] / "bin").glob("python3.*") if re.fullmatch(r"python3\.\d+", path.name))
    shutil.copy2(binary, target / "bin/python3")
    for library in (found[-1] / "lib").glob("libpython3.*.so.*"):
        shutil.copy2(library, host.root / "usr/lib" / library.name)
    ignored = shutil.ignore_patterns("test", "site-packages", "__pycache__", "config-*", "idlelib")
    shutil.copytree(found[-1] / "lib" / binary.name, target / "lib" / binary.name, ignore=ignored)


@pytest.fixture(scope="module")
def hosts(lab: Lab) -> Iterator[dict[str, Host]]:
    """Every host that the run will meet."""
    names = [*WRONG, *WITHOUT_ANSWER, *OTHERS]
    with ThreadPoolExecutor(4) as pool:
        found = {host.name: host for host in pool.map(lambda name: mended(lab, name), names)}
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: found[name].run(f"set -e\n{WRONG[name]}"), WRONG))
    old_python(found["old-python"])
    found["down"].stop()
    found["clock"].stop()
    found["clock"].env(faketime="+3h").start().run(GOOD)
    yield found
    for host in found.values():
        host.remove()


@pytest.fixture(scope="module")
def played(lab: Lab, hosts: dict[str, Host], tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, str]:
    """The report and the output of one run over all of them."""
    place = tmp_path_factory.mktemp("preflight")
    inventory = lab.inventory(
        place,
        list(hosts.values()),
        preflight_report_directory=str(place),
        plan_minimum_cpu=2,
        image_mirror_mode="rewrite",
        image_mirror_rules=[{"source": "*", "prefix": "registry.lab"}],
    )
    own: dict[str, dict[str, Any]] = {
        "good": {"ansible_user": "ops", "ansible_become_password": "ops-secret"},
        "guessed-sudo": {"ansible_user": "ops", "ansible_become_password": "guessed"},
        "old-python": {"ansible_python_interpreter": "/opt/python/bin/python3"},
    }
    (place / "host_vars").mkdir()
    for name, variables in own.items():
        (place / "host_vars" / f"{name}.yml").write_text(yaml.safe_dump(variables))
    done = lab.play("playbooks/preflight.yml", inventory, "-e", '{"kubeflow_kubeconfig": "/nonexistent"}')
    assert done.returncode == 2, done.stdout + done.stderr
    report: Report = json.loads((place / "preflight-latest.json").read_text())
    return report, done.stdout


def found_on(report: Report, id_: str, host: str) -> list[tuple[str, str]]:
    """Status and text of each finding of that check that names the host and is no pass."""
    (check,) = (item for item in report["checks"] if item["id"] == id_)
    rows = check["observed"].get("findings", [])
    return [(row.get("status", check["status"]), row["found"]) for row in rows if host in row["hosts"]]


@pytest.mark.parametrize(
    ("id_", "host", "status", "said"),
    [
        ("P2", "guessed-sudo", "fail", "sudo does not accept the password"),
        ("P3", "old-python", "fail", "is too old for this module"),
        ("P6", "no-module", "fail", "the kernel has no module overlay"),
        ("P7", "no-forwarding", "fail", "net.ipv4.ip_forward is 0, not 1"),
        ("P8", "low-inotify", "fail", "fs.inotify.max_user_instances is 128"),
        ("P9", "taken-back", "warn", "/etc/sysctl.conf sets net.ipv4.ip_forward to 0"),
        ("P10", "new-kubelet", "fail", "cgroup v1, which the kubelet refuses from Kubernetes 1.35 on"),
        ("P11", "drivers", "fail", "the kubelet uses systemd, containerd uses cgroupfs"),
        ("P12", "cri-dockerd", "warn", "docker behind cri-dockerd: Docker mirrors Docker Hub only"),
        ("P12", "no-runtime", "fail", "no container runtime"),
        ("P13", "new-kubelet", "warn", "is not tested with Kubernetes 1.36"),
        ("P13", "broken-config", "fail", "cannot read its /etc/containerd/config.toml"),
        ("P14", "enforcing", "warn", "SELinux is enforcing"),
        ("P15", "firewalld", "warn", "firewalld is running"),
        ("P15", "firewalld", "warn", "no connection to deaf-kubelet at"),
        ("P16", "swap", "fail", "swap is in use"),
        ("P16", "swap-later", "warn", "swap is off now, but on again after the next boot"),
        ("P17", "clock", "fail", "the clock is more than 60 s off"),
        ("P19", "full-disk", "fail", "the file system of images (/var/lib/containerd) is nearly full"),
        (
            "P20",
            "no-inodes",
            "fail",
            "the file system of volumes (/opt/local-path-provisioner) has nearly no free inodes",
        ),
        ("P21", "full-disk", "fail", "images (/var/lib/containerd) on tmpfs"),
        ("P21", "noexec", "fail", "with noexec"),
        ("P23", "no-name", "fail", "registry.lab does not resolve"),
        ("P24", "proxy", "warn", "containerd uses the proxy http://[redacted]@proxy:3128, and its NO_PROXY lacks .svc"),
        ("P27", "new-kubelet", "warn", "kubelet is not running"),
        ("P28", "copy-1", "warn", "the same /etc/machine-id as another host"),
        ("P28", "copy-2", "warn", "the same /etc/machine-id as another host"),
    ],
)
def test_what_is_wrong_with_a_host_is_found(
    played: tuple[Report, str], id_: str, host: str, status: str, said: str
) -> None:
    findings = found_on(played[0], id_, host)
    assert [status for found, text in findings if found == status and said in text] == [status], findings


def test_a_host_that_is_down_is_found(played: tuple[Report, str]) -> None:
    """Ansible does not always wait for the words of ssh."""
    ((status, said),) = found_on(played[0], "P1", "down")
    assert status == "fail"
    assert re.search("port 22: |before anything could", said), said


def test_nothing_is_said_against_the_host_that_is_good(played: tuple[Report, str]) -> None:
    wrong = {
        item["id"]: text
        for item in played[0]["checks"]
        for status, text in found_on(played[0], item["id"], "good")
        if status != "pass"
    }
    # Nothing keeps the clock of this machine, and how full its disk is differs.
    assert {id_: text for id_, text in wrong.items() if id_ not in {"P18", "P19"}} == {}


def test_one_wrong_host_is_named_only_where_it_is_wrong(played: tuple[Report, str]) -> None:
    for id_, host in (("P16", "low-inotify"), ("P8", "swap"), ("P17", "swap"), ("P12", "drivers"), ("P14", "swap")):
        assert {status for status, _ in found_on(played[0], id_, host)} == {"pass"}


def test_the_report_counts_who_answered_and_ends_the_run(played: tuple[Report, str]) -> None:
    report, output = played
    assert (len(report["hosts"]["asked"]), report["hosts"]["answered"]) == (
        len(WRONG) + len(WITHOUT_ANSWER) + len(OTHERS),
        len(WRONG) + len(OTHERS),
    )
    assert report["summary"]["verdict"] == "fail"
    assert "exit code 1" in output
    assert len(re.findall(r"Host is unreachable|port 22", output)) <= 2, "a host that is down is told once"
    assert "UNREACHABLE" not in output
    assert "s3cret" not in output + json.dumps(report)


def test_a_run_without_any_finding_needs_no_more_than_three_hosts_worth_of_lines(
    played: tuple[Report, str], hosts: dict[str, Host]
) -> None:
    _, output = played
    summary = output.partition("kubeflow-volcano ")[2].partition("report  ")[0]
    assert len(summary.splitlines()) < 7 * len(hosts)


def test_nothing_is_changed_by_looking(lab: Lab, hosts: dict[str, Host], tmp_path: Path) -> None:
    def seen() -> str:
        listing = "find / -xdev -newer /run/mark -type f ! -path '/proc/*' ! -path '/tmp/*' ! -path '/root/.ansible/*'"
        return hosts["good"].run(f"{listing} | sort; cat /proc/sys/net/ipv4/ip_forward; umask").stdout

    hosts["good"].run("sleep 0.1; touch /run/mark; sleep 0.1")
    before = seen()
    inventory = lab.inventory(tmp_path, [hosts["good"]], preflight_report_directory=str(tmp_path), plan_minimum_cpu=2)
    lab.play("playbooks/preflight.yml", inventory)
    assert set(seen().splitlines()) - set(before.splitlines()) <= {"/var/log/wtmp", "/var/log/lastlog"}


REPAIR = [
    {
        "hosts": "all:!localhost",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.import_role": {"name": "preflight", "tasks_from": "hosts"}, "name": "Repair"}],
    }
]


@pytest.fixture(scope="module")
def broken(lab: Lab) -> Iterator[Host]:
    """A host with a bit of everything that can be repaired.

    The kernel has no modules, so modprobe is a stand-in that notes what it is told and adds it to those built in.
    """
    host = lab.start("24.03", "1.7", "broken")
    host.run(
        "mkdir -p /etc/modules-load.d\n"
        "echo 'net.ipv4.ip_forward=0' >>/etc/sysctl.conf; echo '/dev/dm-1 none swap sw 0 0' >>/etc/fstab\n"
        "sed -i /overlay/d /lib/modules/$(uname -r)/modules.builtin\n"
        "echo kernel/fs/overlayfs/overlay.ko: >>/lib/modules/$(uname -r)/modules.dep\n"
        "printf '#!/bin/sh\\necho $1 >>/run/modprobe; echo $1.ko >>/lib/modules/$(uname -r)/modules.builtin\\n' "
        ">/usr/local/sbin/modprobe\n"
        "chmod 755 /usr/local/sbin/modprobe"
    )
    yield host
    host.remove()


@pytest.fixture
def repair(lab: Lab, broken: Host, tmp_path: Path) -> Play:
    (tmp_path / "play.yml").write_text(yaml.safe_dump(REPAIR))
    inventory = lab.inventory(
        tmp_path,
        [broken],
        preflight_report_directory=str(tmp_path),
        preflight_repair=True,
        preflight_waivers={"P19": "the disk is this machine's", "P22": "so are its processors"},
    )

    def play(*arguments: str) -> subprocess.CompletedProcess[str]:
        return lab.play(tmp_path / "play.yml", inventory, *arguments)

    return play


def state(host: Host) -> str:
    """Everything that a repair may touch."""
    return host.run(
        "md5sum /etc/fstab /etc/sysctl.conf; stat -c '%a %U' /etc/fstab /etc/sysctl.conf; ls /etc/sysctl.d "
        "/etc/modules-load.d /var/lib/kubeflow-volcano 2>&1; cat /proc/sys/net/ipv4/ip_forward "
        "/proc/sys/fs/inotify/max_user_instances /proc/sys/fs/inotify/max_user_watches"
    ).stdout


def test_repairs_are_foretold_done_once_and_taken_back(repair: Play, broken: Host) -> None:
    before = state(broken)

    foretold = repair("--check", "--diff")
    assert foretold.returncode == 0, foretold.stdout
    assert "changed=1" in foretold.stdout
    assert "+net.ipv4.ip_forward = 1" in foretold.stdout
    assert state(broken) == before

    done = repair("--diff")
    assert done.returncode == 0, done.stdout
    lines = [line for line in foretold.stdout.splitlines() if line[:1] in "+-" and "reports" not in line]
    assert [line for line in lines if line not in done.stdout] == [], "check mode foretold something else"
    assert "to be repaired:\n    load overlay, now and at boot: broken" in done.stdout
    assert "  done:\n    load overlay at boot: broken\n    load overlay: broken" in done.stdout
    assert broken.run("cat /etc/modules-load.d/zz-kubeflow-volcano.conf /run/modprobe").stdout.endswith(
        "overlay\noverlay\n"
    )
    assert broken.run("stat -c '%a %U' /etc/sysctl.d/zz-kubeflow-volcano.conf").stdout == "644 root\n"
    assert broken.run("stat -c '%a' /var/lib/kubeflow-volcano/repairs/*").stdout == "600\n600\n600\n"
    assert broken.run("sysctl --system >/dev/null 2>&1; cat /proc/sys/net/ipv4/ip_forward").stdout == "1\n"
    assert "# kubeflow-volcano repair: /dev/dm-1 none swap sw 0 0" in broken.run("cat /etc/fstab").stdout

    broken.stop()
    broken.start()
    assert broken.run("cat /proc/sys/net/ipv4/ip_forward").stdout == "1\n", "a boot takes it back"

    again = repair("--diff")
    assert (again.returncode, "changed=0" in again.stdout) == (0, True), again.stdout

    back = repair("-e", "preflight_repair_state=absent")
    assert (back.returncode, "changed=1" in back.stdout) == (0, True), back.stdout
    assert state(broken) == before
    assert "changed=0" in repair("-e", "preflight_repair_state=absent").stdout


@pytest.mark.long
def test_what_somebody_changed_since_is_left_alone_and_told(repair: Play, broken: Host) -> None:
    assert repair().returncode == 0
    broken.run(
        "echo 99999 >/proc/sys/fs/inotify/max_user_instances; echo '#mine' >>/etc/sysctl.d/zz-kubeflow-volcano.conf"
    )
    back = repair("-e", "preflight_repair_state=absent")
    assert back.returncode == 0, back.stdout
    assert "left as it" in back.stdout
    assert "fs.inotify.max_user_instances was changed to 99999 since: broken" in back.stdout
    assert "/etc/sysctl.d/zz-kubeflow-volcano.conf was changed" in back.stdout
    assert broken.run("tail -1 /etc/sysctl.d/zz-kubeflow-volcano.conf").stdout == "#mine\n"
