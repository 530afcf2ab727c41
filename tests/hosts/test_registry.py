"""A registry of one's own is filled, by real skopeo, into the CNCF distribution's registry of Debian's package.

Not real: the mirror that it is filled from (`Lab.registry`), which refuses and falls silent on cue, and its images.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import bcrypt
import pytest
import yaml

from tests.hosts.lab import Host, Lab
from tests.hosts.lab.registry import Registry
from tests.kustomize_tool import kustomize_of
from tests.local_path_images import CACHE, IMAGES, MANIFEST, NEEDED
from tests.places import ROOT
from tests.waiting import until

SANDBOX = ("registry.k8s.io/pause", "3.10.1")
"""Of containerd 2.2, where its configuration says nothing else."""
INDEX = "application/vnd.oci.image.index.v1+json"
PASSWORD = "of-the-registry"  # noqa: S105  made up

pytestmark = [*NEEDED, pytest.mark.long]


@dataclass
class Own:
    """The distribution's registry: `address`, what it is trusted by, and its access log."""

    program: Path
    home: Path
    host: str
    ca: Path
    pair: Path
    port: int = 0
    auth: dict[str, Any] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"{self.host}:{self.port}"

    def start(self) -> Own:
        """Serve from an empty store."""
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir()
        tls = {"certificate": str(self.pair), "key": str(self.pair)}
        config = {
            "version": 0.1,
            "log": {"accesslog": {"disabled": False}, "level": "warn"},
            "storage": {"filesystem": {"rootdirectory": str(self.home / "store")}},
            "http": {"addr": self.address, "tls": tls},
            **({"auth": self.auth} if self.auth else {}),
        }
        (self.home / "config.yml").write_text(yaml.safe_dump(config))
        with (self.home / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [self.program, "serve", self.home / "config.yml"], stdout=log, stderr=subprocess.STDOUT
            )
        until(lambda: self.curl("/v2/").returncode == 0)
        return self

    def stop(self) -> None:
        """End it."""
        if self._process:
            self._process.kill()
            self._process.wait()

    def curl(self, path: str, *options: str) -> CompletedProcess[str]:
        """Ask it, with its own authority trusted."""
        command = ["curl", "-s", "--cacert", str(self.ca), *options, f"https://{self.address}{path}"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def digest(self, image: tuple[str, str]) -> str:
        """Digest of an image of the mirror below its whole name; empty where it is not there."""
        headers = self.curl(f"/v2/{image[0]}/manifests/{image[1]}", "-I", "-H", f"Accept: {INDEX}, {OTHERS}").stdout
        found = [line.split()[1] for line in headers.splitlines() if line.lower().startswith("docker-content-digest")]
        return found[0] if found else ""


OTHERS = "application/vnd.oci.image.manifest.v1+json"


@dataclass
class Site:
    """The mirror, the own registry, and the play that fills it."""

    lab: Lab
    directory: Path
    mirror: Registry
    own: Own

    def variables(self, **changes: Any) -> dict[str, Any]:
        """Of the inventory."""
        common: dict[str, Any] = {
            "kubeflow_components": ["local-path"],
            "local_path_version": "0.0.37",
            "local_path_source": str(MANIFEST),
            "kustomize_binary": str(kustomize_of("1.30")),
            "image_mirror_mode": "registry",
            "image_mirror_registry": self.own.address,
            "image_mirror_registry_ca": str(self.own.ca),
            "image_mirror_rules": [{"source": "*", "prefix": self.mirror.address}],
            "image_mirror_probe_per_minute": 10000,
        }
        return common | changes

    def command(self, *arguments: str, **changes: Any) -> list[str | Path]:
        """How the registry is filled."""
        playbook = Path(sys.executable).with_name("ansible-playbook")
        variables = json.dumps(self.variables(**changes))
        return [playbook, "-i", "inventory/sample", "playbooks/registry.yml", "-e", variables, *arguments]

    def play(self, *arguments: str, **changes: Any) -> CompletedProcess[str]:
        """Fill it; what the mirror was asked for is counted anew."""
        self.mirror.requests.clear()
        return subprocess.run(
            self.command(*arguments, **changes),
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )

    def asked(self, method: str) -> list[str]:
        """Paths of the mirror's images that were asked for in that way."""
        return [path for used, path, _ in self.mirror.requests if used == method]

    def there(self) -> set[tuple[str, str]]:
        """The images that the own registry has."""
        return {image for image in IMAGES if self.own.digest(image)}


def environment() -> dict[str, str]:
    return os.environ | {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}


def package(name: str, program: str) -> Path:
    """A program of a Debian package that is unpacked into the cache and installs no service."""
    home = CACHE / "hosts" / "packages" / name
    if not (home / program).exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        subprocess.run(["apt-get", "download", name], cwd=home, check=True, capture_output=True)
        (archive,) = home.glob("*.deb")
        subprocess.run(["dpkg", "-x", archive, home], check=True, capture_output=True)
    return home / program


@pytest.fixture(scope="module")
def lab_site(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if not shutil.which("skopeo"):
        install = ["apt-get", "install", "--yes", "--no-install-recommends", "skopeo"]
        subprocess.run(install, check=True, capture_output=True)
    registry = package("docker-registry", "usr/bin/docker-registry")
    directory = tmp_path_factory.mktemp("registry")
    mirror, named = lab.registry(), lab.registry()
    named.stop()  # its certificate and its port are what is wanted
    host, _, port = named.address.rpartition(":")
    own = Own(registry, directory / "own", host, named.ca, named.ca.with_name("server.pem"), int(port))
    yield Site(lab, directory, mirror, own)
    own.stop()


@pytest.fixture
def site(lab_site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The site with a full mirror, of which one image has two architectures, and an empty registry."""
    digests = [lab_site.mirror.put(*image) for image in IMAGES]
    name, tag = IMAGES[0]
    found = lab_site.mirror.manifests[name]
    parts = [
        {
            "mediaType": OTHERS,
            "digest": digest,
            "size": len(found[digest][1]),
            "platform": {"os": "linux", "architecture": architecture},
        }
        for digest, architecture in zip(digests[:2], ("amd64", "arm64"), strict=True)
    ]
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": parts}
    lab_site.mirror.keep(name, tag, INDEX, json.dumps(index).encode())
    monkeypatch.setenv("SSL_CERT_FILE", str(lab_site.mirror.ca))
    lab_site.own.auth = {}
    lab_site.own.start()
    yield lab_site
    lab_site.own.stop()
    lab_site.mirror.answer(0)
    lab_site.mirror.hangs = lambda _client, _path: False


def changed(done: CompletedProcess[str]) -> int:
    recap = done.stdout.partition("PLAY RECAP")[2]
    return int(recap.partition("changed=")[2].split()[0])


def test_a_check_tells_then_whole_indexes_are_copied_and_a_second_run_changes_nothing(site: Site) -> None:
    check = site.play("--check")
    assert check.returncode == 0, check.stdout
    assert changed(check) == 1
    assert f"would copy {site.mirror.address}/registry.k8s.io/pause:3.10" in check.stdout
    assert site.there() == set()
    assert site.asked("GET") == []

    first = site.play()
    assert first.returncode == 0, first.stdout
    assert changed(first) == 1
    of_mirror = {image: site.mirror.manifests[image[0]][image[1]][1] for image in IMAGES}
    assert site.there() == set(IMAGES)
    for image, manifest in of_mirror.items():
        assert site.own.curl(f"/v2/{image[0]}/manifests/{image[1]}", "-H", f"Accept: {INDEX}, {OTHERS}").stdout == (
            manifest.decode()
        )
    for part in json.loads(of_mirror[IMAGES[0]])["manifests"]:
        accept = ("-o", "/dev/null", "-w", "%{http_code}", "-H", f"Accept: {OTHERS}")
        assert site.own.curl(f"/v2/{IMAGES[0][0]}/manifests/{part['digest']}", *accept).stdout == "200"

    second = site.play()
    assert second.returncode == 0, second.stdout
    assert changed(second) == 0
    assert "4 images already" in second.stdout
    assert (len(site.asked("HEAD")), site.asked("GET")) == (4, [])


def test_an_interrupted_fill_goes_on_where_it_ended(site: Site) -> None:
    site.mirror.requests.clear()
    site.mirror.hangs = lambda _client, path: f"{IMAGES[-1][0]}/blobs/" in path
    run = subprocess.Popen(
        site.command(),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    until(lambda: site.mirror.hanging and site.there(), 120)
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(60) != 0
    kept = site.there()
    assert 0 < len(kept) < len(IMAGES)
    site.mirror.hangs = lambda _client, _path: False
    again = site.play()
    assert again.returncode == 0, again.stdout
    assert f"{len(IMAGES) - len(kept)} copied" in again.stdout
    assert site.there() == set(IMAGES)


def test_a_tag_that_holds_something_else_is_replaced_and_only_that(site: Site) -> None:
    assert site.play().returncode == 0
    ours = site.mirror.put(*IMAGES[2], size=10)
    again = site.play()
    assert again.returncode == 0, again.stdout
    assert "3 images already present, 1 copied" in again.stdout
    assert site.own.digest(IMAGES[2]) == ours


def test_an_image_that_is_missing_is_asked_for_once_and_the_rest_is_copied(site: Site) -> None:
    del site.mirror.manifests["docker.io/rancher/local-path-provisioner"]
    done = site.play()
    assert done.returncode == 2
    assert site.there() == set(IMAGES) - {IMAGES[2]}
    assert len([path for _, path, _ in site.mirror.requests if "local-path-provisioner" in path]) == 1
    assert re.search("1 image .*missing .*: docker.io/rancher/local-path-provisioner:v0.0.37", done.stdout)


def test_a_mirror_that_refuses_everything_is_left_alone_after_a_few_answers(site: Site) -> None:
    site.mirror.answer(403)
    done = site.play(image_mirror_refusals=2)
    assert done.returncode == 2
    assert [(method, status) for method, _, status in site.mirror.requests] == [("HEAD", 403)] * 2
    assert "2 answers of" in done.stdout


def test_a_registry_that_keeps_something_else_than_it_was_given_is_found_out(site: Site) -> None:
    liar = site.lab.registry()
    keep = liar.keep
    liar.keep = lambda name, reference, kind, manifest: keep(name, reference, kind, manifest + b"\n")  # type: ignore[method-assign]
    done = site.play(image_mirror_registry=liar.address, image_mirror_registry_ca=str(liar.ca))
    assert done.returncode == 2
    assert f"and {site.mirror.put(*IMAGES[2])} at {site.mirror.address}/{IMAGES[2][0]}" in done.stdout


def test_a_registry_with_an_unknown_authority_stops_the_fill_before_the_mirror_is_asked(site: Site) -> None:
    done = site.play(image_mirror_registry_ca="")
    assert done.returncode == 2
    assert "CERTIFICATE_VERIFY_FAILED" in done.stdout
    assert "image_mirror_registry_ca" in done.stdout
    assert site.mirror.requests == []
    assert "Traceback" not in done.stdout + done.stderr

    insecure = site.play(image_mirror_registry_ca="", image_mirror_registry_insecure=True)
    assert insecure.returncode == 0, insecure.stdout
    assert site.there() == set(IMAGES)


def test_credentials_are_taken_from_a_file_and_shown_nowhere(site: Site, tmp_path: Path) -> None:
    hashed = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text(f"pusher:{hashed}\n")
    site.own.stop()
    site.own.auth = {"htpasswd": {"realm": "own", "path": str(tmp_path / "htpasswd")}}
    site.own.start()
    refused = site.play()
    assert refused.returncode == 2
    assert "answers 401" in refused.stdout
    assert "image_mirror_registry_authfile" in refused.stdout
    assert site.mirror.requests == []

    authfile = tmp_path / "auth.json"
    token = base64.b64encode(f"pusher:{PASSWORD}".encode()).decode()
    authfile.write_text(json.dumps({"auths": {site.own.address: {"auth": token}}}))
    done = site.play("-vvv", image_mirror_registry_authfile=str(authfile))
    assert done.returncode == 0, done.stdout
    assert "4 copied" in done.stdout
    assert PASSWORD not in done.stdout + done.stderr
    assert token not in done.stdout + done.stderr


def test_images_are_carried_in_a_directory_to_where_no_mirror_can_be_reached(site: Site, tmp_path: Path) -> None:
    archive = {"image_mirror_registry_archive": str(tmp_path / "carried")}
    out = site.play(**archive, image_mirror_registry_step="export")
    assert out.returncode == 0, out.stdout
    assert site.there() == set()
    again = site.play(**archive, image_mirror_registry_step="export")
    assert (changed(out), changed(again)) == (1, 0)
    manifest = tmp_path / "carried" / IMAGES[0][0] / IMAGES[0][1] / "manifest.json"
    assert manifest.read_bytes() == site.mirror.manifests[IMAGES[0][0]][IMAGES[0][1]][1]

    shutil.rmtree(manifest.parents[2] / "busybox" / "latest")
    first = site.play(**archive, image_mirror_registry_step="import")
    assert first.returncode == 2
    assert "docker.io/library/busybox:latest (it is not" in first.stdout
    assert site.there() == set(IMAGES) - {IMAGES[1]}
    assert site.mirror.requests == []


@pytest.mark.parametrize("mode", ["registry", "containerd"])
def test_nodes_pull_from_the_filled_registry_and_from_nowhere_else(site: Site, mode: str) -> None:
    site.mirror.put(*SANDBOX)
    changes = {"image_mirror_mode": mode, "image_mirror_registry_images": [":".join(SANDBOX)]}
    assert site.play(**changes).returncode == 0
    node = site.lab.start("24.03", "2.2", f"own-{mode}")
    try:
        prefix = trusting(site, node) if mode == "registry" else ""
        site.mirror.requests.clear()
        done = hosts(site, node, **changes)
        assert done.returncode == 0, done.stdout
        listed = node.run("crictl images").stdout
        assert all(f"{prefix}{name} " in listed for name, _ in IMAGES), listed
        assert SANDBOX[1] in listed or mode == "registry"
        assert site.mirror.requests == []
        again = hosts(site, node, **changes)
        assert again.returncode == 0, again.stdout
        assert changed(again) == 0
    finally:
        node.remove()


def trusting(site: Site, node: Host) -> str:
    """Trust the registry on the node by hand, as the mode registry asks for; returns what its names begin with."""
    directory = node.root / "etc/containerd/certs.d" / site.own.address
    directory.mkdir(parents=True)
    (directory / "ca.crt").write_bytes(site.own.ca.read_bytes())
    server = f"https://{site.own.address}"
    (directory / "hosts.toml").write_text(f'server = "{server}"\n[host."{server}"]\n  ca = "ca.crt"\n')
    with (node.root / "etc/containerd/config.toml").open("a") as config:
        config.write('\n[plugins."io.containerd.cri.v1.images".registry]\n  config_path = "/etc/containerd/certs.d"\n')
        config.write('[plugins."io.containerd.cri.v1.images".pinned_images]\n')
        config.write(f'  sandbox = "{site.own.address}/registry.k8s.io/pause:3.10"\n')
    node.run("systemctl restart containerd")
    return f"{site.own.address}/"


def hosts(site: Site, node: Host, **changes: Any) -> CompletedProcess[str]:
    """What playbooks/hosts.yml does for images: containerd is told of the mirror, and pulls."""
    tasks = [
        {"ansible.builtin.import_role": role}
        for role in (
            {"name": "image_mirror_containerd", "tasks_from": "look"},
            {"name": "image_mirror_containerd"},
            {"name": "image_mirror_pull"},
        )
    ]
    play = {"hosts": "nodes", "gather_facts": False, "become": True, "tasks": tasks}
    (site.directory / "hosts.yml").write_text(yaml.safe_dump([play]))
    variables = site.variables(image_mirror_pull=True, image_mirror_pull_disk_percent=95, **changes)
    inventory = site.lab.inventory(site.directory / "inventory", [node], **variables)
    return site.lab.play(site.directory / "hosts.yml", inventory)
