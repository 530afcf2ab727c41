"""A bundle is made with real skopeo from servers of this machine, and used where no network leads anywhere.

Not real: the registries and the web server, which stand for upstream, and their images.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.rollout.bundle.reading import Bundle
from tests.hosts.lab.registry import Registry
from tests.integration.closed import run_closed
from tests.kustomize_mirror import Mirror, package_for
from tests.local_path_images import IMAGES, MANIFEST, NEEDED
from tests.places import ROOT
from tests.waiting import until

pytestmark = [*NEEDED, pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")]

INDEX, PART = "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json"
PACK = """
import json, sys
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.rollout.packing.pack import pack
from kubeflow_volcano.rollout.settings.settings import parse
done = pack(parse(json.loads(sys.argv[1])), to_stderr(), check=False)
print(json.dumps([done.fetched, done.kept, [str(item) for item in (*done.problems, *done.warnings)]]))
"""


@dataclass
class Upstream:
    """A registry, a web server with kustomize and a manifest, and this project with the sums of that kustomize."""

    directory: Path
    registry: Registry
    web: Mirror
    package: Path

    @property
    def bundle(self) -> Path:
        """Where the bundle is."""
        return self.directory / "bundle"

    def variables(self, **changes: Any) -> dict[str, Any]:
        """Of the inventory, which is the same on both sides."""
        total = hashlib.sha256(MANIFEST.read_bytes()).hexdigest()
        return {
            "kubeflow_components": ["local-path"],
            "local_path_version": "0.0.37",
            "local_path_source": f"{self.web.address}/good/{MANIFEST.name}#sha256={total}",
            "kustomize_mirrors": [f"{self.web.address}/good"],
            "image_mirror_mode": "registry",
            "image_mirror_registry": "registry.lan:5000",
            "image_mirror_rules": [{"source": "*", "prefix": self.registry.address}],
            "image_mirror_probe_per_minute": 10000,
            "bundle_contents": ["manifests", "kustomize", "images"],
            "kubeflow_bundle": str(self.bundle),
            **changes,
        }

    def environment(self, cache: str) -> dict[str, str]:
        """With a cache of its own."""
        return {
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "NO_COLOR": "1",
            "PYTHONPATH": f"{self.package}:{ROOT}",
            "XDG_CACHE_HOME": str(self.directory / cache),
            "https_proxy": "http://127.0.0.1:9",
        }

    def play(self, *arguments: str, **changes: Any) -> subprocess.CompletedProcess[str]:
        """Fill the bundle as a person does."""
        program = Path(sys.executable).with_name("ansible-playbook")
        given = json.dumps(self.variables(**changes))
        return subprocess.run(
            [program, "-i", "inventory/sample", "playbooks/bundle.yml", "-e", given, *arguments],
            cwd=ROOT,
            env=self.environment("here"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def command(self, **changes: Any) -> list[str]:
        """Fill it without Ansible, which takes a second less."""
        return [sys.executable, "-c", PACK, json.dumps(self.variables(**changes))]

    def pack(self, **changes: Any) -> list[list[str]]:
        """What was fetched, what was there, and what was said."""
        done = subprocess.run(
            self.command(**changes),
            cwd=self.directory,
            env=self.environment("here"),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found: list[list[str]] = json.loads(done.stdout)
        return found

    def asked(self, method: str) -> list[str]:
        """Paths of the requests to the registry."""
        return [path for used, path, _ in self.registry.requests if used == method]


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[Upstream]:
    """Images of which one is an index, each with a layer of its own."""
    if not shutil.which("skopeo"):
        install = ["apt-get", "install", "--yes", "--no-install-recommends", "skopeo"]
        subprocess.run(install, check=True, capture_output=True)
    registry, web = Registry("127.0.0.1", tmp_path / "registry", tls=False), Mirror(tmp_path / "web")
    shutil.copy(MANIFEST, tmp_path / "web/good")
    digests = [registry.put(*image, size=50_000) for image in IMAGES]
    name, tag = IMAGES[0]
    parts = [
        {"mediaType": PART, "digest": digest, "size": len(registry.manifests[name][digest][1]), "platform": platform}
        for digest, platform in zip(
            digests[:2], ({"os": "linux", "architecture": word} for word in ("amd64", "arm64")), strict=True
        )
    ]
    index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": parts}
    registry.keep(name, tag, INDEX, json.dumps(index).encode())
    yield Upstream(tmp_path, registry, web, package_for(web, tmp_path / "package"))
    registry.stop()
    web.stop()


def changed(output: str) -> int:
    return int(output.partition("PLAY RECAP")[2].partition("changed=")[2].split()[0])


def test_a_bundle_is_listed_filled_and_installed_from_without_a_network(upstream: Upstream) -> None:
    check = upstream.play("--check")
    assert check.returncode == 0, check.stdout
    assert "would fetch manifests/" in check.stdout
    assert f"would copy {upstream.registry.address}/registry.k8s.io/pause:3.10" in check.stdout
    assert (changed(check.stdout), upstream.bundle.exists(), upstream.asked("GET")) == (1, False, [])

    filled = upstream.play()
    assert filled.returncode == 0, filled.stdout
    assert "6 items fetched" in filled.stdout
    Bundle.open(upstream.bundle).verify()
    upstream.registry.requests.clear()
    again = upstream.play()
    assert (again.returncode, changed(again.stdout), upstream.asked("GET")) == (0, 0, []), again.stdout

    wanted = {name: dict(found) for name, found in upstream.registry.manifests.items()}
    upstream.registry.stop()
    variables = upstream.variables()
    del variables["image_mirror_registry"]
    closed = run_closed(
        variables,
        "playbooks/registry.yml",
        "playbooks/registry.yml",
        f"playbooks/plan.yml -e plan_directory={upstream.directory}/plan",
        environment=upstream.environment("closed"),
    )
    assert closed.routes == ""
    assert closed.codes == [0, 0, 0], closed.outputs
    assert [changed(output) for output in closed.outputs[:2]] == [2, 0]  # kustomize, and the images
    assert "4 images already present" in closed.outputs[1]
    for name, tag in IMAGES:
        digest = closed.digests[name][tag]
        assert f"sha256:{hashlib.sha256(wanted[name][tag][1]).hexdigest()}" == digest
    planned = json.loads((upstream.directory / "plan/plan.json").read_text("utf-8"))
    assert planned["steps"]


@pytest.mark.long
def test_an_image_with_another_bit_does_not_reach_the_registry(upstream: Upstream) -> None:
    assert upstream.pack()[2] == []
    entries = [item for item in Bundle.open(upstream.bundle).contents.files if "local-path-provisioner" in item.path]
    layer = max(entries, key=lambda item: item.size)
    content = bytearray((upstream.bundle / layer.path).read_bytes())
    content[-1] ^= 4
    (upstream.bundle / layer.path).write_bytes(content)
    variables = upstream.variables()
    del variables["image_mirror_registry"]
    closed = run_closed(variables, "playbooks/registry.yml", environment=upstream.environment("closed"))
    assert closed.codes == [2]
    for words in (f"Found: {upstream.bundle / layer.path} has sha256", f"with sha256 {layer.sha256}", "Do: copy"):
        assert words in closed.outputs[0]
    assert "Traceback" not in closed.outputs[0]
    assert IMAGES[2][0] not in closed.digests

    upstream.registry.requests.clear()
    fetched, kept, _ = upstream.pack()
    assert fetched == ["docker.io/rancher/local-path-provisioner:v0.0.37"]
    assert len(kept) == 5
    assert {path.split("/manifests/")[0].split("/blobs/")[0] for path in upstream.asked("GET")} == {
        "/v2/",
        f"/v2/{IMAGES[2][0]}",
    }
    Bundle.open(upstream.bundle).verify()


@pytest.mark.long
def test_killed_at_every_image_and_continued_by_the_next_run(upstream: Upstream) -> None:
    """SIGKILL while a layer of the first, the second, … image is on its way."""
    sent: set[str] = set()

    def hangs(_client: str, path: str) -> bool:
        name = path.partition("/blobs/")[0]
        return "/blobs/" in path and name not in sent

    upstream.registry.hangs = hangs
    repositories = list(dict.fromkeys(name for name, _ in IMAGES))
    for repository in repositories:
        upstream.registry.requests.clear()
        run = subprocess.Popen(
            upstream.command(),
            cwd=upstream.directory,
            env=upstream.environment("here"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(lambda: upstream.registry.hanging or run.poll() is not None)  # noqa: B023  ends in this turn
        assert run.poll() is None
        run.send_signal(signal.SIGKILL)
        run.wait()
        with pytest.raises(Exception, match="not complete"):
            Bundle.open(upstream.bundle)
        sent.add(f"/v2/{repository}")
    upstream.registry.requests.clear()
    fetched, kept, said = upstream.pack()
    assert said == []
    assert (fetched, len(kept)) == (["registry.k8s.io/pause:3.10"], 5)
    assert all("pause" in path or path == "/v2/" for path in upstream.asked("GET"))
    Bundle.open(upstream.bundle).verify()
    assert list(upstream.bundle.rglob(".*")) == []


def test_what_upstream_lacks_leaves_the_bundle_incomplete_and_the_rest_in_it(upstream: Upstream) -> None:
    name, tag = IMAGES[3]
    manifest = upstream.registry.manifests[name].pop(tag)
    fetched, _, said = upstream.pack()
    assert len(fetched) == 5
    assert len(said) == 1
    assert f"{name}:{tag}" in said[0]
    with pytest.raises(Exception, match="not complete"):
        Bundle.open(upstream.bundle)
    upstream.registry.manifests[name][tag] = manifest
    assert upstream.pack()[0] == [f"{name}:{tag}"]
    Bundle.open(upstream.bundle).verify()


def test_a_tag_that_moved_is_fetched_and_images_without_an_architecture_are_named(upstream: Upstream) -> None:
    said = upstream.pack(plan_architectures=["amd64", "arm64"])[2]
    assert [f"3 images for {word}" in said[0] for word in ("arm64", "amd64")].count(True) == 1
    name, tag = IMAGES[2]
    upstream.registry.put(name, tag, size=10)
    assert upstream.pack(plan_architectures=["amd64", "arm64"])[0] == [f"{name}:{tag}"]
    Bundle.open(upstream.bundle).verify()
