"""Where parameter servers and workers lie, on watch histories written by hand."""

from __future__ import annotations

import pytest

from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.scenarios.task_topology import (
    AFFINITY,
    ANTI_AFFINITY,
    CASES,
    count_apart,
    find_contradiction,
    layout,
    manifest,
)
from tests.samples.histories import history, pod

CONTROL, TOPOLOGY = CASES


def placed(servers: str, workers: str, scheduler: str = "volcano") -> History:
    """Members by the letters of their nodes."""
    roles = (("ps", servers), ("worker", workers))
    return history(
        *(
            pod(f"{role}-{i}", role=role, node=node, job="mnist", scheduler=scheduler)
            for role, nodes in roles
            for i, node in enumerate(nodes)
        )
    )


def test_the_layout_counts_servers_and_workers_of_each_node() -> None:
    found = placed("ab", "abcc")

    assert layout(found) == {"a": (1, 1), "b": (1, 1), "c": (0, 2)}
    assert count_apart(found) == 2


@pytest.mark.parametrize(
    ("servers", "workers", "claimed"),
    [
        ("ab", "aabb", True),
        ("ab", "abbb", False),
        ("aa", "aaaa", False),
        ("ab", "aabc", False),
    ],
    ids=["paired", "unevenly", "all on one node", "one worker apart"],
)
def test_with_task_topology_each_server_has_its_two_workers(servers: str, workers: str, *, claimed: bool) -> None:
    assert (find_contradiction(TOPOLOGY, placed(servers, workers)) == "") is claimed


@pytest.mark.parametrize(
    ("servers", "workers", "claimed"),
    [("ab", "cdab", True), ("ab", "cdcd", True), ("ab", "aabb", False), ("aa", "bbcc", False)],
)
def test_the_control_uses_every_node(servers: str, workers: str, *, claimed: bool) -> None:
    assert (find_contradiction(CONTROL, placed(servers, workers, "default-scheduler")) == "") is claimed


def test_each_case_has_the_scheduler_that_it_is_about() -> None:
    assert "the scheduler volcano" in find_contradiction(CONTROL, placed("ab", "cdab"))
    assert "the scheduler default-scheduler" in find_contradiction(TOPOLOGY, placed("ab", "aabb", "default-scheduler"))


def test_nothing_is_judged_before_everybody_has_a_node() -> None:
    assert find_contradiction(TOPOLOGY, placed("a", "aa")) == ""


def test_the_job_asks_in_the_words_of_the_plugin() -> None:
    (job,) = manifest("n")

    assert job["metadata"]["annotations"] == {
        "volcano.sh/task-topology-affinity": "ps,worker",
        "volcano.sh/task-topology-anti-affinity": "ps",
    }
    assert {AFFINITY, ANTI_AFFINITY} == set(job["metadata"]["annotations"])
