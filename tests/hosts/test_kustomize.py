"""kustomize on hosts, over SSH: put there, left alone the second time, foreseen by check mode, taken up and down.

What is not openEuler: SSH, sudo, Python and coreutils are Debian's. The kustomize programs are shell scripts that tell
their version, packed as upstream packs them. A host's other architecture is what its Python is made to say. SELinux
is the real library with a policy of two lines and labels that are really written, on a kernel without SELinux:
preloaded functions say that its file system is mounted and that files without a label have one. Nothing enforces them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import testinfra

from tests.hosts.lab import Host, Lab
from tests.kustomize_mirror import Mirror, package_for, program
from tests.places import ROOT

Play = Callable[..., subprocess.CompletedProcess[str]]

SELINUX_IS_ON = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/types.h>

int statfs(const char *path, struct statfs *out) {
  int (*real)(const char *, struct statfs *) = dlsym(RTLD_NEXT, "statfs");
  int status = real(path, out);
  if (status == 0 && strcmp(path, "/sys/fs/selinux") == 0) out->f_type = 0xf97cff8c;
  return status;
}

/* As the kernel does, a file without a label has one. */
ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size) {
  static const char label[] = "system_u:object_r:unlabeled_t:s0";
  ssize_t (*real)(const char *, const char *, void *, size_t) = dlsym(RTLD_NEXT, "lgetxattr");
  ssize_t length = real(path, name, value, size);
  if (length >= 0 || errno != ENODATA || strcmp(name, "security.selinux") != 0) return length;
  if (size > 0 && size < sizeof label) return errno = ERANGE, -1;
  if (size > 0) memcpy(value, label, sizeof label);
  return sizeof label;
}
"""
POLICY = """/.*\tsystem_u:object_r:default_t:s0
/usr/local/bin(/.*)?\tsystem_u:object_r:bin_t:s0
"""


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirror]:
    mirror = Mirror(tmp_path_factory.mktemp("mirror"))
    yield mirror
    mirror.stop()


@pytest.fixture
def play(lab: Lab, mirror: Mirror, tmp_path: Path) -> Play:
    """Run playbooks/hosts.yml on hosts, asking for kustomize; upstream cannot be reached."""
    package = package_for(mirror, tmp_path / "package")
    known = {"kustomize_install_on_hosts": True, "kustomize_mirrors": [f"{mirror.address}/good"]}

    def run(hosts: list[Host], *options: str, **variables: Any) -> subprocess.CompletedProcess[str]:
        inventory = lab.inventory(tmp_path / "inventory", hosts, **known, **variables)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", f"{package}:{ROOT}")
            patch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
            patch.setenv("https_proxy", "http://127.0.0.1:9")
            return lab.play("playbooks/hosts.yml", inventory, "--tags", "kustomize", *options)

    return run


@pytest.fixture(scope="module")
def pair(lab: Lab) -> Iterator[list[Host]]:
    """A host of each release, used by all tests that leave it usable."""
    hosts = [lab.start("22.03"), lab.start("24.03")]
    yield hosts
    for host in hosts:
        host.remove()


def changed(done: subprocess.CompletedProcess[str], *hosts: Host) -> list[int]:
    assert done.returncode == 0, done.stdout + done.stderr
    found = {name: int(count) for name, count in re.findall(r"^(\S+) .* changed=(\d+) ", done.stdout, re.MULTILINE)}
    return [found[host.name] for host in hosts]


def installed(host: Host) -> bytes:
    return (host.root / "usr/local/bin/kustomize").read_bytes()


def test_every_host_gets_it_whatever_the_umask_and_everybody_may_run_it(
    play: Play, pair: list[Host], tmp_path: Path
) -> None:
    foreseen = play(pair, "--check", "--diff")
    assert changed(foreseen, *pair) == [2, 1]  # the first also counts the cache, which is filled in check mode too
    assert not any((host.root / "usr/local/bin/kustomize").exists() for host in pair)

    assert changed(play(pair), *pair) == [1, 1]
    assert changed(play(pair), *pair) == [0, 0]

    assert all(host.run("umask").stdout.strip() == "0077" for host in pair)
    inventory = tmp_path / "inventory/hosts.yml"
    for host in testinfra.get_hosts(["ansible://nodes"], ansible_inventory=str(inventory)):
        file = host.file("/usr/local/bin/kustomize")
        assert (file.user, file.group, file.mode) == ("root", "root", 0o755)
        assert host.run("su ops -s /bin/sh -c '/usr/local/bin/kustomize version'").stdout.strip() == "v5.2.1"


def test_another_release_takes_it_down_and_up_again_and_keeps_the_former(
    play: Play, mirror: Mirror, pair: list[Host]
) -> None:
    play(pair)
    assert changed(play(pair, kubeflow_release="1.6.1"), *pair) == [2, 1]
    assert [installed(host) for host in pair] == [program("3.2.0")] * 2
    for host in pair:
        former = [path.read_bytes() for path in (host.root / "usr/local/bin").glob("kustomize.*~")]
        assert program("5.2.1") in former

    asked = len(mirror.asked)
    assert changed(play(pair, kubeflow_release="1.9.1"), *pair) == [1, 1]
    assert [installed(host) for host in pair] == [program("5.2.1")] * 2
    assert len(mirror.asked) == asked  # the hosts ask nobody, and this machine has both


