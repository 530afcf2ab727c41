"""The cluster that `make test` brings up and installs on, for the tests that need one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.client import Cluster

KUBECONFIG = "KFV_TEST_KUBECONFIG"


@pytest.fixture(scope="session")
def kubeconfig() -> Path:
    """Administrator's credentials of a rehearsal cluster on which the training profile is installed."""
    path = os.environ.get(KUBECONFIG)
    if not path:
        pytest.skip(f"{KUBECONFIG} is not set; `make test` brings a cluster up and sets it")
    return Path(path)


@pytest.fixture(scope="session")
def cluster(kubeconfig: Path) -> Cluster:
    """A connection to it."""
    return Cluster.connect(kubeconfig)
