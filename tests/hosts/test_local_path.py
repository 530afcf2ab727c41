"""The directory of volumes on hosts, over SSH: judged, made, labelled, and what is in volumes given to its consumers.

What is not openEuler: SSH, Python and coreutils are Debian's. The disk of a host is a directory of this machine, bound
to /data, because the root of a host is an overlay. SELinux: the kernel has none, so a file says that it is enforcing,
and semanage and restorecon are small programs that keep rules in a file and really write the labels, which nothing
enforces. The cluster is a local HTTP server that lists a bound volume for each host; tests/integration has a real one.
"""

from __future__ import annotations

import json
import re
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import serving
from tests.hosts.lab import Host, Lab
from tests.serving import Handler

Play = Callable[..., subprocess.CompletedProcess[str]]

BASE = "/data/k8s"
VOLUME = f"{BASE}/pvc-1_kubeflow_mysql-pv-claim"
SEMANAGE = """#!/usr/bin/python3
import pathlib, sys
rules = pathlib.Path("/etc/selinux/rules")
known = dict(line.split() for line in rules.read_text().splitlines()) if rules.exists() else {}
options = sys.argv[2:]
if "-l" in options:
    for pattern, kind in known.items():
        print(f"{pattern}    all files    system_u:object_r:{kind}:s0")
else:
    kind, pattern = options[options.index("-t") + 1], options[-1]
    assert ("-m" in options) == (pattern in known), "wrong way to change a rule"
    known[pattern] = kind
    rules.parent.mkdir(exist_ok=True)
    rules.write_text("".join(f"{pattern} {kind}\\n" for pattern, kind in known.items()))
"""
RESTORECON = """#!/usr/bin/python3
import os, pathlib, re, sys
file = pathlib.Path("/etc/selinux/rules")
rules = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
top = pathlib.Path(sys.argv[-1])
for path in (top, *top.rglob("*")):
    kind = next((kind for pattern, kind in rules if re.fullmatch(pattern, str(path))), "")
    try:
        old = os.getxattr(path, "security.selinux", follow_symlinks=False).decode().rstrip(chr(0))
    except OSError:
        old = "system_u:object_r:default_t:s0"
    parts = old.split(":")
    if kind and parts[2] != kind:
        new = ":".join([*parts[:2], kind, *parts[3:]])
        print(f"{'Would relabel' if '-n' in sys.argv else 'Relabeled'} {path} from {old} to {new}")
        if "-n" not in sys.argv:
            os.setxattr(path, "security.selinux", new.encode() + bytes(1), follow_symlinks=False)
"""


def api(hosts: list[Host]) -> type[Handler]:
    """An API server that knows a bound volume for each of the first two hosts, and one of another node."""
    names = [*(host.name for host in hosts), "elsewhere"]
    lists: dict[str, list[dict[str, Any]]] = {
        "/api/v1/nodes": [{"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}} for name in names],
        "/api/v1/persistentvolumes": [volume(number, name) for number, name in enumerate(names)],
        "/api/v1/persistentvolumeclaims": [
            {"metadata": {"namespace": space(number), "name": "mysql-pv-claim"}, "spec": {"volumeName": f"pv-{number}"}}
            for number in range(len(names))
        ],
        "/api/v1/pods": [pod(number) for number in range(len(names))],
        **{f"/apis/apps/v1/{plural}": [] for plural in ("daemonsets", "deployments", "statefulsets")},
    }
    kinds = {
        "/api/v1": ["Node", "PersistentVolume", "PersistentVolumeClaim", "Pod"],
        "/apis/apps/v1": ["DaemonSet", "Deployment", "StatefulSet"],
    }

    class Api(Handler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            body: dict[str, Any] = {"gitVersion": "v1.30.2"}
            if path in kinds:
                resources = [{"kind": kind, "name": f"{kind.lower()}s", "namespaced": True} for kind in kinds[path]]
                body = {"kind": "APIResourceList", "resources": resources}
            elif path in lists:
                body = {"kind": "List", "metadata": {"resourceVersion": "1"}, "items": lists[path]}
            self.answer(body, Content_Type="application/json")

    return Api


def space(number: int) -> str:
    return f"kubeflow-{number}" if number else "kubeflow"


def volume(number: int, node: str) -> dict[str, Any]:
    where = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {
        "metadata": {"name": f"pv-{number}"},
        "spec": {
            "hostPath": {"path": VOLUME},
            "claimRef": {"namespace": space(number), "name": "mysql-pv-claim"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}},
        },
    }


def pod(number: int) -> dict[str, Any]:
    main = {"name": "mysql", "volumeMounts": [{"name": "data", "mountPath": "/var/lib/mysql"}]}
    return {
        "metadata": {"namespace": space(number), "name": "mysql-0"},
        "spec": {
            "securityContext": {"runAsUser": 999, "runAsGroup": 999},
            "containers": [main],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "mysql-pv-claim"}}],
        },
        "status": {"phase": "Running"},
    }


