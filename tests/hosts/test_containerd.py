"""containerd told of a mirror, over SSH: converged, foreseen, left alone the second time, taken back where it fails.

containerd is the real one of each release, asked through its CRI, and the mirror is a registry with a certificate of
its own authority. What is not openEuler: SSH, sudo, Python and coreutils are Debian's; systemctl and crictl are
stand-ins, and no kubelet runs, so that no Node is looked at. A containerd that breaks is its real self with another
program in its place from one start to the next.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import testinfra
from testinfra.host import Host as Seen

from tests.hosts.lab import Host, Lab, Registry

PLAYBOOK = "playbooks/hosts.yml"
CONFIG = "/etc/containerd/config.toml"
CERTS = "/etc/containerd/certs.d"
NOTE = "/var/lib/kubeflow-volcano/containerd.json"
RELEASES = [("1.6", "2.2"), pytest.param(("1.7", "2.0", "2.1", "2.3"), marks=pytest.mark.long)]
SYSTEMS = {"1.6": "22.03", "1.7": "22.03"}
"""openEuler of the hosts with that containerd; 24.03 where it is not said."""
GPU = """version = 2
# put here by the graphics driver's installer
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "nvidia"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
      BinaryName = "/usr/bin/nvidia-container-runtime"
      SystemdCgroup = false
"""
OLD = (
    GPU
    + """
[plugins."io.containerd.grpc.v1.cri".registry.mirrors."quay.io"]
  endpoint = ["https://{address}/v2/quay.io"]
[plugins."io.containerd.grpc.v1.cri".registry.configs."{address}".tls]
  ca_file = "/etc/old-ca.crt"
[plugins."io.containerd.grpc.v1.cri".registry.configs."{address}".auth]
  username = "u"
  password = "secret-of-the-node"
# the end
"""
)

Run = subprocess.CompletedProcess[str]
Play = Callable[..., Run]


@pytest.fixture(scope="module")
def mirror(lab: Lab) -> Registry:
    registry = lab.registry()
    registry.put("gcr.io/only/here", "1")
    registry.put("quay.io/only/here", "1")
    return registry


@pytest.fixture(scope="module")
def play(lab: Lab, mirror: Registry, tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Run the playbook's part about the mirror on hosts."""

    def run(hosts: list[Host], *arguments: str, **variables: Any) -> Run:
        known = {
            "image_mirror_mode": "containerd",
            "image_mirror_rules": [{"source": "gcr.io", "prefix": mirror.address}],
            "image_mirror_containerd_ca": str(mirror.ca),
            "image_mirror_containerd_ready_seconds": 60,
        }
        inventory = lab.inventory(tmp_path_factory.mktemp("inventory"), hosts, **known | variables)
        return lab.play(PLAYBOOK, inventory, "--tags", "image_mirror", *arguments)

    return run


@pytest.fixture
def node(lab: Lab) -> Iterator[Host]:
    host = lab.start(containerd="1.7")
    yield host
    host.remove()


@dataclass(frozen=True)
class SetUp:
    """Some releases, set up by one run; `before` is what their configuration was."""

    hosts: dict[str, Host]
    before: dict[str, str]
    foreseen: Run
    first: Run
    second: Run


@pytest.fixture(scope="module", params=RELEASES, ids=" ".join)
def set_up(request: pytest.FixtureRequest, lab: Lab, play: Play) -> Iterator[SetUp]:
    hosts = {
        release: lab.start(SYSTEMS.get(release, "24.03"), release, f"c{release.replace('.', '-')}")
        for release in request.param
    }
    before = {release: snapshot(host) for release, host in hosts.items()}
    foreseen = play([*hosts.values()], "--check", "--diff")
    assert {release: snapshot(host) for release, host in hosts.items()} == before, "a check changes nothing"
    first, second = (play([*hosts.values()]) for _ in range(2))
    yield SetUp(hosts, before, foreseen, first, second)
    for host in hosts.values():
        host.remove()


