"""What lies over the tree of packages on every host of a release: its identity, its users' keys, units, stand-ins."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hosts.lab.base import Release
from tests.places import ROOT

_OWN = Path(__file__).parent / "rootfs"
_STAND_IN = Path("tests/hosts/lab/systemctl")
_SYSTEMCTL_PROGRAM = """\
#!/usr/bin/python3
import sys

sys.path.insert(0, "/usr/libexec/lab")
from tests.hosts.lab.systemctl.command import main

sys.exit(main(sys.argv[1:]))
"""
_OPS = 1000
"""Number of the user ops, the first that useradd gives."""

_BUILT_IN = (
    *("bridge/br_netfilter", "ipv4/netfilter/ip_tables", "ipv4/netfilter/iptable_filter"),
    *("ipv4/netfilter/iptable_mangle", "ipv4/netfilter/iptable_nat", "ipv4/netfilter/iptable_raw"),
    *("netfilter/ipset/ip_set", "netfilter/ipset/ip_set_hash_ip", "netfilter/ipvs/ip_vs", "netfilter/ipvs/ip_vs_rr"),
    *("netfilter/ipvs/ip_vs_sh", "netfilter/ipvs/ip_vs_wrr", "netfilter/nf_conntrack", "netfilter/nf_nat"),
    *("netfilter/nf_tables", "netfilter/x_tables", "netfilter/xt_REDIRECT", "netfilter/xt_comment"),
    *("netfilter/xt_connmark", "netfilter/xt_conntrack", "netfilter/xt_mark", "netfilter/xt_multiport"),
    *("netfilter/xt_owner", "netfilter/xt_tcpudp"),
)
"""Modules below kernel/net that /lib/modules says are in the kernel; openEuler has them as files, and loads them."""

_OVERLAY = "kernel/fs/overlayfs/overlay.ko\n"

_SSHD = """\
PermitRootLogin prohibit-password
PasswordAuthentication no
UseDNS no
MaxStartups 100:30:200
"""
_REPOSITORY = """\
[OS]
name=OS
baseurl=file:///srv/repository
enabled=1
gpgcheck=0
"""
_CONFIG_V2 = """\
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""
_CONFIG_V3 = """\
version = 3

[plugins."io.containerd.cri.v1.runtime"]
  restrict_oom_score_adj = true

  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def write_layer(layer: Path, release: Release, public_key: str) -> None:
    """Fill the new directory `layer`. `public_key` opens the accounts root and ops."""
    name = f"{release.version} ({release.level})"
    identity = {
        "NAME": "openEuler",
        "VERSION": name,
        "ID": "openEuler",
        "VERSION_ID": release.version,
        "PRETTY_NAME": f"openEuler {name}",
        "ANSI_COLOR": "0;31",
    }
    os_release = "".join(f'{key}="{value}"\n' for key, value in identity.items())
    one_line = f"openEuler release {name}\n"
    _write(layer / "etc/os-release", os_release)
    _write(layer / "usr/lib/os-release", os_release)
    _write(layer / "etc/openEuler-release", one_line)
    _write(layer / "etc/system-release", one_line)
    _write(layer / "etc/yum.repos.d/openEuler.repo", _REPOSITORY)
    _write(layer / "etc/ssh/sshd_config.d/lab.conf", _SSHD)
    _link(layer / "etc/sysctl.d/99-sysctl.conf", "../sysctl.conf")
    _write(layer / "etc/sudoers.d/ops", "ops ALL=(ALL:ALL) ALL\n", 0o440)
    for home, owner in (("root", 0), ("home/ops", _OPS)):
        keys = layer / home / ".ssh"
        _write(keys / "authorized_keys", public_key, 0o600)
        for path in (layer / home, keys):
            path.chmod(0o700)
        for path in (layer / home, keys, keys / "authorized_keys"):
            os.chown(path, owner, owner)
    for file in (ROOT / _STAND_IN).glob("*.py"):
        _write(layer / "usr/libexec/lab" / _STAND_IN / file.name, file.read_text())
    _write(layer / "usr/bin/systemctl", _SYSTEMCTL_PROGRAM, 0o755)
    _write(layer / "usr/lib/systemd/system/sshd.service", (_OWN / "sshd.service").read_text())
    _enable(layer, "sshd.service")
    modules = layer / "usr/lib/modules" / os.uname().release
    _write(modules / "modules.builtin", "".join(f"kernel/net/{name}.ko\n" for name in _BUILT_IN) + _OVERLAY)
    _write(modules / "modules.order", "")
    (layer / "var/lib/containerd").mkdir(parents=True)


def write_containerd(layer: Path, version: str) -> None:
    """The unit of containerd, and a configuration of the format that the version would have been installed with."""
    _write(layer / "usr/lib/systemd/system/containerd.service", (_OWN / "containerd.service").read_text())
    _write(layer / "etc/containerd/config.toml", _CONFIG_V2 if version.startswith("1.") else _CONFIG_V3)
    _enable(layer, "containerd.service")


def _enable(layer: Path, unit: str) -> None:
    _link(layer / "etc/systemd/system/multi-user.target.wants" / unit, f"/usr/lib/systemd/system/{unit}")


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
