"""Healthy clusters of others: no blocker fails on them, and whatever is broken in them is found by its own check.

A recorded cluster is not the project's own clean installation; it has people's broken notebooks, other meshes, policies
and drivers, lost nodes.
"""

from __future__ import annotations

from functools import cache

import pytest

from kubeflow_volcano.validators.core.consequences import REASON
from kubeflow_volcano.validators.core.outcome import Severity, Status
from tests.recorded.breakages import BREAKAGES
from tests.recorded.planting import Absent, Planting
from tests.recorded.recording import CLUSTERS, LIMIT, clusters, load
from tests.recorded.verdicts import judged

BAD = {Status.FAIL, Status.ERROR}


def test_there_are_enough_clusters_and_a_person_can_review_each() -> None:
    sizes = {name: (CLUSTERS / name / "facts.yaml").stat().st_size for name in clusters()}
    assert len(sizes) >= 10
    assert {name: size for name, size in sizes.items() if size > LIMIT} == {}


def test_they_are_of_two_generations_of_kubernetes() -> None:
    assert len({load(name).server_version.split(".")[1] for name in clusters()}) >= 2


@pytest.mark.parametrize("name", clusters())
def test_no_blocker_fails_on_a_healthy_cluster_of_others(name: str) -> None:
    assert {
        item.check.id: f"{item.outcome.reason}: {item.outcome.message}"
        for item in judged(load(name)).values()
        if item.check.severity is Severity.BLOCKER and item.outcome.status in BAD
    } == {}


@pytest.mark.parametrize("name", clusters())
def test_whatever_is_broken_in_it_fails_the_check_of_the_cause(name: str) -> None:
    found = broken(name)
    assert len(found) >= 30
    assert {what: said for what, said in found.items() if said} == {}


def test_each_breakage_is_tried_on_some_cluster() -> None:
    tried = {what for name in clusters() for what in broken(name)}
    assert [what for what in BREAKAGES if what not in tried] == []


@cache
def broken(name: str) -> dict[str, str]:
    """What is wrong with the verdict on each breakage that the cluster can have; empty where its check fails."""
    found = {}
    for what, (check, plant) in BREAKAGES.items():
        planting = Planting(load(name))
        try:
            plant(planting)
        except Absent:
            continue
        outcome = judged(planting.facts)[check].outcome
        well = outcome.status is Status.FAIL and outcome.reason != REASON
        found[what] = "" if well else f"{check} {outcome.status} {outcome.reason}: {outcome.message}"
    return found
