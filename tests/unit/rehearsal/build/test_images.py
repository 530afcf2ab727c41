"""Images from the distribution's real busybox and stand-in programs: reproducible, whole, and read by a real client."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.images import ImageStore, ensure_images
from kubeflow_volcano.rehearsal.build.kept import Tools, tool_digest, tools_directory
from kubeflow_volcano.rehearsal.build.recipes import Generation, GoPin, Image, LayerEntry, Tool
from kubeflow_volcano.rehearsal.build.toolchain import choose_go
from kubeflow_volcano.rehearsal.inside.registry import Registry

pytestmark = pytest.mark.programs

SHELL, APP = "docker.io/library/shell:1", "registry.example/app:v1"


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """A generation with two images, whose one built program is a text file."""
    (tmp_path / "app/bin").mkdir(parents=True)
    (tmp_path / "app/bin/app").write_text("program")
    kept = tmp_path / "app/src/example.org/upstream/deploy/run.sh"
    kept.parent.mkdir(parents=True)
    kept.write_text("#!/bin/sh\n")
    tool = Tool("app", tmp_path, {"app": "."}, sources={"example.org/upstream": ("deploy",)})
    layers = {
        "shell": (
            LayerEntry(at="/bin/busybox", system="busybox", applets="/bin"),
            LayerEntry(at="/tmp", directory="1777"),  # noqa: S108  a directory in an image
        ),
        "app": (
            LayerEntry(at="/usr/bin/app", program="app"),
            LayerEntry(at="/run.sh", source="example.org/upstream/deploy/run.sh", mode="0755"),
            LayerEntry(at="/etc/app", text="made here\n"),
        ),
    }
    images = (
        Image((SHELL, "docker.io/library/shell:latest"), ("shell",), command=("sh",)),
        Image((APP,), ("shell", "app"), entrypoint=("/usr/bin/app",), environment={"A": "b"}, user="65535:65535"),
    )
    return Tools(Generation("tiny", GoPin("1", "1", {}), (tool,), layers, images), {"app": tmp_path / "app"})


def _json(store: ImageStore, digest: str) -> dict[str, object]:
    value: dict[str, object] = json.loads((store.home / "blobs/sha256" / digest.removeprefix("sha256:")).read_text())
    return value


def _layer(store: ImageStore, image: str, place: int) -> dict[str, tarfile.TarInfo]:
    manifest = _json(store, store.digests()[image])
    digest = manifest["layers"][place]["digest"]  # type: ignore[index]
    with tarfile.open(store.home / "blobs/sha256" / digest.removeprefix("sha256:")) as archive:
        return {member.name: member for member in archive}


def test_every_blob_is_what_its_name_says_and_every_name_is_served(tools: Tools, tmp_path: Path) -> None:
    store = ensure_images(tools, tmp_path / "store")
    assert store.references() == {SHELL, "docker.io/library/shell:latest", APP}
    blobs = {blob.name: blob.read_bytes() for blob in (store.home / "blobs/sha256").iterdir()}
    assert all(hashlib.sha256(content).hexdigest() == name for name, content in blobs.items())
    assert len(blobs) == 6  # two layers, two configurations, two manifests
    configuration = _json(store, _json(store, store.digests()[APP])["config"]["digest"])  # type: ignore[index]
    assert configuration["config"] == {
        "Entrypoint": ["/usr/bin/app"],
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "A=b"],
        "User": "65535:65535",
        "WorkingDir": "/",
    }


def test_the_same_inputs_give_the_same_digests_whatever_their_times(tools: Tools, tmp_path: Path) -> None:
    first = ensure_images(tools, tmp_path / "first").digests()
    os.utime(tools.programs["app"], (1, 1))
    assert ensure_images(tools, tmp_path / "second").digests() == first


def test_another_program_changes_its_image_only_and_leaves_no_old_blob(tools: Tools, tmp_path: Path) -> None:
    store = ensure_images(tools, tmp_path / "store")
    before = store.digests()
    tools.programs["app"].write_text("another program")
    ensure_images(tools, tmp_path / "store")
    changed = {name for name, digest in store.digests().items() if before[name] != digest}
    assert changed == {APP}
    assert len(list((store.home / "blobs/sha256").iterdir())) == 6


def test_a_store_that_is_as_it_should_be_is_not_written(tools: Tools, tmp_path: Path) -> None:
    store = ensure_images(tools, tmp_path / "store")
    before = (store.home / "index.json").stat().st_mtime_ns
    told: list[str] = []
    ensure_images(tools, tmp_path / "store", told.append)
    assert (told, (store.home / "index.json").stat().st_mtime_ns) == ([], before)


@pytest.mark.parametrize("damage", ["index.json", "manifest"])
def test_a_damaged_store_is_assembled_again(tools: Tools, tmp_path: Path, damage: str) -> None:
    store = ensure_images(tools, tmp_path / "store")
    digests = store.digests()
    manifest = store.home / "blobs/sha256" / digests[APP].removeprefix("sha256:")
    if damage == "manifest":
        manifest.unlink()
    else:
        (store.home / damage).write_text('{"manifests": [')
    assert ensure_images(tools, tmp_path / "store").digests() == digests
    assert manifest.is_file()


def test_layers_hold_files_links_modes_and_parents_of_root_at_time_0(tools: Tools, tmp_path: Path) -> None:
    store = ensure_images(tools, tmp_path / "store")
    shell, app = _layer(store, APP, 0), _layer(store, APP, 1)
    assert shell["bin/sh"].issym()
    assert shell["bin/sh"].linkname == "/bin/busybox"
    assert (shell["tmp"].isdir(), shell["tmp"].mode) == (True, 0o1777)
    assert (app["run.sh"].mode, app["etc/app"].mode, app["usr/bin/app"].mode) == (0o755, 0o644, 0o755)
    assert app["usr"].isdir()
    assert {(member.uid, member.gid, member.mtime) for member in (*shell.values(), *app.values())} == {(0, 0, 0)}
    assert list(app) == sorted(app)


def test_a_missing_program_of_the_distribution_is_named(tools: Tools, tmp_path: Path) -> None:
    layers = {**tools.generation.layers, "shell": (LayerEntry(at="/bin/x", system="no-such-program"),)}
    broken = dataclasses.replace(tools, generation=dataclasses.replace(tools.generation, layers=layers))
    with pytest.raises(ProblemsError, match="no-such-program is not"):
        ensure_images(broken, tmp_path / "store")


@pytest.fixture
def containerd(tmp_path: Path) -> Iterator[list[str]]:
    """The containerd of the default generation, started in a directory of its own; gives the command of its client."""
    generation = load_generation("1.30")
    tool = next(tool for tool in generation.tools if tool.name == "containerd")
    programs = (
        tools_directory() / f"containerd-{tool_digest(tool, choose_go(generation.go, tools_directory()))}" / "bin"
    )
    if os.geteuid() != 0 or not (programs / "containerd").is_file():
        pytest.skip("needs root and the built tools (python -m kubeflow_volcano.rehearsal.build.tools)")
    socket, configuration = tmp_path / "containerd.sock", tmp_path / "containerd.toml"
    configuration.write_text(
        f'version = 3\nroot = "{tmp_path}/root"\nstate = "{tmp_path}/state"\n'
        'disabled_plugins = ["io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", '
        '"io.containerd.grpc.v1.cri"]\n'
        f'[grpc]\n  address = "{socket}"\n[ttrpc]\n  address = "{socket}.ttrpc"\n'
    )
    with (tmp_path / "containerd.log").open("wb") as log:
        daemon = subprocess.Popen([programs / "containerd", "--config", configuration], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while not socket.exists():
            assert time.monotonic() < deadline, (tmp_path / "containerd.log").read_text()
            time.sleep(0.05)
        yield [str(programs / "ctr"), "--address", str(socket)]
    finally:
        daemon.terminate()
        daemon.wait(60)


def test_containerd_pulls_the_image_whole_through_its_mirror_configuration(
    tools: Tools, tmp_path: Path, containerd: list[str], registry: Registry
) -> None:
    store = ensure_images(tools, registry.store)
    address = f"http://127.0.0.1:{registry.server_port}"
    (tmp_path / "hosts/_default").mkdir(parents=True)
    (tmp_path / "hosts/_default/hosts.toml").write_text(
        f'server = "{address}"\n\n[host."{address}"]\n  capabilities = ["pull", "resolve"]\n'
    )
    fetch = [*containerd, "content", "fetch", "--hosts-dir", str(tmp_path / "hosts")]
    subprocess.run([*fetch, APP], check=True, capture_output=True, timeout=300)
    listed = subprocess.run([*containerd, "images", "check"], check=True, capture_output=True, text=True, timeout=300)
    assert store.digests()[APP] in listed.stdout
    assert "complete" in listed.stdout
    refused = subprocess.run(
        [*fetch, "registry.example/app:v2"], check=False, capture_output=True, text=True, timeout=300
    )
    assert "not found" in refused.stderr


def test_only_blobs_are_removed_from_their_directory_and_none_through_a_link(tools: Tools, tmp_path: Path) -> None:
    store, home = tmp_path / "store", tmp_path / "home"
    home.mkdir()
    for name in ("notes", "1" * 64):
        (home / name).write_text("of a person")
    (store / "blobs").mkdir(parents=True)
    (store / "blobs/sha256").symlink_to(home)
    ensure_images(tools, store)
    assert (home / ("1" * 64)).exists()
    (store / "blobs/sha256").unlink()
    home.rename(store / "blobs/sha256")
    (store / "index.json").unlink()
    ensure_images(tools, store)
    assert {path.name for path in (store / "blobs/sha256").iterdir()} & {"notes", "1" * 64} == {"notes"}
