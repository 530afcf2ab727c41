"""A real machine without hardware acceleration: Debian with systemd as process 1, control groups of version 2, SELinux.

Its tree is made of Debian's packages once and kept in the user's cache by what it is made of. Each start has a disk of
its own, and no network but a forwarded port of this machine's loopback for SSH.
"""

from __future__ import annotations

import hashlib
import shutil
import socket
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.directories import cache_directory

_SUITE = "bookworm"
_PACKAGES = (
    "auditd busybox-static ca-certificates containerd dbus firewalld iproute2 iptables kmod linux-image-cloud-amd64 "
    "make nftables openssh-server openssl policycoreutils policycoreutils-python-utils procps python3 python3-selinux "
    "selinux-basics selinux-policy-default semodule-utils sudo systemd systemd-sysv udev util-linux"
)
_NETWORK = "[Match]\nName=eth*\n[Network]\nDHCP=yes\n"
_LABEL = """
mount --bind /proc "$1/proc"
chroot "$1" semodule -n -i "$2"
chroot "$1" setfiles -F -e /proc /etc/selinux/default/contexts/files/file_contexts /
"""
_PATIENCE = "systemd.default_timeout_start_sec=900 systemd.default_device_timeout_sec=900 systemd.service_watchdogs=no"
"""Beside other work services start slowly; systemd gives up after 90 s, and restarts what is silent for 3 min."""
_KERNEL = "root=/dev/vda rw console=ttyS0 quiet security=selinux selinux=1 net.ifnames=0"
_FAST = "tsc=reliable mitigations=off"
"""Emulated processors share one counter, but the kernel's measure of that fails; then each look at a clock is a request
to a slow device, and the API server makes very many."""
_DISK_GIB = 12
_TREE_SECONDS, _BOOT_SECONDS, _OFF_SECONDS, _ASK_SECONDS = 1800.0, 1800.0, 120.0, 2.0


def make_tree() -> Path:
    """The archive of the machine's tree; made when the cache lacks it."""
    digest = hashlib.sha256("\n".join((_SUITE, *_PACKAGES.split())).encode()).hexdigest()[:12]
    home = cache_directory() / "machines"
    home.mkdir(parents=True, exist_ok=True)
    tree = home / f"{_SUITE}-{digest}.tar"
    if not tree.is_file():
        fresh = tree.with_suffix(".unfinished.tar")
        _run(
            "mmdebstrap",
            "--variant=minbase",
            f"--include={_PACKAGES.replace(' ', ',')}",
            _SUITE,
            fresh,
            seconds=_TREE_SECONDS,
        )
        fresh.rename(tree)
    return tree


def _run(*command: str | Path, seconds: float) -> str:
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True, timeout=seconds)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def _enforce(root: Path, module: Path) -> None:
    """Add the module to the policy, label every file, and enforce the policy from the first boot on."""
    shutil.copy(module, root / "root")
    settings = root / "etc/selinux/config"
    settings.write_text(settings.read_text().replace("SELINUX=permissive", "SELINUX=enforcing"))
    _run("unshare", "--mount", "sh", "-ec", _LABEL, "sh", root, f"/root/{module.name}", seconds=_TREE_SECONDS)


