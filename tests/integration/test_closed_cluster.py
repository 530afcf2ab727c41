"""A whole installation from a bundle, to a PASS, on a cluster that no route leads out of.

The playbooks run in the network of the cluster's node, which has no default route; what the bundle was made from is
gone by then. Not real: the servers that stand for upstream, and the image kubectl-delivery, which is busybox there.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.rehearsal.inside.registry import Registry
from kubeflow_volcano.rehearsal.spec import ClusterPaths
from kubeflow_volcano.rollout.bundle.reading import Bundle
from tests import playing
from tests.integration.node_registry import NodeRegistry, image_store, serving
from tests.rehearsed import cluster_name
from tests.serving import Handler
from tests.serving import serving as on_loopback

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1500)]

NAME = cluster_name("closed")
PORT = 5056
NAMED = "org.opencontainers.image.ref.name"
SOURCES = ("local-path-provisioner/deploy/local-path-storage.yaml", "volcano/installer/volcano-development.yaml")


@pytest.fixture(scope="module")
def paths() -> Iterator[ClusterPaths]:
    """A cluster with nothing installed."""
    cluster = ["-i", "inventory/rehearsal", "-e", f"rehearsal_cluster_name={NAME}", "playbooks/rehearsal.yml"]
    up = ansible(*cluster)
    assert up.returncode == 0, up.stdout[-3000:]
    yield ClusterPaths.of(NAME)
    down = ansible(*cluster, "-e", "rehearsal_cluster_state=absent")
    assert down.returncode == 0, down.stdout[-3000:]


ansible = partial(playing.ansible, merged=True)


class Files(Handler, SimpleHTTPRequestHandler):
    """Files, without a line for each."""


@contextmanager
def upstream(directory: Path) -> Iterator[tuple[str, str]]:
    """Addresses of a web server with this directory, and of a registry with the images of rehearsals."""
    files = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(directory)))
    with on_loopback(files) as web, on_loopback(Registry(images(directory.with_name("images")))) as registry:
        yield f"http://127.0.0.1:{web}", f"127.0.0.1:{registry}"


def images(layout: Path) -> Path:
    """Those of rehearsals, with one that only MPI jobs need and no rehearsal has."""
    layout.mkdir()
    (layout / "blobs").symlink_to(image_store() / "blobs")
    index = json.loads((image_store() / "index.json").read_text())
    busybox = next(item for item in index["manifests"] if item["annotations"][NAMED].endswith("/busybox:latest"))
    index["manifests"].append({**busybox, "annotations": {NAMED: "docker.io/kubeflow/kubectl-delivery:latest"}})
    (layout / "index.json").write_text(json.dumps(index))
    return layout


def manifests(paths: ClusterPaths, directory: Path) -> dict[str, str]:
    """The manifests of the cluster's own programs as files, by name, with their sums."""
    kustomize = paths.home / "bin/kustomize"
    overlay = paths.home / "upstream/training-operator/manifests/overlays/standalone"
    built = subprocess.run([kustomize, "build", overlay], check=True, capture_output=True).stdout
    files = {"training-operator.yaml": built}
    files |= {Path(source).name: (paths.home / "upstream" / source).read_bytes() for source in SOURCES}
    for name, content in files.items():
        (directory / name).write_bytes(content)
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def variables(paths: ClusterPaths, bundle: Path, web: str, registry: str, sums: dict[str, str]) -> dict[str, Any]:
    """Of the inventory, which is the same on both sides."""
    operator, storage, volcano = (f"{web}/{name}#sha256={total}" for name, total in sums.items())
    return {
        "kubeflow_kubeconfig": str(paths.kubeconfig),
        "kubeflow_sources": {"training-operator": operator},
        "local_path_source": storage,
        "volcano_source": volcano,
        "volcano_version": "1.10.0",
        "kustomize_binary": str(paths.home / "bin/kustomize"),
        "image_mirror_mode": "registry",
        "image_mirror_registry": f"127.0.0.1:{PORT}",
        "image_mirror_registry_insecure": True,
        "image_mirror_rules": [{"source": "*", "prefix": registry}],
        "image_mirror_probe_per_minute": 10000,
        "bundle_contents": ["manifests", "images"],
        "kubeflow_bundle": str(bundle),
    }


def changed(output: str) -> int:
    return int(output.partition("PLAY RECAP")[2].partition("changed=")[2].split()[0])


def pulled(registry: NodeRegistry) -> set[str]:
    """Repositories of which containerd has read a manifest."""
    lines = [line for line in registry.log.splitlines() if "containerd/" in line]
    return {found[1] for line in lines if (found := re.search(r'"GET /v2/([^"]+)/manifests/', line))}


def test_a_bundle_is_used_to_a_pass_where_no_route_leads_out(paths: ClusterPaths, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    (tmp_path / "web").mkdir()
    sums = manifests(paths, tmp_path / "web")
    with upstream(tmp_path / "web") as (web, registry):
        given = json.dumps(variables(paths, bundle, web, registry, sums))
        common = ("-i", "inventory/sample", "-e", given)
        filled = ansible(*common, "playbooks/bundle.yml", XDG_CACHE_HOME=str(tmp_path / "here"))
        assert filled.returncode == 0, filled.stdout[-3000:]
    Bundle.open(bundle).verify()

    (tmp_path / "registry").mkdir()
    with serving(NAME, tmp_path / "registry", PORT) as own:
        route = subprocess.run([*own.enter, "ip", "route", "show", "default"], capture_output=True, check=True)
        assert route.stdout == b""

        def play(*playbooks: str) -> str:
            reports = json.dumps({"validation_report_directory": str(tmp_path / "reports")})
            done = ansible(
                *common,
                *("-e", reports),
                *playbooks,
                enter=own.enter,
                XDG_CACHE_HOME=str(tmp_path / "closed"),
                http_proxy="",
                https_proxy="",
            )
            assert done.returncode == 0, done.stdout[-6000:]
            return done.stdout

        play("playbooks/registry.yml")
        first = play("playbooks/site.yml")
        assert changed(first) > 0
        assert changed(play("playbooks/install.yml")) == 0
        images = pulled(own)
    found = json.loads((tmp_path / "reports/latest.json").read_text())
    assert found["summary"]["verdict"] == "pass"
    for part in ("volcanosh/vc-scheduler", "training-operator", "local-path-provisioner", "busybox"):
        assert any(part in name for name in images), (part, images)
