"""Nodes pull beforehand, from a registry that refuses, lies and falls silent on cue.

Real here: SSH, Python 3.11 and 3.9, containerd 2.2 and 1.7 with their CRI, the disks, TLS and every request. Not real:
kernel and kubelet of openEuler, the registry (`Lab.registry`), the content of its images, and crictl, a stand-in.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from tests.hosts.lab import Host, Lab
from tests.hosts.lab.registry import Registry
from tests.kustomize_tool import kustomize_of
from tests.local_path_images import IMAGES, MANIFEST, NEEDED
from tests.playing import started
from tests.waiting import until

PLAY = """\
- hosts: nodes
  gather_facts: false
  become: true
  tasks:
    - ansible.builtin.import_role:
        name: image_mirror_pull
"""
CONFIG_V3 = """
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{sandbox}"
"""
CONFIG_V2 = """
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"
"""

pytestmark = [*NEEDED, pytest.mark.long]


@dataclass
class Site:
    """Two nodes, the registry that both trust, and the play that pulls."""

    lab: Lab
    directory: Path
    registry: Registry
    nodes: tuple[Host, Host]

    def name(self, image: tuple[str, str]) -> str:
        """What manifests call an image of the registry."""
        return f"{self.registry.address}/{image[0]}:{image[1]}"

    def inventory(self, **variables: Any) -> Path:
        """The inventory of both nodes, and any variables more or other."""
        common: dict[str, Any] = {
            "kubeflow_components": ["local-path"],
            "local_path_version": "0.0.37",
            "local_path_source": str(MANIFEST),
            "kustomize_binary": str(kustomize_of("1.30")),
            "image_mirror_mode": "rewrite",
            "image_mirror_pull": True,
            "image_mirror_rules": [{"source": "*", "prefix": self.registry.address}],
            "image_mirror_probe_per_minute": 10000,
            "image_mirror_probe_parallel": 1,
            "image_mirror_pull_disk_percent": 95,
        }
        return self.lab.inventory(self.directory, self.nodes, **common | variables)

    def play(self, *arguments: str, **variables: Any) -> CompletedProcess[str]:
        """Pull; what the registry was asked for is counted anew."""
        self.registry.requests.clear()
        return self.lab.play(self.directory / "play.yml", self.inventory(**variables), *arguments)

    def asked(self) -> list[str]:
        """Repositories whose manifests were asked for by tag, in order."""
        paths = [path for method, path, _ in self.registry.requests if "/manifests/" in path and method == "HEAD"]
        return [path.removeprefix("/v2/").partition("/manifests/")[0] for path in paths]


@pytest.fixture(scope="module")
def lab_site(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    nodes = (lab.start("24.03", "2.2", "pull-1"), lab.start("22.03", "1.7", "pull-2"))
    registry = lab.registry()
    directory = tmp_path_factory.mktemp("pull")
    (directory / "play.yml").write_text(PLAY)
    site = Site(lab, directory, registry, nodes)
    for node in nodes:
        prepare(node, registry, site.name(IMAGES[-1]))
    yield site
    for node in nodes:
        node.remove()


@pytest.fixture
def site(lab_site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The site with a full registry and empty nodes, and trust on the machine that runs Ansible."""
    for image in IMAGES:
        lab_site.registry.put(*image)
    monkeypatch.setenv("SSL_CERT_FILE", str(lab_site.registry.ca))
    yield lab_site
    lab_site.registry.answer(0)
    lab_site.registry.hangs = lambda _client, _path: False
    for node in lab_site.nodes:
        node.run("ctr -n k8s.io images ls -q | xargs -r ctr -n k8s.io images rm --sync")


def prepare(node: Host, registry: Registry, sandbox: str) -> None:
    """Let the node's containerd read certs.d, start pods with that image, and trust the registry."""
    path = node.root / "etc/containerd/config.toml"
    text = path.read_text()
    if node.containerd.startswith("1."):
        text = text.replace("  restrict_oom", f'  sandbox_image = "{sandbox}"\n  restrict_oom') + CONFIG_V2
    else:
        text += CONFIG_V3.format(sandbox=sandbox)
    path.write_text(text)
    trust(node, registry)
    node.run("systemctl restart containerd")