@pytest.fixture(scope="module")
def pair(lab: Lab) -> Iterator[list[Host]]:
    """A host of each release, with a disk at /data."""
    hosts = [lab.start("24.03", name="storage-1"), lab.start("22.03", name="storage-2")]
    for host in hosts:
        host.run("mkdir -p /var/lib/containerd/disk /data && mount --bind /var/lib/containerd/disk /data")
    yield hosts
    for host in hosts:
        host.remove()


@pytest.fixture
def hosts(pair: list[Host]) -> Iterator[list[Host]]:
    """The pair, with an empty disk and nothing of SELinux."""
    yield pair
    for host in pair:
        host.run("umount /sys/fs 2>/dev/null; rm -rf /data/* /etc/selinux /usr/sbin/semanage /usr/sbin/restorecon")


@pytest.fixture(scope="module")
def kubeconfig(pair: list[Host], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Credentials of the stand-in for a cluster."""
    path = tmp_path_factory.mktemp("cluster") / "kubeconfig"
    with serving.serving(api(pair)) as port:
        path.write_text(json.dumps(serving.kubeconfig(f"http://127.0.0.1:{port}", {"token": "none"})))
        yield path


@pytest.fixture
def play(lab: Lab, hosts: list[Host], kubeconfig: Path, tmp_path: Path) -> Play:
    """Play the role's part for hosts on the pair, or on those that are given."""
    known = {
        "local_path_base_directory": BASE,
        "kubeflow_kubeconfig": str(kubeconfig),
    }

    def run(*options: str, on: list[Host] | None = None, **variables: Any) -> subprocess.CompletedProcess[str]:
        inventory = lab.inventory(tmp_path / "inventory", on or hosts, **(known | variables))
        done = lab.play("playbooks/hosts.yml", inventory, "--tags", "local_path", *options)
        assert "Traceback" not in done.stdout + done.stderr
        return done

    return run


def changed(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Changed tasks by host, of a play that came out."""
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^(\S+)\s+: ok=\d+\s+changed=(\d+)", done.stdout, re.MULTILINE)
    counts = {name: int(count) for name, count in found}
    assert counts.pop("localhost") == 0
    return counts


def told(done: subprocess.CompletedProcess[str]) -> str:
    """Everything that was said, as one line."""
    return " ".join((done.stdout + done.stderr).replace("\\n", " ").split())


def state(host: Host, path: str) -> tuple[int, int, str]:
    found = (host.root / path.lstrip("/")).lstat()
    return found.st_uid, found.st_gid, f"{stat.S_IMODE(found.st_mode):04o}"


def fill(host: Host) -> None:
    """A volume as the tutorials leave it: of root, open to everybody, with names that a shell would read."""
    host.run(
        f"mkdir -p -m 0777 {VOLUME} && chmod 0777 {VOLUME} && cd {VOLUME} && mkdir 'a b' && touch -- '-R' '$(reboot)' "
        "'a b/*' && touch \"$(printf 'new\\nline')\" && ln -s /etc/shadow shadow && ln -s /etc etc "
        "&& touch right && chown 999:999 right && chmod 0604 ./-R"
    )


@pytest.mark.long
def test_the_directory_is_made_once_for_everybody_to_come_through(play: Play, hosts: list[Host]) -> None:
    assert changed(play("--check", "--diff")) == {"storage-1": 1, "storage-2": 1}
    assert not (hosts[0].root / "data/k8s").exists()
    assert changed(play()) == {"storage-1": 1, "storage-2": 1}
    assert [state(host, BASE) for host in hosts] == [(0, 0, "0711")] * 2
    assert changed(play()) == changed(play("--check")) == {"storage-1": 0, "storage-2": 0}


@pytest.mark.long
def test_by_default_it_is_where_upstream_has_it(play: Play, hosts: list[Host]) -> None:
    default = "/opt/local-path-provisioner"
    assert changed(play(local_path_base_directory=default)) == {"storage-1": 1, "storage-2": 1}
    assert [state(host, default) for host in hosts] == [(0, 0, "0711")] * 2
    assert changed(play(local_path_base_directory=default)) == {"storage-1": 0, "storage-2": 0}


@pytest.mark.long
def test_a_group_of_hosts_has_a_directory_of_its_own(play: Play, hosts: list[Host]) -> None:
    own = "{{ '/data/fast' if inventory_hostname == 'storage-2' else '/data/slow' }}"
    changed(play(local_path_base_directory=own))
    assert state(hosts[0], "/data/slow") == state(hosts[1], "/data/fast") == (0, 0, "0711")


@pytest.mark.long
@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        ("mkdir -p /data/bad && mount -t tmpfs tmpfs /data/bad", "a tmpfs"),
        ("mkdir -p /data/bad && mount --bind /data/bad /data/bad && mount -o remount,bind,ro /data/bad", "mounted ro"),
        (
            "mkdir -p /data/bad && mount --bind /data/bad /data/bad && mount -o remount,bind,noexec /data/bad",
            "mounted noexec",
        ),
        ("mkdir -p /data/real && ln -s /data/real /data/bad", "a symbolic link"),
    ],
)
def test_a_host_of_no_use_keeps_all_from_being_changed(play: Play, hosts: list[Host], prepare: str, words: str) -> None:
    hosts[0].run(prepare)
    try:
        done = play(local_path_base_directory="/data/bad")
        assert done.returncode == 2
        assert words in told(done)
        assert "Do: " in told(done)
        assert not (hosts[1].root / "data/bad").exists()
    finally:
        hosts[0].run("umount /data/bad; true")


def test_an_overlay_and_too_little_room_are_told_at_once(play: Play, hosts: list[Host]) -> None:
    done = play(local_path_base_directory="/srv/volumes", local_path_minimum_free_gb=900_000)
    refused = re.findall(r"^fatal: \[(\S+)\]: FAILED!", done.stdout, re.MULTILINE)
    assert sorted(refused) == [host.name for host in hosts]
    assert "an overlay." in told(done)
    assert "900000 GB, which local_path_minimum_free_gb" in told(done)


def test_a_directory_of_others_is_not_taken_over(play: Play, hosts: list[Host]) -> None:
    hosts[0].run(f"mkdir -p {BASE}/photos && chmod 0755 {BASE}")
    done = play()
    assert "(photos)" in told(done)
    assert state(hosts[0], BASE) == (0, 0, "0755")


@pytest.mark.long
def test_volumes_made_in_advance_are_made_on_their_node_and_then_left_to_their_consumers(
    play: Play, hosts: list[Host]
) -> None:
    static = {
        "kubeflow_release": "1.10.2",
        "kubeflow_components": ["pipelines"],
        "local_path_storage_mode": "static",
        "local_path_static_node": "storage-1",
        "local_path_static_nodes": {"kubeflow/minio-pvc": "storage-2"},
        "local_path_minimum_free_gb": 1,  # what the components claim may be more than the disk of this machine has
    }
    changed(play(**static))
    assert state(hosts[0], f"{BASE}/static/kubeflow_mysql-pv-claim") == (999, 999, "0770")
    assert state(hosts[1], f"{BASE}/static/kubeflow_minio-pvc") == (1000, 0, "0770")
    assert not (hosts[1].root / f"{BASE}/static/kubeflow_mysql-pv-claim".lstrip("/")).exists()
    hosts[0].run(f"chmod 2750 {BASE}/static/kubeflow_mysql-pv-claim")  # as a consumer may
    assert changed(play(**static)) == {"storage-1": 0, "storage-2": 0}
    assert state(hosts[0], f"{BASE}/static/kubeflow_mysql-pv-claim") == (999, 999, "2750")


@pytest.mark.long
def test_owners_are_told_in_one_table_and_nothing_is_repaired_unasked(play: Play, hosts: list[Host]) -> None:
    changed(play())
    for host in hosts:
        fill(host)
    done = play()
    assert changed(done) == {"storage-1": 0, "storage-2": 0}
    lines = [line.split("  ") for line in done.stdout.splitlines() if VOLUME in line]
    assert [line[0] for line in lines] == ["storage-1", "storage-2", "Node elsewhere"]
    assert "0:0 0777, 8 of 9 with another owner" in done.stdout
    assert "999:999" in done.stdout
    assert "world-writable (local_path_tighten_claims)" in done.stdout
    assert "not a host of" in done.stdout
    assert state(hosts[0], f"{VOLUME}/-R") == (0, 0, "0604")


@pytest.mark.long
def test_a_repair_gives_exactly_what_belongs_to_the_volume(play: Play, hosts: list[Host]) -> None:
    changed(play())
    for host in hosts:
        fill(host)
    shadow = [state(host, "/etc/shadow") for host in hosts]
    proposed = play("--check", local_path_repair_permissions=True)
    assert changed(proposed) == {"storage-1": 1, "storage-2": 1}
    assert state(hosts[0], f"{VOLUME}/-R") == (0, 0, "0604")

    assert changed(play(local_path_repair_permissions=True)) == {"storage-1": 1, "storage-2": 1}
    for host in hosts:
        for name in ("-R", "$(reboot)", "a b", "a b/*", "new\nline", "shadow", "etc"):
            assert state(host, f"{VOLUME}/{name}")[:2] == (999, 999), name
        assert state(host, f"{VOLUME}/-R")[2] == "0604"
        assert state(host, VOLUME) == (999, 999, "0777")
        assert state(host, "/etc") == (0, 0, "0755")
    assert [state(host, "/etc/shadow") for host in hosts] == shadow
    assert changed(play(local_path_repair_permissions=True)) == {"storage-1": 0, "storage-2": 0}


@pytest.mark.long
def test_an_open_volume_is_closed_only_by_name(play: Play, hosts: list[Host]) -> None:
    changed(play())
    for host in hosts:
        fill(host)
    asked = {"local_path_repair_permissions": True, "local_path_tighten_claims": ["kubeflow/mysql-pv-claim"]}
    changed(play(**asked))
    assert [state(host, VOLUME)[2] for host in hosts] == ["0770", "0777"]
    assert changed(play(**asked)) == {"storage-1": 0, "storage-2": 0}


def test_a_claim_that_nobody_has_cannot_be_closed(play: Play, hosts: list[Host]) -> None:
    done = play(local_path_tighten_claims=["kubeflow/mysql"], on=[hosts[0]])
    assert done.returncode == 2
    assert "local_path_tighten_claims has kubeflow/mysql" in told(done)
    assert "kubeflow/mysql-pv-claim" in told(done)


@pytest.mark.long
def test_a_cluster_that_does_not_answer_keeps_only_what_was_asked_of_it(
    play: Play, hosts: list[Host], tmp_path: Path
) -> None:
    nowhere = str(tmp_path / "none")
    unasked = play(kubeflow_kubeconfig=nowhere)
    assert changed(unasked) == {"storage-1": 1, "storage-2": 1}
    assert "Owners of volumes" in unasked.stdout
    done = play(kubeflow_kubeconfig=nowhere, local_path_repair_permissions=True)
    assert done.returncode == 2
    assert "Do: " in told(done)
    assert len(hosts) == 2


def enforce(host: Host) -> None:
    """Let SELinux seem enforcing, with its programs."""
    (host.root / "usr/sbin/semanage").write_text(SEMANAGE)
    (host.root / "usr/sbin/restorecon").write_text(RESTORECON)
    host.run(
        "chmod 0755 /usr/sbin/semanage /usr/sbin/restorecon; mount -t tmpfs tmpfs /sys/fs; "
        "mkdir /sys/fs/selinux; echo 1 > /sys/fs/selinux/enforce"
    )


def label(host: Host, path: str) -> str:
    return host.run(f"python3 -c \"import os; print(os.getxattr('{path}', 'security.selinux').decode())\"").stdout


@pytest.mark.long
def test_where_selinux_is_on_containers_get_their_type_and_levels_stay(play: Play, hosts: list[Host]) -> None:
    host = hosts[0]
    enforce(host)
    host.run(f"mkdir -p {VOLUME} && chmod 0711 {BASE}")
    own = "system_u:object_r:var_t:s0:c1,c2"
    host.run(f"python3 -c \"import os; os.setxattr('{VOLUME}', 'security.selinux', b'{own}')\"")
    assert changed(play("--check", on=[host])) == {"storage-1": 1}
    assert not (host.root / "etc/selinux/rules").exists()
    assert changed(play(on=[host])) == {"storage-1": 1}
    assert (host.root / "etc/selinux/rules").read_text() == f"{BASE}(/.*)? container_file_t\n"
    assert label(host, VOLUME).strip("\0\n") == "system_u:object_r:container_file_t:s0:c1,c2"
    assert changed(play(on=[host])) == changed(play("--check", on=[host])) == {"storage-1": 0}


@pytest.mark.long
def test_a_rule_that_says_something_else_is_changed_and_not_doubled(play: Play, hosts: list[Host]) -> None:
    enforce(hosts[0])
    hosts[0].run(f"mkdir -p {BASE} /etc/selinux && chmod 0711 {BASE} && echo '{BASE}(/.*)? usr_t' > /etc/selinux/rules")
    assert changed(play(on=[hosts[0]])) == {"storage-1": 1}
    assert (hosts[0].root / "etc/selinux/rules").read_text() == f"{BASE}(/.*)? container_file_t\n"


@pytest.mark.long
def test_missing_programs_of_selinux_are_told_with_their_packages(play: Play, hosts: list[Host]) -> None:
    enforce(hosts[0])
    hosts[0].run("rm /usr/sbin/semanage")
    done = play(on=[hosts[0]])
    assert done.returncode == 2
    assert "semanage is not" in told(done)
    assert "dnf install policycoreutils-python-utils" in told(done)
