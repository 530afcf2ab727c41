"""What several modules of fault tests have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from tests.faults.rolling import small_release


@pytest.fixture
def objects(cluster: Cluster) -> Iterator[list[Object]]:
    """Of a small release, which is not rolled out yet; they are removed afterwards."""
    with small_release(cluster) as made:
        yield made