def trust(node: Host, registry: Registry, name: str = "", *, ca: bool = True) -> None:
    """Let the node's containerd take what it calls `name`, else the registry's own name, from that registry."""
    directory = node.root / "etc/containerd/certs.d" / (name or registry.address)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "ca.crt").write_bytes(registry.ca.read_bytes())
    path = f"/v2/{name}" if name and ":" not in name else ""
    lines = ['  capabilities = ["pull", "resolve"]']
    lines += [f'  ca = "/etc/containerd/certs.d/{directory.name}/ca.crt"'] if ca else []
    lines += ["  override_path = true"] if path else []
    server = f"https://{registry.address}{path}"
    text = "\n".join([f'server = "{server}"', *(line.strip() for line in lines), "", f'[host."{server}"]', *lines, ""])
    (directory / "hosts.toml").write_text(text)


def images(node: Host) -> set[str]:
    return {
        f"{line.split()[0]}:{line.split()[1]}" for line in node.run("crictl images").stdout.splitlines()[1:] if line
    }


def changed(done: CompletedProcess[str]) -> list[int]:
    """`changed` of each host, in the order of their names."""
    recap = done.stdout.partition("PLAY RECAP")[2]
    return [int(line.partition("changed=")[2].split()[0]) for line in sorted(recap.splitlines()) if "changed=" in line]


def rows(done: CompletedProcess[str]) -> dict[str, list[str]]:
    """The table, by node: pulled, present, refused, failed, left."""
    found = [line.split() for line in done.stdout.splitlines() if line.startswith("pull-")]
    return {cells[0]: cells[1:6] for cells in found if len(cells) == 8 and "ok=" not in cells[2]}


def test_a_check_tells_and_asks_nobody_then_all_is_pulled_once_and_a_second_run_changes_nothing(site: Site) -> None:
    check = site.play("--check")
    assert check.returncode == 0, check.stdout
    assert changed(check) == [1, 1]
    assert "would pull 8 images on 2 of 2 nodes" in check.stdout
    assert f"{site.name(IMAGES[0])} on 2" in check.stdout
    assert site.registry.requests == []
    assert images(site.nodes[0]) == set()

    first = site.play()
    assert first.returncode == 0, first.stdout
    assert changed(first) == [1, 1]
    assert rows(first) == {"pull-1": ["4", "0", "0", "0", "0"], "pull-2": ["4", "0", "0", "0", "0"]}
    assert [images(node) for node in site.nodes] == [{site.name(image) for image in IMAGES}] * 2
    per_image = site.asked().count("docker.io/rancher/local-path-provisioner")
    assert per_image == 3, "once from here for its digest, and once by each node"

    second = site.play()
    assert second.returncode == 0, second.stdout
    assert changed(second) == [0, 0]
    assert rows(second) == {"pull-1": ["0", "4", "0", "0", "0"], "pull-2": ["0", "4", "0", "0", "0"]}
    assert site.registry.requests == []


def test_the_limit_of_a_run_leaves_other_nodes_alone(site: Site) -> None:
    done = site.play("--limit", "pull-2")
    assert done.returncode == 0, done.stdout
    assert list(rows(done)) == ["pull-2"]
    assert images(site.nodes[0]) == set()


def test_a_node_for_which_it_is_not_asked_pulls_nothing(site: Site) -> None:
    path = site.inventory()
    inventory = yaml.safe_load(path.read_text())
    inventory["all"]["hosts"]["pull-1"]["image_mirror_pull"] = False
    path.write_text(yaml.safe_dump(inventory))
    done = site.lab.play(site.directory / "play.yml", path)
    assert done.returncode == 0, done.stdout
    assert list(rows(done)) == ["pull-2"]
    assert (images(site.nodes[0]), len(images(site.nodes[1]))) == (set(), 4)


