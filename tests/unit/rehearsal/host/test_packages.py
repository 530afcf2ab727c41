"""What the distribution lacks is found by looking for the thing itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.host import packages
from kubeflow_volcano.rehearsal.host.packages import missing_packages


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any of it."""
    monkeypatch.setenv("PATH", str(tmp_path / "usr/bin"))
    monkeypatch.setattr(packages, "_SYSTEM_PATH", str(tmp_path / "usr/sbin"))
    return tmp_path


def _touch(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    path.chmod(0o755)


def test_a_bare_machine_lacks_everything_and_each_has_a_package_for_both_managers(bare: Path) -> None:
    missing = missing_packages(["runc"], bare)
    assert {"busybox", "gcc", "iptables", "libseccomp.a", "openssl", "seccomp.h"} <= {item.what for item in missing}
    assert all(set(item.packages) == {"apt", "dnf"} for item in missing)


def test_a_compiler_is_asked_for_only_where_runc_is_to_be_made(bare: Path) -> None:
    nothing, other, runc = ({item.what for item in missing_packages(made, bare)} for made in ((), ["kube"], ["runc"]))
    assert nothing == {"busybox", "ip", "iptables", "openssl", "unshare"}
    assert other - nothing == {"a bundle of CA certificates", "setpriv"}
    assert runc - other == {"gcc", "libc.a", "libseccomp.a", "pkg-config", "seccomp.h"}


def test_programs_are_found_in_sbin_and_libraries_where_distributions_put_them(bare: Path) -> None:
    before = {item.what for item in missing_packages(["runc"], bare)}
    _touch(bare / "usr/sbin/iptables")
    _touch(bare / "usr/bin/openssl")
    _touch(bare / "usr/lib/aarch64-linux-gnu/libseccomp.a")
    _touch(bare / "usr/lib64/libc.a")
    after = {item.what for item in missing_packages(["runc"], bare)}
    assert before - after == {"iptables", "openssl", "libseccomp.a", "libc.a"}


def test_a_person_is_told_which_package_to_install(bare: Path) -> None:
    told = {item.what: str(item.problem()) for item in missing_packages(["runc"], bare)}
    for words in ("Found: seccomp.h ", " in runc.", "libseccomp-dev (apt)", "libseccomp-devel (dnf)"):
        assert words in told["seccomp.h"]
