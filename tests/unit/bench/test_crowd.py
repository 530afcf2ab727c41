"""The crowd of the benchmark is as large as the claim says, and as a real one would be."""

from __future__ import annotations

from collections import Counter
from functools import cache

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.validators.subjects.pods import waits_for_gang
from tests.bench.crowd import Crowd

CROWD = Crowd()


@cache
def pods() -> list[Object]:
    """All of them, made once."""
    return list(CROWD.all_pods())


def test_there_are_so_many_different_pods_and_no_node_has_more_than_it_takes() -> None:
    made = pods()
    assert len({Ref.of(pod) for pod in made}) == len(made) == CROWD.pods
    on_node = Counter(pod["spec"]["nodeName"] for pod in made if "nodeName" in pod["spec"])
    assert len(on_node) == CROWD.nodes
    assert max(on_node.values()) <= CROWD.pods // CROWD.nodes
    gangs = {(pod["metadata"]["annotations"] or {}).get("scheduling.k8s.io/group-name") for pod in made}
    assert len(gangs - {None}) == CROWD.pod_groups


def test_all_of_them_are_well_but_the_gangs_that_wait() -> None:
    made = pods()
    waiting = [pod for pod in made if waits_for_gang(pod)]
    assert len(waiting) == 200
    assert {assess(pod).state for pod in made if not waits_for_gang(pod)} == {State.READY}