def snapshot(host: Host) -> str:
    """Every file of containerd's with its content, owner and mode, and the process that runs."""
    files = "find /etc/containerd /var/lib/kubeflow-volcano -exec stat -c '%n %U %a %Y' {} + 2>/dev/null | sort"
    return host.run(
        f"{files}; find /etc/containerd -type f -exec cat {{}} +; systemctl show -p MainPID containerd"
    ).stdout


def recap(done: Run) -> dict[str, dict[str, int]]:
    """The numbers of each host in the last lines of a run."""
    found = re.findall(r"^(\S+) +: (ok=.*)$", done.stdout, re.MULTILINE)
    return {host: {key: int(number) for key, number in re.findall(r"(\w+)=(\d+)", line)} for host, line in found}


def pull(host: Host, image: str) -> Run:
    return host.run(f"crictl pull {image}", check=False)


def text(host: Host, path: str) -> str:
    return (host.root / path.lstrip("/")).read_text()


def put(host: Host, path: str, content: str) -> None:
    target = host.root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)


def seen(host: Host, lab: Lab, tmp_path: Path) -> Seen:
    return testinfra.get_host(f"ansible://{host.name}", ansible_inventory=str(lab.inventory(tmp_path, [host])))


def test_a_check_tells_the_files_that_a_run_then_writes(set_up: SetUp, mirror: Registry) -> None:
    assert set_up.foreseen.returncode == 0, set_up.foreseen.stdout
    for told in (
        f"after: {CERTS}/gcr.io/hosts.toml",
        f"after: {CONFIG}",
        f'+  config_path = "{CERTS}"',
        "+[host.",
        mirror.address,
    ):
        assert told in set_up.foreseen.stdout
    assert all(recap(set_up.foreseen)[host.name]["changed"] == 2 for host in set_up.hosts.values())


def test_a_run_sets_every_release_up_and_a_second_one_has_nothing_to_do(set_up: SetUp) -> None:
    assert (set_up.first.returncode, set_up.second.returncode) == (0, 0), set_up.first.stdout + set_up.second.stdout
    assert all(recap(set_up.first)[host.name]["changed"] == 2 for host in set_up.hosts.values())
    assert {numbers["changed"] for numbers in recap(set_up.second).values()} == {0}


def test_an_image_is_pulled_by_a_name_that_only_the_mirror_has(set_up: SetUp, mirror: Registry) -> None:
    for release, host in set_up.hosts.items():
        mirror.requests.clear()
        done = pull(host, "gcr.io/only/here:1")
        assert done.returncode == 0, (release, done.stderr)
        assert ("HEAD", "/v2/gcr.io/only/here/manifests/1?ns=gcr.io", 200) in mirror.requests, release


def test_an_image_that_the_mirror_lacks_is_asked_for_once_and_nowhere_else(set_up: SetUp, mirror: Registry) -> None:
    for release, host in set_up.hosts.items():
        mirror.requests.clear()
        done = pull(host, "gcr.io/not/here:1")
        assert mirror.requests == [("HEAD", "/v2/gcr.io/not/here/manifests/1?ns=gcr.io", 404)], release
        assert "gcr.io/not/here:1: not found" in done.stderr


def test_the_files_can_be_read_by_others_whatever_the_umask_is(set_up: SetUp, lab: Lab, tmp_path: Path) -> None:
    there = seen([*set_up.hosts.values()][-1], lab, tmp_path)
    paths = (CONFIG, f"{CERTS}/kubeflow-volcano-ca.crt", f"{CERTS}/gcr.io/hosts.toml", CERTS, f"{CERTS}/gcr.io")
    found = there.check_output(f"stat -c '%U %a' {' '.join(paths)}").splitlines()
    assert found == ["root 644"] * 3 + ["root 755"] * 2
    assert not there.file(NOTE).exists


def test_a_file_keeps_its_version_and_a_copy_of_it_stays(set_up: SetUp) -> None:
    for release, host in set_up.hosts.items():
        (copy,) = (host.root / "etc/containerd").glob("config.toml.kubeflow-volcano-*")
        before = copy.read_text()
        assert before in set_up.before[release]
        added = text(host, CONFIG).removeprefix(before)
        plugin = "io.containerd.grpc.v1.cri" if release < "2" else "io.containerd.cri.v1.images"
        assert added == f'\n[plugins."{plugin}".registry]\n  config_path = "{CERTS}"\n'


