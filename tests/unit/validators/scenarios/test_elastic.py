"""The elastic job: its manifests, and its oracles on watch histories written by hand."""

from __future__ import annotations

from typing import Any

from validators.scenarios.elastic import CASES, below, contradicted, manifest, reached
from validators.scenarios.testing import deleted, group, history, pod

WORKERS = tuple(f"elastic-worker-{number}" for number in range(4))


def worker(number: int, **how: Any) -> Any:
    return pod(WORKERS[number], job="elastic", **how)


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

    def test_so_many_workers_and_the_others_judged(self) -> None:
        seen = history(group("Running", 2), *placed(2), *waiting(2))

        assert reached(seen, 2, 2)
        assert not reached(seen, 4, 2)

    def test_nobody_only_when_volcano_has_judged_the_group_and_every_worker(self) -> None:
        assert reached(history(group("Inqueue", 2), *waiting(0)), 0, 2)
        assert not reached(history(group("Inqueue", 2, judged=False), *waiting(0)), 0, 2)
        assert not reached(history(group("Inqueue", 2), worker(0), *waiting(1)), 0, 2)

    def test_a_group_that_is_not_admitted_has_no_workers_to_judge(self) -> None:
        assert reached(history(group("Pending", 4)), 0, 4)
        assert not reached(history(), 0, 4)

    def test_workers_that_belong_to_no_gang_are_none(self) -> None:
        assert not reached(history(*placed(2), *waiting(2)), 2, 2)

    def test_without_a_gang_each_of_the_others_must_have_been_judged(self) -> None:
        assert reached(history(*placed(1), *waiting(1)), 1, 0)
        assert not reached(history(*placed(1), worker(1), *waiting(2)), 1, 0)


class TestContradicted:
    """What speaks against the claim."""

    def test_more_workers_than_there_may_be(self) -> None:
        assert "1 workers got a node instead of 0" in contradicted(history(group("Inqueue", 2), *placed(1)), 0, 2)

    def test_a_gang_of_another_size(self) -> None:
        assert "asks for 4 members instead of 2" in contradicted(history(group("Inqueue", 4)), 0, 2)

    def test_a_group_where_there_is_no_gang_scheduling(self) -> None:
        assert "gang scheduling is off" in contradicted(history(group("Inqueue", 4)), 1, 0)

    def test_one_worker_alone_for_long(self) -> None:
        seen = history(group("Running", 2), *placed(1))
        seen.holdings = [(at - 10.0, names) for at, names in seen.holdings]

        assert "fewer than 2 workers for 10" in contradicted(seen, 2, 2)


class TestBelow:
    """The time with too few workers."""

    def test_none_when_two_came_and_more_after_them(self) -> None:
        seen = history(*placed(4))
        seen.holdings = [(float(at), names) for at, (_, names) in enumerate(seen.holdings)]

        assert below(seen, 2) == 1.0, "from the first binding to the second"

    def test_a_job_that_shrinks_below_its_least_counts_again(self) -> None:
        seen = history(*placed(2))
        deleted(seen, worker(0, node="gpu-1"))
        seen.holdings[-1] = (seen.holdings[-1][0] - 7.0, seen.holdings[-1][1])

        assert below(seen, 2) >= 7.0