@dataclass(slots=True)
class Machine:
    """One machine below `home`, off until `start`. `share` is a tree that it sees read-only as /share."""

    home: Path
    share: Path | None = None
    memory_mib: int = 8192
    processors: int = 2
    policy: Path | None = None
    """A module for SELinux's policy, in CIL: with it the policy is enforced, else violations are only logged."""
    port: int = 0
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def console(self) -> Path:
        """What the machine wrote to its serial console."""
        return self.home / "console.log"

    def make(self) -> None:
        """Make the disk from the tree, with a key of its own for SSH."""
        root = self.home / "root"
        root.mkdir(parents=True)
        _run("tar", "-C", root, "-xf", make_tree(), seconds=_TREE_SECONDS)
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.home / "key", seconds=60)
        (root / "root/.ssh").mkdir(mode=0o700, exist_ok=True)
        shutil.copy(self.home / "key.pub", root / "root/.ssh/authorized_keys")
        (root / "etc/hostname").write_text("machine\n")
        (root / "etc/fstab").write_text("/dev/vda / ext4 rw 0 1\n")
        (root / "etc/systemd/network/eth.network").write_text(_NETWORK)
        wants = root / "etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
        wants.symlink_to("/lib/systemd/system/systemd-networkd.service")
        for name in ("vmlinuz", "initrd.img"):
            shutil.copy(next((root / "boot").glob(f"{name}-*")), self.home / name)
        (root / "etc/systemd/system/multi-user.target.wants/containerd.service").unlink()  # a rehearsal has its own
        if self.policy:
            _enforce(root, self.policy)
        self._disk("disk", root, _DISK_GIB)
        shutil.rmtree(root)
        if self.share:
            self._disk("share", self.share, 6)

    def _disk(self, name: str, tree: Path, gib: int) -> None:
        image = self.home / f"{name}.img"
        image.touch()
        with image.open("r+b") as stream:
            stream.truncate(gib << 30)
        _run("mke2fs", "-q", "-F", "-t", "ext4", "-d", tree, image, seconds=_TREE_SECONDS)

    def start(self) -> None:
        """Power on, and wait until it answers over SSH."""
        with socket.socket() as trial:
            trial.bind(("127.0.0.1", 0))
            self.port = trial.getsockname()[1]
        share = ["-drive", f"file={self.home}/share.img,if=virtio,format=raw,readonly=on"] if self.share else []
        self._process = subprocess.Popen(
            [
                *("nice", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max"),
                *("-smp", str(self.processors), "-m", str(self.memory_mib)),
                *("-display", "none", "-serial", f"file:{self.console}"),
                *("-kernel", f"{self.home}/vmlinuz", "-initrd", f"{self.home}/initrd.img"),
                *("-drive", f"file={self.home}/disk.img,if=virtio,format=raw,cache=unsafe", *share),
                *("-netdev", f"user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:22"),
                *("-device", "virtio-net-pci,netdev=n"),
                *("-append", f"{_KERNEL} {_FAST} {_PATIENCE}"),
            ],
            stdin=subprocess.DEVNULL,
        )
        self._await_ssh()

    def reboot(self) -> None:
        """Restart it, and wait until another boot of it answers."""
        before = self.ask("cat /proc/sys/kernel/random/boot_id")
        self.run("systemctl --no-block reboot", check=False)
        self._await_ssh(before)

    def _await_ssh(self, former_boot: str = "") -> None:
        for _ in Deadline(_BOOT_SECONDS).every(_ASK_SECONDS):
            if self._process is None or self._process.poll() is not None:
                break
            done = self.run("cat /proc/sys/kernel/random/boot_id", check=False, seconds=60)
            if done.returncode == 0 and done.stdout.strip() != former_boot:
                return
        tail = self.console.read_text(errors="replace")[-2000:] if self.console.exists() else ""
        raise RuntimeError(f"the machine does not answer; end of its console:\n{tail}")

    def run(self, script: str, *, check: bool = True, seconds: float = 900) -> subprocess.CompletedProcess[str]:
        """Run a shell script as root of the machine."""
        done = subprocess.run(
            ["ssh", *self.ssh_options(), "root@127.0.0.1", "sh -s"],
            input=script,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )
        if check and done.returncode:
            raise RuntimeError(
                f"exit code {done.returncode} of {script!r}:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            )
        return done

    def ask(self, script: str) -> str:
        """What a script prints, without the last newline."""
        return self.run(script).stdout.strip()

    def ssh_options(self) -> tuple[str, ...]:
        """How ssh gets in; the key of the machine is a new one each time."""
        options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR", "ConnectTimeout=10")
        return ("-i", f"{self.home}/key", "-p", str(self.port), *(f"-o{option}" for option in options))

    def stop(self) -> None:
        """Power off; by force if it does not follow."""
        if self._process is None:
            return
        self.run("systemctl --no-block poweroff", check=False, seconds=60)
        try:
            self._process.wait(_OFF_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None
