"""Remedies of other releases, done literally on rehearsal clusters of theirs: older operators, and Trainer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.rehearsal.spec import ClusterPaths
from tests.integration.breaking import leftovers, space
from tests.integration.remedies import OF_INVENTORY, Broken
from tests.integration.test_remedies import heal
from tests.places import UPSTREAM
from tests.rehearsed import cluster_name, play

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

GIVEN = "KFV_TEST_CLUSTER_OF"
"""Before the name of an inventory, in capitals and with underscores: a rehearsal cluster that is up already."""


@pytest.fixture(scope="module", params=sorted(OF_INVENTORY))
def released(request: pytest.FixtureRequest, worker_id: str) -> Iterator[tuple[str, Path]]:
    """The inventory, and the kubeconfig of a cluster on which it is installed."""
    inventory: str = request.param
    if given := os.environ.get(f"{GIVEN}_{inventory.upper().translate(str.maketrans('-.', '__'))}"):
        yield inventory, ClusterPaths.of(given).kubeconfig
        return
    if not UPSTREAM.is_dir():
        pytest.skip(f"{UPSTREAM} is not there")
    name = f"{cluster_name(worker_id)}-{sorted(OF_INVENTORY).index(inventory)}"
    try:
        play(name, "rehearsal", "install", inventory=inventory)
        yield inventory, ClusterPaths.of(name).kubeconfig
    finally:
        play(name, "rehearsal", state="absent", inventory=inventory)


def test_each_remedy_heals_when_it_is_done_literally(released: tuple[str, Path]) -> None:
    inventory, kubeconfig = released
    cluster = Cluster.connect(kubeconfig)
    for remedy in OF_INVENTORY[inventory]:
        with space(cluster) as where:
            heal(Broken(cluster, kubeconfig, where), [remedy])
    assert leftovers(cluster) == []
