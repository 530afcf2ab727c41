"""What preflight prints to change a host is run literally on it over SSH, and the finding is gone.

Real: kernel settings, and systemd-machine-id-setup, which is this machine's own. Not as on a real host: no host of the
lab may load modules, swap or boot another kernel, so modprobe, swapoff, grubby and reboot are stand-ins that take no
other arguments than the program's manual has, and do what it says to files of the host. firewall-cmd is tried in
tests/machines, beside a real firewalld.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.hosts.lab import Host, Lab

SETUP = "/usr/bin/systemd-machine-id-setup"
STAND_INS = {
    # modprobe(8): -a takes several names, and each must be in modules.dep.
    "modprobe": '[ "$1" = -a ] && shift && cd /lib/modules/$(uname -r) || exit 1\\n'
    'for name; do grep -q "/$name.ko:" modules.dep && echo "$name.ko" >>modules.builtin || exit 1; done',
    # swapoff(8): -a disables swapping on all known swap devices.
    "swapoff": '[ "$*" = -a ] && first=$(head -n 1 /run/swaps) && echo "$first" >/run/swaps',
    # grubby(8): --update-kernel=ALL with --args=… adds arguments to every entry.
    "grubby": '[ $# = 2 ] && [ "$1" = --update-kernel=ALL ] && echo "${2#--args=}" >/etc/arguments',
    "reboot": "[ $# = 0 ] && touch /run/rebooted",
}
BREAK = """
set -e
printf '#!/bin/sh\\necho Kubernetes v1.36.1\\n' >/usr/local/bin/kubelet; chmod 755 /usr/local/bin/kubelet
echo 0 >/proc/sys/net/ipv4/ip_forward
echo 128 >/proc/sys/fs/inotify/max_user_instances
sed -i /overlay/d /lib/modules/$(uname -r)/modules.builtin
echo kernel/fs/overlayfs/overlay.ko: >>/lib/modules/$(uname -r)/modules.dep
printf 'Filename\\tType\\tSize\\tUsed\\tPriority\\n/dev/dm-1 partition 8388604 0 -2\\n' >/run/swaps
mount --bind /run/swaps /proc/swaps
echo 0123456789abcdef0123456789abcdef >/etc/machine-id
"""


class Tried(NamedTuple):
    """A remedy: the check that prints it, what its finding has, and what the host must say afterwards besides."""

    id: str
    found: str
    proof: str = ""


REMEDIES = {
    "access.py:_identity:SameMachine": Tried("P28", "the same /etc/machine-id"),
    "kernel.py:_modules": Tried("P6", "not loaded: overlay", "grep -qx overlay /etc/modules-load.d/kubernetes.conf"),
    "kernel.py:_values:SettingWrong": Tried("P7", "net.ipv4.ip_forward is 0"),
    "resources.py:_swap:SwapOn": Tried("P16", "swap is in use"),
    "cgroups.py:_refused:OldVersion": Tried(
        "P10", "cgroup v1", "grep -qx systemd.unified_cgroup_hierarchy=1 /etc/arguments && test -e /run/rebooted"
    ),
}
"""By place in validators/hosts."""


@pytest.fixture(scope="module")
def hosts(lab: Lab) -> Iterator[list[Host]]:
    """A host that is broken in every way, and another one with the same machine-id."""
    found = [lab.start("24.03", name=name) for name in ("broken", "copy")]
    for name, script in STAND_INS.items():
        text = f"printf '#!/bin/sh\\n{script}\\n' >/usr/local/sbin/{name}; chmod 755 /usr/local/sbin/{name}"
        found[0].run(text.replace("%", "%%"))
    bring(found[0], SETUP)
    found[0].run(f"mkdir -p /etc/modules-load.d; {BREAK}")  # which systemd brings, and the lab has none
    found[1].run("echo 0123456789abcdef0123456789abcdef >/etc/machine-id")
    yield found
    for host in found:
        host.remove()


def bring(host: Host, program: str) -> None:
    """A program of this machine, which is of the same Debian, with those of its libraries that the host lacks."""
    if not Path(program).exists():
        pytest.skip(f"this machine has no {program}")
    said = subprocess.run(["ldd", program], capture_output=True, check=True, text=True).stdout
    needed = [Path(word) for word in said.split() if word.startswith("/")]
    for path in (Path(program), *needed):
        target = host.root / str(path.resolve()).lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path.resolve(), target)
        link = host.root / str(path).lstrip("/")
        if not link.exists():
            link.symlink_to(path.resolve().name)


def judged(lab: Lab, hosts: list[Host], place: Path) -> dict[str, Any]:
    """The checks of a preflight, by id."""
    inventory = lab.inventory(place, hosts, preflight_report_directory=str(place))
    lab.play("playbooks/preflight.yml", inventory, "-e", '{"kubeflow_kubeconfig": "/nonexistent"}')
    report = json.loads((place / "preflight-latest.json").read_text())
    return {item["id"]: item for item in report["checks"]}


def found_on(check: dict[str, Any], host: Host, text: str) -> bool:
    rows = check["observed"].get("findings", ())
    return any(text in row["found"] and host.name in row["hosts"] for row in rows if row["status"] != "pass")


def test_every_remedy_heals_its_host_when_it_is_done_literally(lab: Lab, hosts: list[Host], tmp_path: Path) -> None:
    broken = hosts[0]
    before = judged(lab, hosts, tmp_path / "before")
    for place, remedy in REMEDIES.items():
        assert found_on(before[remedy.id], broken, remedy.found), place
        commands = before[remedy.id]["remediation"]["changes"]
        assert commands, place
        for command in commands:
            done = broken.run(command, check=False)
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    after = judged(lab, hosts, tmp_path / "after")
    for place, remedy in REMEDIES.items():
        if remedy.proof:
            broken.run(remedy.proof)
        if remedy.id != "P10":  # the stand-ins boot no other kernel
            assert not found_on(after[remedy.id], broken, remedy.found), place
