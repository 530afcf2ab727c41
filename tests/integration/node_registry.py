"""The CNCF distribution's registry, of Debian's package, in the network of a rehearsal cluster's real node.

Its containerd resolves the registry's name to that address, and to no other mirror.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import bcrypt
import yaml

from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from tests.hosts.test_registry import package
from tests.waiting import until


@dataclass(frozen=True)
class NodeRegistry:
    """A registry that answers on the node's loopback. `enter` begins commands that are to reach it."""

    address: str
    enter: tuple[str, ...]
    directory: Path

    @property
    def log(self) -> str:
        """What was asked of it."""
        return (self.directory / "log").read_text()


def enter(cluster: str) -> tuple[str, ...]:
    """What begins commands that are to run in the network of a cluster's real node."""
    pid = NodeCgroup(read_layout(), ClusterPaths.of(cluster).cgroup).first_process()
    assert pid
    return ("nsenter", f"--target={pid}", "--net")


@contextlib.contextmanager
def serving(
    cluster: str, directory: Path, port: int, name: str = "", users: Mapping[str, str] | None = None
) -> Iterator[NodeRegistry]:
    """Serve from an empty store, under a name or the address itself; `users` have passwords, and alone may pull."""
    registry = NodeRegistry(f"127.0.0.1:{port}", enter(cluster), directory)
    config = {
        "version": 0.1,
        "log": {"accesslog": {"disabled": False}, "level": "warn"},
        "storage": {"filesystem": {"rootdirectory": str(directory / "store")}},
        "http": {"addr": registry.address},
    }
    if users:
        lines = (f"{user}:{bcrypt.hashpw(word.encode(), bcrypt.gensalt(4)).decode()}\n" for user, word in users.items())
        (directory / "users").write_text("".join(lines))
        config["auth"] = {"htpasswd": {"realm": "own", "path": str(directory / "users")}}
    (directory / "config.yml").write_text(yaml.safe_dump(config))
    resolver = ClusterPaths.of(cluster).root / "etc/containerd/certs.d" / (name or registry.address)
    program = package("docker-registry", "usr/bin/docker-registry")
    with (directory / "log").open("wb") as log:
        command: list[str | Path] = [*registry.enter, program, "serve", directory / "config.yml"]
        server = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        url = f"http://{registry.address}"
        until(lambda: subprocess.run([*registry.enter, "curl", "-s", f"{url}/v2/"], check=False).returncode == 0)
        resolver.mkdir()
        (resolver / "hosts.toml").write_text(f'server = "{url}"\n[host."{url}"]\ncapabilities = ["pull", "resolve"]\n')
        yield registry
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(resolver, ignore_errors=True)


def image_store() -> Path:
    """The layout with the images of rehearsal clusters."""
    return cache_directory() / "images" / RehearsalSpec().generation


def stored_images() -> tuple[str, ...]:
    """Their full names."""
    index = json.loads((image_store() / "index.json").read_text())
    return tuple(item["annotations"]["org.opencontainers.image.ref.name"] for item in index["manifests"])