def test_another_program_of_the_same_name_is_seen_as_another(play: Play, pair: list[Host]) -> None:
    host = pair[0]
    play([host])
    (host.root / "usr/local/bin/kustomize").write_bytes(program("5.2.1") + b"# by other hands\n")
    (host.root / "usr/local/bin/kustomize").chmod(0o700)

    assert changed(play([host]), host) == [1]
    assert installed(host) == program("5.2.1")


def test_one_host_at_a_time_can_be_chosen(play: Play, pair: list[Host]) -> None:
    play(pair, kubeflow_release="1.9.1")
    done = play(pair, "--limit", f"localhost,{pair[1].name}", kubeflow_release="1.6.1")
    assert changed(done, pair[1]) == [2]
    assert [installed(host) for host in pair] == [program("5.2.1"), program("3.2.0")]


def test_an_ordinary_user_becomes_root_by_sudo(play: Play, host: Host) -> None:
    as_ops = {"ansible_user": "ops", "ansible_become_password": "ops-secret"}
    done = play([host], **as_ops)
    assert changed(done, host) == [2]
    assert installed(host) == program("5.2.1")
    assert "ops-secret" not in done.stdout + done.stderr


def test_each_architecture_gets_its_own_and_one_that_upstream_has_not_is_refused_before_any_change(
    play: Play, lab: Lab
) -> None:
    arm, other = lab.start(name="arm"), lab.start(name="x86")
    (arm.root / "etc/python3.11/sitecustomize.py").write_text("import platform\nplatform.machine = lambda: 'aarch64'\n")
    try:
        refused = play([other, arm], kubeflow_release="1.6.1")
        assert refused.returncode == 2
        assert "no kustomize 3.2.0 for arm64: upstream publishes none." in refused.stdout
        assert not (other.root / "usr/local/bin/kustomize").exists()

        assert play([other, arm]).returncode == 0
        assert (installed(other), installed(arm)) == (program("5.2.1", "amd64"), program("5.2.1", "arm64"))
    finally:
        arm.remove()
        other.remove()


def test_a_full_disk_leaves_the_former_whole_and_the_next_run_ends_the_work(play: Play, host: Host) -> None:
    assert play([host]).returncode == 0
    host.run(
        "mkdir /mnt/small && mount -t tmpfs -o size=64k tmpfs /mnt/small && cp /usr/local/bin/kustomize /mnt/small"
    )
    host.run("head -c 60000 /dev/urandom >/mnt/small/filler || true")
    small = {"kustomize_directory": "/mnt/small", "kubeflow_release": "1.6.1"}

    full = play([host], **small)
    assert full.returncode == 2, full.stdout
    assert "No space left on device" in full.stdout
    assert "Traceback" not in full.stdout + full.stderr
    assert host.run("/mnt/small/kustomize version").stdout == "v5.2.1\n"

    host.run("rm /mnt/small/filler")
    assert changed(play([host], **small), host) == [1]
    assert host.run("/mnt/small/kustomize version").stdout == "v3.2.0\n"


def test_without_selinux_nothing_is_labelled(play: Play, pair: list[Host]) -> None:
    play(pair)
    for host in pair:
        assert "security.selinux" not in os.listxattr(host.root / "usr/local/bin/kustomize")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler for the function that says that SELinux is on")
def test_where_selinux_is_on_the_type_is_the_policy_s_also_for_a_file_that_was_moved_there(
    play: Play, host: Host, tmp_path: Path
) -> None:
    source, library = tmp_path / "selinux.c", host.root / "usr/lib/selinux-is-on.so"
    source.write_text(SELINUX_IS_ON)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    contexts = host.root / "etc/selinux/targeted/contexts/files/file_contexts"
    contexts.parent.mkdir(parents=True)
    contexts.write_text(POLICY)
    (host.root / "etc/selinux/config").write_text("SELINUX=enforcing\nSELINUXTYPE=targeted\n")
    host.run("mount -t tmpfs tmpfs /sys/fs && mkdir /sys/fs/selinux")
    host.run("printf 1 >/sys/fs/selinux/enforce; printf 1 >/sys/fs/selinux/mls")
    python = host.root / "usr/lib/python-with-selinux"
    python.write_text('#!/bin/sh\nLD_PRELOAD=/usr/lib/selinux-is-on.so exec /usr/bin/python3 "$@"\n')
    python.chmod(0o755)
    target = host.root / "usr/local/bin/kustomize"
    enforcing = {"ansible_python_interpreter": "/usr/lib/python-with-selinux"}

    def label() -> bytes:
        return os.getxattr(target, "security.selinux").rstrip(b"\0")

    first = play([host], **enforcing)
    assert changed(first, host) == [2]
    assert label() == b"system_u:object_r:bin_t:s0"

    os.setxattr(target, "security.selinux", b"system_u:object_r:user_tmp_t:s0")
    foreseen = play([host], "--check", "--diff", **enforcing)
    assert changed(foreseen, host) == [1]
    assert label() == b"system_u:object_r:user_tmp_t:s0"

    assert changed(play([host], **enforcing), host) == [1]
    assert label() == b"system_u:object_r:bin_t:s0"
    assert changed(play([host], **enforcing), host) == [0]


def test_a_directory_that_is_not_there_is_told(play: Play, host: Host) -> None:
    done = play([host], kustomize_directory="/opt/tools/bin")
    assert done.returncode == 2
    assert "/opt/tools/bin does not exist" in done.stdout
    assert not (host.root / "opt/tools").exists()