def test_an_image_that_is_missing_is_asked_for_once_and_the_rest_is_pulled(site: Site) -> None:
    del site.registry.manifests["docker.io/rancher/local-path-provisioner"]
    done = site.play()
    assert done.returncode == 2
    assert rows(done) == {"pull-1": ["3", "0", "1", "0", "0"], "pull-2": ["3", "0", "1", "0", "0"]}
    assert site.asked().count("docker.io/rancher/local-path-provisioner") == 1
    assert f"{site.name(IMAGES[2])} (answers 404)" in done.stdout


def test_a_registry_that_refuses_everything_is_left_alone_after_a_few_answers(site: Site) -> None:
    site.registry.answer(403)
    done = site.play(image_mirror_refusals=2)
    assert done.returncode == 2
    assert [(method, status) for method, _, status in site.registry.requests] == [("HEAD", 403)] * 2
    assert "2 answers of" in done.stdout


def test_refusals_that_only_nodes_meet_are_shared_by_all_nodes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    site.registry.answer(403)
    done = site.play(image_mirror_refusals=2, image_mirror_pull_nodes=1)
    assert done.returncode == 2
    by_tag = {path for _, path, _ in site.registry.requests if "/manifests/" in path and "sha256:" not in path}
    assert len(by_tag) == 2, "each node would have asked for an image that the other was refused"
    assert len(site.registry.requests) <= 4, "containerd repeats a refused HEAD as GET, and nothing else is repeated"
    assert "not trusted" in done.stderr + done.stdout
    assert rows(done) == {"pull-1": ["0", "0", "2", "0", "2"], "pull-2": ["0", "0", "2", "0", "2"]}


def test_a_node_that_does_not_trust_the_registry_stops_alone_and_is_told_why(site: Site) -> None:
    trust(site.nodes[1], site.registry, ca=False)
    try:
        done = site.play()
    finally:
        trust(site.nodes[1], site.registry)
    assert done.returncode == 2
    assert rows(done) == {"pull-1": ["4", "0", "0", "0", "0"], "pull-2": ["0", "0", "0", "1", "3"]}
    assert "unknown authority" in done.stdout
    assert "registry's CA certificate" in done.stdout


def test_a_used_up_disk_is_told_before_anything_is_pulled_onto_it(site: Site) -> None:
    done = site.play("--limit", "pull-1", image_mirror_pull_disk_percent=10)
    assert done.returncode == 2
    assert rows(done) == {"pull-1": ["0", "0", "0", "0", "4"]}
    assert "/var/lib/containerd is used" in done.stdout
    assert "GB more" in done.stdout
    assert not any(method == "GET" for method, _, _ in site.registry.requests)


def test_a_disk_that_fills_up_during_a_pull_ends_that_node_and_no_other(site: Site) -> None:
    node = site.nodes[0]
    site.registry.put(*IMAGES[0], size=48_000_000)
    content = "/var/lib/containerd/io.containerd.content.v1.content"
    node.run(f"mkdir -p {content} && mount -t tmpfs -o size=8m tmpfs {content}")
    node.run(f"mkdir -p {content}/ingest {content}/blobs/sha256")
    try:
        done = site.play()
    finally:
        node.run(f"umount {content}")
    assert done.returncode == 2
    assert rows(done)["pull-2"] == ["4", "0", "0", "0", "0"]
    assert rows(done)["pull-1"][3] == "1"
    assert os.strerror(errno.ENOSPC).lower() in done.stdout
    assert "make room" in done.stdout


def test_another_image_by_the_same_name_is_found_by_its_digest(site: Site) -> None:
    liar = site.lab.registry()
    for image in IMAGES:
        liar.put(*image, size=10 if image == IMAGES[2] else 0)
    ours = site.registry.put(*IMAGES[2])
    directory = site.nodes[1].root / "etc/containerd/certs.d"
    hosts = directory / site.registry.address / "hosts.toml"
    kept = hosts.read_text()
    hosts.write_text(kept.replace(site.registry.address, liar.address).replace("ca.crt", "liar.crt"))
    trusted = hosts.read_text().split('ca = "/')[1].split('"')[0]
    (site.nodes[1].root / trusted).parent.mkdir(parents=True, exist_ok=True)
    (site.nodes[1].root / trusted).write_bytes(liar.ca.read_bytes())
    try:
        done = site.play()
    finally:
        hosts.write_text(kept)
    theirs = liar.put(*IMAGES[2], size=10)
    assert done.returncode == 2
    assert rows(done) == {"pull-1": ["4", "0", "0", "0", "0"], "pull-2": ["3", "0", "0", "1", "0"]}
    assert re.search(f"{theirs} on .* {ours} in ", done.stdout)


