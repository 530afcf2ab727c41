"""The elastic job: its manifests, and its oracles on watch histories written by hand."""

from __future__ import annotations

import re
from typing import Any

from kubeflow_volcano.gang_demo.scenarios.elastic import CASES, find_contradiction, is_reached, manifest
from tests.samples.histories import group, history, later, pod

WORKERS = tuple(f"elastic-worker-{number}" for number in range(4))


def worker(number: int, **how: Any) -> Any:
    return pod(WORKERS[number], job="elastic", **how)


def grouped(phase: str, minimum: int) -> Any:
    return group(phase, minimum, name="elastic")


def waiting(first: int) -> list[Any]:
    return [worker(number, judged=True) for number in range(first, 4)]


def placed(count: int) -> list[Any]:
    return [worker(number, node="gpu-1") for number in range(count)]


def test_only_the_last_case_states_how_small_the_gang_may_be() -> None:
    stated = [case.manifest("n")[-1]["spec"]["runPolicy"].get("schedulingPolicy") for case in CASES]

    assert stated == [None, None, {"minAvailable": 2}]
    assert [case.wiring for case in CASES] == ["none", "volcano", "volcano"]
    assert [case.control for case in CASES] == [True, True, False]


def test_the_job_has_as_many_replicas_as_it_may_have_at_most() -> None:
    spec = manifest("n")[-1]["spec"]

    assert spec["elasticPolicy"]["minReplicas"] == 2
    assert spec["elasticPolicy"]["maxReplicas"] == spec["pytorchReplicaSpecs"]["Worker"]["replicas"] == 4


def test_others_leave_one_gpu_of_eight() -> None:
    others = manifest("n")[:-1]

    assert sum(int(item["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"]) for item in others) == 7


class TestReached:
    """Whether a picture stands."""

    def test_so_many_workers_and_the_others_refused(self) -> None:
        seen = history(grouped("Running", 2), *placed(2), *waiting(2))

        assert is_reached(seen, 2, 2)
        assert not is_reached(seen, 4, 2)

    def test_nobody_only_when_volcano_has_judged_the_group_and_every_worker(self) -> None:
        assert is_reached(history(grouped("Inqueue", 2), *waiting(0)), 0, 2)
        assert not is_reached(history(grouped("Inqueue", 2), worker(0), *waiting(1)), 0, 2)
        assert not is_reached(history(), 0, 4)

    def test_without_a_gang_each_of_the_others_must_have_been_refused_for_gpus(self) -> None:
        assert is_reached(history(*placed(1), *waiting(1)), 1, 0)
        assert not is_reached(history(*placed(1), worker(1), *waiting(2)), 1, 0)
        assert not is_reached(history(*placed(1), worker(1, judged=True, message="taint"), *waiting(2)), 1, 0)


class TestContradicted:
    """What speaks against the claim."""

    def test_more_workers_than_there_may_be(self) -> None:
        assert "1 of 4 " in find_contradiction(history(grouped("Inqueue", 2), *placed(1)), 0, 2)
        assert re.search("2 workers .*instead of 1", find_contradiction(history(*placed(2)), 1, 0))

    def test_a_group_where_there_is_no_gang_scheduling(self) -> None:
        assert "is off" in find_contradiction(history(grouped("Inqueue", 4)), 1, 0)

    def test_one_worker_alone_for_long(self) -> None:
        seen = later(history(grouped("Running", 2), *placed(1)), 10)

        assert re.search(r"2 pods .*10\.0 s", find_contradiction(seen, 2, 2))
