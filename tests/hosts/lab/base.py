"""The file systems of test hosts: trees of packages, made once per recipe and kept in the user's cache.

Debian's packages stand in for openEuler's, because of those a registry is at hand: the suite is chosen by its Python.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rehearsal.build.cache import mark_used, publish, remove_unfinished, remove_unused
from kubeflow_volcano.rehearsal.lock import hold_lock
from tests.places import ROOT

_FINISH = Path(__file__).parent / "rootfs/finish.sh"
_PATIENCE_SECONDS = 1800.0
_TAIL = 10
_PACKAGES = (
    *("ca-certificates", "createrepo-c", "curl", "dnf", "e2fsprogs", "faketime", "findutils", "iproute2", "iptables"),
    *("iputils-ping", "kmod", "mount", "openssh-server", "procps", "python3", "python3-dnf", "rpm", "runc", "sudo"),
    *("tar", "tini", "xz-utils"),
)
_EMPTY_PACKAGES = (
    *("chrony", "conntrack-tools", "container-selinux", "ebtables", "firewalld", "ipset", "libselinux-utils"),
    *("policycoreutils-python-utils", "python3-libselinux", "socat"),
)
"""What openEuler has under these names and a role may install; dnf takes them from the host's own repository."""
_DEBIAN = (
    *("dev", "etc/apt", "etc/debian_version", "etc/os-release", "usr/bin/apt*", "usr/bin/dpkg*", "usr/lib/apt"),
    *("usr/lib/systemd/system/*", "etc/init.d", "var/cache/apt", "var/lib/apt"),
)
"""What would give Debian away to a program that looks for it, and devices."""
_NO_MMDEBSTRAP = Problem(
    "mmdebstrap is missing.",
    "it makes the file systems of test hosts from Debian's packages.",
    "install the package mmdebstrap (Debian, Ubuntu).",
)
_WITHOUT = ("doc", "i18n", "info", "locale", "man")


@dataclass(frozen=True, slots=True)
class Release:
    """An openEuler release as a host shows it, and the Debian suite that has its Python."""

    version: str
    level: str
    package: str
    suite: str


RELEASES = {
    "22.03": Release("22.03", "LTS-SP4", "22.03LTS_SP4", "bullseye"),
    "24.03": Release("24.03", "LTS", "24.03LTS", "bookworm"),
}
"""By what `VERSION_ID` in os-release says: Python 3.9 and 3.11."""


def hosts_home() -> Path:
    """Where trees and labs lie, in the user's cache."""
    return cache_directory() / "hosts"


def ensure_tree(release: Release, progress: Progress = silent) -> Path:
    """The tree of that release, made when the cache lacks it. It is never written to afterwards.

    Raises:
        ProblemsError: mmdebstrap is missing or failed.
        Busy: another process has been making one for half an hour.
    """
    home = hosts_home() / "trees"
    tree = home / f"{release.suite}-{_digest(release)}"
    if not tree.is_dir():
        with hold_lock(home / ".lock", progress, _PATIENCE_SECONDS, doing="is making the file systems of test hosts"):
            if not tree.is_dir():
                remove_unfinished(home)
                _make(release, tree, progress)
                remove_unused(home, progress)
    mark_used([tree])
    return tree


def _digest(release: Release) -> str:
    """Twelve digits that change with anything that the tree is made from but the packages' own versions."""
    inputs = [_command(release, Path("TREE")), _DEBIAN, _FINISH.read_text()]
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:12]


def _command(release: Release, tree: Path) -> list[str]:
    finish = f'chroot "$1" /bin/sh /{_FINISH.name} {release.package} {" ".join(_EMPTY_PACKAGES)}'
    return [
        "mmdebstrap",
        "--mode=root",
        "--variant=minbase",
        f"--include={','.join(_PACKAGES)}",
        "--setup-hook=/usr/share/mmdebstrap/hooks/merged-usr/setup00.sh",
        '--aptopt=Acquire::Languages "none"',
        *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _WITHOUT),
        f'--customize-hook=cp {_FINISH.relative_to(ROOT)} "$1/"',
        f"--customize-hook={finish}",
        f'--customize-hook=rm "$1/{_FINISH.name}"',
        release.suite,
        str(tree),
        "http://deb.debian.org/debian",
    ]


def _make(release: Release, tree: Path, progress: Progress) -> None:
    started = time.monotonic()
    progress(f"making the file system of openEuler {release.version} hosts from packages of Debian {release.suite}")
    log = tree.with_name(f"{tree.name}.log")
    with publish(tree) as fresh, log.open("wb") as stream:
        try:
            done = subprocess.run(
                _command(release, fresh),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                check=False,
            )
        except FileNotFoundError:
            raise ProblemsError(_NO_MMDEBSTRAP) from None
        if done.returncode:
            last = " | ".join(log.read_text(errors="replace").splitlines()[-_TAIL:])
            raise ProblemsError(
                Problem(
                    f"mmdebstrap ended with {done.returncode}: {last} (everything: {log}).",
                    f"root, and the packages of Debian {release.suite}.",
                    "see the reason above.",
                )
            )
        for path in (path for pattern in _DEBIAN for path in fresh.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (fresh / "dev").mkdir()
    log.unlink()
    progress(f"openEuler {release.version}: made in {time.monotonic() - started:.0f} s")