def test_without_crictl_containerds_own_client_pulls_and_the_kubelet_sees_it(site: Site) -> None:
    for node in site.nodes:
        node.run("mv /usr/bin/crictl /usr/bin/crictl.away")
    try:
        first, second = site.play(), site.play()
    finally:
        for node in site.nodes:
            node.run("mv /usr/bin/crictl.away /usr/bin/crictl")
    assert first.returncode == 0, first.stdout
    assert rows(first) == {"pull-1": ["4", "0", "0", "0", "0"], "pull-2": ["4", "0", "0", "0", "0"]}
    assert (changed(first), changed(second)) == ([1, 1], [0, 0])
    assert [images(node) for node in site.nodes] == [{site.name(image) for image in IMAGES}] * 2


def test_where_containerd_translates_names_images_are_pulled_by_their_own(site: Site) -> None:
    for node in site.nodes:
        for host in ("docker.io", "registry.k8s.io"):
            trust(node, site.registry, host)
    done = site.play(image_mirror_mode="containerd")
    assert done.returncode == 0, done.stdout
    own = {f"{name}:{tag}" for name, tag in IMAGES}
    assert [images(node) for node in site.nodes] == [own | {site.name(IMAGES[3])}] * 2


def test_a_node_with_docker_is_refused_with_the_reason_before_anything_is_pulled(site: Site) -> None:
    site.nodes[1].run("touch /run/cri-dockerd.sock")
    try:
        done = site.play()
    finally:
        site.nodes[1].run("rm /run/cri-dockerd.sock")
    assert done.returncode == 2
    assert re.search("on pull-2: .* Docker", done.stdout)
    assert "Traceback" not in done.stdout + done.stderr
    assert site.registry.requests == []


def test_an_interrupted_run_is_taken_up_where_it_ended(site: Site) -> None:
    site.registry.requests.clear()
    site.registry.hangs = lambda _client, path: f"{IMAGES[2][0]}/blobs/" in path
    inventory = site.inventory(image_mirror_pull_nodes=1)
    run = started("-i", inventory, site.directory / "play.yml", output=subprocess.DEVNULL, in_own_group=True)
    until(lambda: site.registry.hanging, 120)
    os.killpg(run.pid, signal.SIGINT)
    run.wait(60)
    for node in site.nodes:
        node.run("systemctl restart containerd")
    left = 8 - sum(len(images(node)) for node in site.nodes)
    assert 0 < left < 8
    site.registry.hangs = lambda _client, _path: False
    again = site.play()
    assert again.returncode == 0, again.stdout
    assert sum(int(cells[0]) for cells in rows(again).values()) == left


def test_a_node_that_is_down_keeps_no_other_from_pulling_and_one_that_goes_down_is_named(site: Site) -> None:
    third = site.lab.start("24.03", "2.2", "pull-3")
    prepare(third, site.registry, site.name(IMAGES[-1]))
    site = replace(site, nodes=(site.nodes[0], third))
    site.registry.requests.clear()
    site.registry.hangs = lambda client, path: client == third.address and f"{IMAGES[2][0]}/blobs/" in path
    run = started("-i", site.inventory(), site.directory / "play.yml")
    until(lambda: site.registry.hanging, 120)
    third.stop()
    output, _ = run.communicate(timeout=300)
    assert run.returncode not in {0, 1}
    assert "pull-3 ended" in output
    assert "Traceback" not in output
    assert len(images(site.nodes[0])) == 4

    site.nodes[0].run("ctr -n k8s.io images ls -q | xargs -r ctr -n k8s.io images rm --sync")
    down = site.play()
    assert down.returncode == 4, down.stdout
    assert rows(down) == {"pull-1": ["4", "0", "0", "0", "0"]}
    third.remove()
