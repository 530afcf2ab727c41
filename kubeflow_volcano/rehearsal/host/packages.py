"""What the rehearsal cluster needs from the distribution, and the packages that contain it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.problems import Problem

_SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Missing:
    """A program, or a file by name or pattern, that this machine lacks.

    `packages` gives the package by package manager, "apt" (Debian, Ubuntu) or "dnf" (openEuler, Fedora and relatives).
    `making` names the tool whose build needs it, "*" for any tool; it is empty for what a running cluster needs.
    """

    what: str
    what_for: str
    packages: Mapping[str, str]
    making: str = ""

    def problem(self) -> Problem:
        """The problem for people, with the package to install."""
        names = " or ".join(f"{name} ({manager})" for manager, name in self.packages.items())
        return Problem(f"{self.what} is missing.", f"{self.what_for}.", f"install the package {names}.")


_PROGRAMS = (
    Missing("busybox", "the shell of the images of the cluster", {"apt": "busybox", "dnf": "busybox"}),
    Missing("gcc", "building runc, which calls libseccomp", {"apt": "gcc", "dnf": "gcc"}, "runc"),
    Missing("ip", "the network between host and node", {"apt": "iproute2", "dnf": "iproute"}),
    Missing("iptables", "kube-proxy's routes to Services", {"apt": "iptables", "dnf": "iptables"}),
    Missing("openssl", "Volcano's admission-init image", {"apt": "openssl", "dnf": "openssl"}),
    Missing("pkg-config", "finding libseccomp when runc is built", {"apt": "pkg-config", "dnf": "pkgconfig"}, "runc"),
    Missing("setpriv", "ending a build together with its caller", {"apt": "util-linux", "dnf": "util-linux"}, "*"),
    Missing("unshare", "the node's own namespaces", {"apt": "util-linux", "dnf": "util-linux"}),
)
_FILES = (  # each with the paths that distributions give it, one of which must exist
    (
        Missing("libc.a", "linking runc statically", {"apt": "libc6-dev", "dnf": "glibc-static"}, "runc"),
        ("usr/lib/*-linux-gnu/libc.a", "usr/lib64/libc.a", "usr/lib/libc.a"),
    ),
    (
        Missing("libseccomp.a", "seccomp in runc", {"apt": "libseccomp-dev", "dnf": "libseccomp-static"}, "runc"),
        ("usr/lib/*-linux-gnu/libseccomp.a", "usr/lib64/libseccomp.a", "usr/lib/libseccomp.a"),
    ),
    (
        Missing("seccomp.h", "seccomp in runc", {"apt": "libseccomp-dev", "dnf": "libseccomp-devel"}, "runc"),
        ("usr/include/seccomp.h",),
    ),
    (
        Missing(
            "a bundle of CA certificates", "downloads over TLS", dict.fromkeys(("apt", "dnf"), "ca-certificates"), "*"
        ),
        ("etc/ssl/certs/ca-certificates.crt", "etc/pki/tls/certs/ca-bundle.crt", "etc/ssl/ca-bundle.pem"),
    ),
)


def missing_packages(to_make: Collection[str], root: Path = Path("/")) -> tuple[Missing, ...]:
    """Everything that this machine lacks; it searches for the program or file itself, not for the package.

    `to_make` names the tools that are still to be built. Files are searched below `root`.
    """
    path = f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}"  # iptables is in sbin, which a login's PATH may lack
    programs = [wanted for wanted in _PROGRAMS if not shutil.which(wanted.what, path=path)]
    files = [wanted for wanted, places in _FILES if not any(found for place in places for found in root.glob(place))]
    needed = {"", *(["*", *to_make] if to_make else ())}
    return tuple(wanted for wanted in (*programs, *files) if wanted.making in needed)
