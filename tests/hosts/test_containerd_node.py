"""The Node of a host whose containerd restarts: waited for, and the change taken back where it does not come again.

The cluster is a few fixed answers on this machine, as no kubelet runs on a test host. What else is not openEuler: SSH,
Python and coreutils are Debian's; systemctl and crictl are stand-ins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.hosts.lab import Host, Lab
from tests.serving import Handler, kubeconfig, serving

NAME = "worker-7"
CONFIG = "etc/containerd/config.toml"


@dataclass
class Cluster:
    """An API server with one Node; `lease` is how far from now its kubelet renewed its Lease, `ready` its condition."""

    kubeconfig: Path
    lease: timedelta = timedelta(hours=-1)
    ready: str = "True"

    def answers(self) -> dict[str, Any]:
        """Bodies by path."""
        renewed = (datetime.now(UTC) + self.lease).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lease = "/apis/coordination.k8s.io/v1"
        return {
            "/version": {"gitVersion": "v1.30.2"},
            "/api/v1": {
                "resources": [
                    {"kind": "Node", "name": "nodes", "namespaced": False},
                    {"kind": "Pod", "name": "pods", "namespaced": True},
                ]
            },
            "/api/v1/pods": {
                "metadata": {"resourceVersion": "1"},
                "items": [{"metadata": {"namespace": "ns", "name": "new"}, "status": {"phase": "Pending"}}],
            },
            lease: {"resources": [{"kind": "Lease", "name": "leases", "namespaced": True}]},
            f"/api/v1/nodes/{NAME}": {"status": {"conditions": [{"type": "Ready", "status": self.ready}]}},
            f"{lease}/namespaces/kube-node-lease/leases/{NAME}": {"spec": {"renewTime": renewed}},
        }


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(tmp_path / "kubeconfig")

    class Api(Handler):
        def do_GET(self) -> None:
            body = cluster.answers().get(self.path.partition("?")[0])
            self.answer(body or {"code": 404}, 200 if body else 404)

    with serving(Api) as port:
        cluster.kubeconfig.write_text(yaml.safe_dump(kubeconfig(f"http://127.0.0.1:{port}", {})))
        yield cluster


@pytest.fixture
def node(lab: Lab) -> Iterator[Host]:
    host = lab.start(containerd="2.2")
    yield host
    host.remove()


def run(lab: Lab, node: Host, cluster: Cluster, **variables: Any) -> tuple[int, str]:
    known = {
        "image_mirror_mode": "containerd",
        "image_mirror_rules": [{"source": "gcr.io", "prefix": "m.example.org"}],
        "image_mirror_containerd_node_seconds": 15,
        "kubeflow_kubeconfig": str(cluster.kubeconfig),
        "kubeflow_node_name": f"{{{{ {{'{node.name}': '{NAME}'}}[inventory_hostname] | default('') }}}}",
    }
    inventory = lab.inventory(cluster.kubeconfig.parent / "inventory", [node], **known | variables)
    done = lab.play("playbooks/hosts.yml", inventory, "--tags", "image_mirror")
    return done.returncode, done.stdout + done.stderr


def test_a_kubelet_that_goes_on_lets_the_change_stay(lab: Lab, node: Host, cluster: Cluster) -> None:
    cluster.lease = timedelta(minutes=1)
    code, told = run(lab, node, cluster)
    assert code == 0, told
    assert "no kubeconfig names" not in told
    assert "terminating: ns/new." in told
    assert "config_path" in (node.root / CONFIG).read_text()


@pytest.mark.long
def test_a_kubelet_that_does_not_come_back_takes_the_change_back(lab: Lab, node: Host, cluster: Cluster) -> None:
    before = (node.root / CONFIG).read_text()
    code, told = run(lab, node, cluster)
    assert code != 0
    assert re.search(f"Node {NAME} is not ready .* Lease ", told)
    assert "files are restored" in told
    assert (node.root / CONFIG).read_text() == before
    assert node.run("crictl info").returncode == 0


@pytest.mark.long
def test_a_node_that_is_not_ready_is_left_alone(lab: Lab, node: Host, cluster: Cluster) -> None:
    cluster.ready = "False"
    before = (node.root / CONFIG).read_text()
    code, told = run(lab, node, cluster)
    assert code != 0
    assert re.search(f"Node {NAME} is not ready: .* False", told)
    assert (node.root / CONFIG).read_text() == before
