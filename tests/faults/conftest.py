"""What several modules of fault tests have in common."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from tests.faults.proxy import FaultProxy, Through, proxied
from tests.faults.rolling import small_release


@pytest.fixture
def behind(kubeconfig: Path, cluster: Cluster, tmp_path: Path) -> Iterator[tuple[FaultProxy, Cluster]]:
    """A proxy in front of the cluster, and a client behind it."""
    assert cluster.version  # fails here, and not behind the proxy, if there is no cluster
    with proxied(kubeconfig, tmp_path) as pair:
        yield pair


@pytest.fixture
def through(behind: tuple[FaultProxy, Cluster], tmp_path: Path) -> Through:
    """A proxy in front of the cluster, and the kubeconfig that leads through it."""
    return behind[0], tmp_path / "through-the-proxy.json"


@pytest.fixture
def objects(cluster: Cluster) -> Iterator[list[Object]]:
    """Of a small release, which is not rolled out yet; they are removed afterwards."""
    with small_release(cluster) as made:
        yield made
