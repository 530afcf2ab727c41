"""The smoke test where all CPU of the nodes is asked for by others, whom it leaves alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.explain.placement.nodes import Node, nodes_of
from tests.integration.breaking import judge, made, space
from tests.waiting import until

pytestmark = pytest.mark.cluster


def nodes(cluster: Cluster) -> list[Node]:
    """Nodes that take everybody's pods."""
    found = nodes_of(cluster.list("v1", "Node").items, cluster.list("v1", "Pod").items)
    return [node for node in found if not node.obj.get("spec", {}).get("taints")]


def filler(node: Node, namespace: str) -> Object:
    """A pod that asks for all CPU that nobody has asked for."""
    asked = {"requests": {"cpu": f"{int(node.free('cpu') * 1000)}m"}}
    container = {"name": "main", "image": PAUSE, "resources": asked}
    spec = {"nodeName": node.name, "terminationGracePeriodSeconds": 0, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": node.name, "namespace": namespace}, "spec": spec}


@pytest.fixture
def full(cluster: Cluster) -> Iterator[list[Object]]:
    """No CPU is left on any node."""
    until(lambda: not [pod for pod in cluster.list("v1", "Pod").items if "deletionTimestamp" in pod["metadata"]])
    with space(cluster) as name, made(cluster, *(filler(node, name) for node in nodes(cluster))) as pods:
        refs = [Ref.of(item) for item in pods]
        until(lambda: all((cluster.get(ref) or {}).get("status", {}).get("phase") == "Running" for ref in refs))
        yield pods


@pytest.mark.long
def test_gangs_are_proved_where_no_cpu_is_left(cluster: Cluster, kubeconfig: Path, full: list[Object]) -> None:
    assert all(node.free("cpu") < 1 / 1000 for node in nodes(cluster))
    found = judge(kubeconfig, "gang", "G5", "G6", read_only=False)
    assert {id_: status for id_, (status, _) in found.items() if status != "pass"} == {}
    assert {"H1", "H2", "H3", "H4", "H5", "H6", "H8", "G6"} <= found.keys()
    live = [cluster.get(Ref.of(item)) for item in full]
    assert [item["metadata"]["uid"] for item in live if item] == [item["metadata"]["uid"] for item in full]
