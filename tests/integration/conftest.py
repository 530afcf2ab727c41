"""The cluster for the tests that need one: named by the environment, else the rehearsal cluster called default."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.problems import Unreachable

KUBECONFIG = "KFV_TEST_KUBECONFIG"


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    """Administrator's credentials of a rehearsal cluster on which the training profile is installed."""
    if named := os.environ.get(KUBECONFIG):
        return Path(named)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "kubeflow-volcano" / "rehearsal" / "default" / "admin.kubeconfig"


@pytest.fixture(scope="session")
def cluster(kubeconfig: Path) -> Cluster:
    """A connection to it; without one these tests fail, for a skip would look like a pass."""
    try:
        return Cluster.connect(kubeconfig)
    except Unreachable as error:
        pytest.fail(f"{error}\nRun `make test`, which brings a cluster up, or `make rehearse` before these tests.")