@pytest.mark.long
def test_another_mirror_needs_no_restart(set_up: SetUp, play: Play) -> None:
    host = next(iter(set_up.hosts.values()))
    process = host.run("systemctl show -p MainPID containerd").stdout
    rules = [{"source": "gcr.io", "host": "other.lan"}, {"source": "quay.io", "host": "other.lan"}]
    done = play([host], image_mirror_rules=rules, image_mirror_containerd_ca="")
    assert done.returncode == 0, done.stdout
    assert host.run("systemctl show -p MainPID containerd").stdout == process
    assert '[host."https://other.lan"]' in text(host, f"{CERTS}/quay.io/hosts.toml")
    assert not (host.root / CERTS.lstrip("/") / "kubeflow-volcano-ca.crt").exists()
    fewer = play([host], image_mirror_rules=rules[:1], image_mirror_containerd_ca="")
    assert fewer.returncode == 0
    assert not (host.root / CERTS.lstrip("/") / "quay.io").exists()


@pytest.mark.long
def test_old_mirrors_a_graphics_runtime_and_credentials_are_kept(node: Host, play: Play, mirror: Registry) -> None:
    put(node, "/etc/old-ca.crt", mirror.ca.read_text())
    put(node, CONFIG, OLD.format(address=mirror.address))
    node.run("systemctl restart containerd")
    assert pull(node, "quay.io/only/here:1").returncode == 0, "it worked before"
    node.run("crictl rmi quay.io/only/here:1")
    ops = {"ansible_user": "ops", "ansible_become_password": "ops-secret"}
    done = play([node], "--diff", **ops)
    assert done.returncode == 0, done.stdout
    assert "secret-of-the-node" not in done.stdout + done.stderr
    for image in ("quay.io/only/here:1", "gcr.io/only/here:1"):
        assert pull(node, image).returncode == 0
    after = text(node, CONFIG)
    assert after.startswith(GPU)
    assert 'password = "secret-of-the-node"' in after
    assert after.count("# the end\n") == 1
    assert "mirrors" not in after
    assert recap(play([node]))[node.name]["changed"] == 0


@pytest.mark.long
def test_any_registry_is_asked_for_at_a_mirror_without_tls_until_no_rule_names_it(
    node: Host, lab: Lab, play: Play
) -> None:
    plain = lab.registry(tls=False)
    for name in ("docker.io/library/only", "own.lan/only", "only"):
        plain.put(name, "1")
    known = {
        "image_mirror_rules": [{"source": "*", "prefix": plain.address}],
        "image_mirror_containerd_plain_http": [plain.address],
        "image_mirror_containerd_registries": ["own.lan"],
        "image_mirror_containerd_ca": "",
    }
    done = play([node], **known)
    assert done.returncode == 0, done.stdout
    for image in ("only:1", "own.lan/only:1", f"{plain.address}/only:1"):
        assert pull(node, image).returncode == 0
    assert (node.root / CERTS.lstrip("/") / "registry.k8s.io/hosts.toml").exists()
    assert play([node], **known | {"image_mirror_rules": []}).returncode == 0
    assert list((node.root / CERTS.lstrip("/")).iterdir()) == []
    assert f'config_path = "{CERTS}"' in text(node, CONFIG)


@pytest.mark.long
def test_a_containerd_that_does_not_come_up_gets_back_what_it_had(node: Host, lab: Lab, play: Play) -> None:
    other = lab.start(containerd="2.2")
    before, others = files(node), files(other)
    breaks_with_config_path(node)
    done = play([other, node])
    assert done.returncode != 0
    assert "containerd did not" in done.stdout
    assert "files are restored" in done.stdout
    assert files(node) == before
    assert node.run("crictl info").returncode == 0
    assert files(other) == others, "the node after it was left alone"
    mends(node)
    again = play([other, node])
    assert again.returncode == 0, again.stdout
    assert recap(again)[node.name]["changed"] == 2
    other.remove()


