"""A rehearsal cluster for the tests that need one: named by the environment, or one of this worker's own."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.problems import Unreachable
from kubeflow_volcano.rehearsal.spec import ClusterPaths
from tests.places import ROOT, UPSTREAM
from tests.playing import ansible

KUBECONFIG = "KFV_TEST_KUBECONFIG"


@pytest.fixture(scope="session")
def kubeconfig(worker_id: str) -> Iterator[Path]:
    """Administrator's credentials of a rehearsal cluster on which the training profile is installed.

    Without one in the environment each worker brings a cluster of its own up, and removes it.
    """
    if named := os.environ.get(KUBECONFIG):
        yield Path(named)
        return
    name = cluster_name(worker_id)
    play(name, "rehearsal", "install")
    yield ClusterPaths.of(name).kubeconfig
    play(name, "rehearsal", state="absent")


@pytest.fixture(scope="session")
def cluster(kubeconfig: Path) -> Cluster:
    """A connection to it; without one these tests fail, because a skip would look like a pass."""
    try:
        return Cluster.connect(kubeconfig)
    except Unreachable as error:
        pytest.fail(f"{error}\nCorrect {KUBECONFIG}, or unset it.")


@pytest.fixture(scope="module")
def installed_again(kubeconfig: Path) -> Iterator[None]:
    """Behind the module's tests the cluster is what it was, whatever they installed over it with other inventories.

    What theirs do not declare would be stale for the tests that follow.
    """
    yield
    play(kubeconfig.parent.name, "install")


def cluster_name(whose: str) -> str:
    """The cluster of a worker or module of this checkout; tests/run.sh removes those that a killed run has left."""
    return f"test-{hashlib.sha256(str(ROOT).encode()).hexdigest()[:6]}-{whose.replace('master', 'one')}"


def play(name: str, *playbooks: str, state: str = "present", inventory: str = "rehearsal", **more: Any) -> None:
    """Run playbooks against the rehearsal cluster of that name; other inventories take upstream's files from beside.

    `more` are further variables.
    """
    variables = [f"rehearsal_cluster_name={name}", f"rehearsal_cluster_state={state}", json.dumps(more)]
    if inventory == "rehearsal":
        variables.append('{"rehearsal_cluster_extras": ["scheduler-plugins"]}')
    done = ansible(
        *("-i", f"inventory/{inventory}"),
        *(word for variable in variables for word in ("-e", variable)),
        *(f"playbooks/{playbook}.yml" for playbook in playbooks),
        KUBEFLOW_SOURCES=os.environ.get("KUBEFLOW_SOURCES", str(UPSTREAM)),
    )
    if done.returncode:
        pytest.fail(f"{' '.join(playbooks)} of {name}, {state}: {done.stdout[-6000:]}{done.stderr[-2000:]}")