@pytest.mark.long
def test_a_run_that_was_interrupted_before_the_restart_is_made_up_for(node: Host, play: Play) -> None:
    node.run("mv /usr/bin/systemctl /usr/bin/systemctl.real")
    put(
        node,
        "/usr/bin/systemctl",
        '#!/bin/sh\n[ "$1" = restart ] && kill -9 $PPID && exit 1\nexec systemctl.real "$@"\n',
    )
    node.run("chmod 755 /usr/bin/systemctl")
    broken = play([node])
    assert broken.returncode != 0
    node.run("mv /usr/bin/systemctl.real /usr/bin/systemctl")
    assert (node.root / NOTE.lstrip("/")).exists()
    assert pull(node, "gcr.io/only/here:1").returncode != 0, "containerd runs as before"
    done = play([node])
    assert done.returncode == 0, done.stdout
    assert "run was interrupted" in done.stderr + done.stdout
    assert pull(node, "gcr.io/only/here:1").returncode == 0
    assert not (node.root / NOTE.lstrip("/")).exists()
    assert recap(play([node]))[node.name]["changed"] == 0


@pytest.mark.long
def test_a_mirror_whose_authority_is_unknown_is_told_by_the_test_pull(node: Host, play: Play, lab: Lab) -> None:
    before = files(node)
    stranger = lab.registry()
    stranger.put("gcr.io/only/here", "1")
    rules = [{"source": "gcr.io", "prefix": stranger.address}]
    done = play([node], image_mirror_rules=rules, image_mirror_containerd_test_image="gcr.io/only/here:1")
    assert done.returncode != 0
    assert "unknown authority" in done.stdout
    assert "image_mirror_containerd_ca" in done.stdout
    assert files(node) == before


@pytest.mark.long
def test_a_node_that_cannot_be_set_up_keeps_all_from_being_changed(node: Host, lab: Lab, play: Play) -> None:
    docker, foreign = lab.start(containerd="1.6"), lab.start(containerd="2.2")
    put(
        docker,
        "/var/lib/kubelet/kubeadm-flags.env",
        'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///var/run/cri-dockerd.sock"\n',
    )
    put(foreign, f"{CERTS}/gcr.io/hosts.toml", '[host."https://theirs.lan"]\n')
    before = [snapshot(host) for host in (node, docker, foreign)]
    done = play([node, docker, foreign])
    assert done.returncode != 0
    assert [snapshot(host) for host in (node, docker, foreign)] == before
    assert re.search(f"{CERTS}/gcr.io/hosts.toml .* https://theirs.lan", done.stdout)
    assert re.search(f"on {docker.name}: .* Docker", done.stdout)
    extended = play([foreign], image_mirror_containerd_existing="extend")
    assert extended.returncode == 0, extended.stdout
    assert text(foreign, f"{CERTS}/gcr.io/hosts.toml").endswith('[host."https://theirs.lan"]\n')
    for host in (docker, foreign):
        host.remove()


def files(host: Host) -> str:
    """Paths and contents of containerd's files, copies aside."""
    found = "find . -type f ! -name '*kubeflow-volcano-2*' | sort | xargs tail -n +1 && find . -type d"
    return host.run(f"cd /etc/containerd && {found}").stdout


def breaks_with_config_path(host: Host) -> None:
    """A containerd that tells its configuration as ever, and does not start once config_path is set."""
    host.run("cp /usr/bin/containerd /usr/bin/containerd.real")
    script = f'#!/bin/sh\n[ $# = 0 ] && grep -q config_path {CONFIG} && exit 1\nexec /usr/bin/containerd.real "$@"\n'
    put(host, "/usr/bin/containerd.new", script)
    host.run("chmod 755 /usr/bin/containerd.new && mv /usr/bin/containerd.new /usr/bin/containerd")


def mends(host: Host) -> None:
    host.run("mv /usr/bin/containerd.real /usr/bin/containerd")
