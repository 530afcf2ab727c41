"""The oracle of the source experiment, on watch histories written by hand."""

from __future__ import annotations

from validators.scenarios.source_experiment import (
    manifest,
    not_partial,
    not_whole,
    not_withheld,
    partial,
    whole,
    withheld,
)
from validators.scenarios.testing import deleted, group, history, pod, seen

PS = [pod(f"ps-{i}", role="ps", node="gpu-1") for i in range(2)]
ALL_WORKERS = [pod(f"worker-{i}", role="worker", node="gpu-1") for i in range(4)]
WAITING = [pod(f"worker-{i}", role="worker", judged=True) for i in range(1, 4)]


class TestDefaultCase:
    """Without gang scheduling one worker starts and three wait."""

    def test_settles_on_one_running_and_three_judged_workers(self) -> None:
        found = history(*PS, ALL_WORKERS[0], *WAITING)

        assert partial(found)
        assert not_partial(found) == ""

    def test_does_not_settle_while_a_waiting_worker_was_not_judged(self) -> None:
        assert not partial(history(*PS, ALL_WORKERS[0], *WAITING[:2], pod("worker-3", role="worker")))

    def test_a_pod_group_contradicts_it(self) -> None:
        assert "gang scheduling is off" in not_partial(history(group("Pending", 6)))


class TestGangThatDoesNotFit:
    """With gang scheduling nobody starts."""

    def test_settles_on_a_judged_pending_group_without_bound_pods(self) -> None:
        found = history(group("Pending", 6))

        assert withheld(found)
        assert not_withheld(found) == ""

    def test_a_group_that_nobody_judged_proves_nothing(self) -> None:
        assert not withheld(history(group("Pending", 6, judged=False)))

    def test_a_pod_that_was_bound_for_a_moment_is_not_forgotten(self) -> None:
        bound = pod("worker-0", role="worker", node="gpu-1")
        found = deleted(seen(history(group("Pending", 6)), bound), bound)

        assert found.bound() == ()
        assert "1 of 6 pods got a node" in not_withheld(found)

    def test_a_group_of_the_wrong_size_contradicts_it(self) -> None:
        assert "asks for 1 members" in not_withheld(history(group("Pending", 1)))


class TestGangThatFits:
    """With four GPUs all six start."""

    def test_settles_when_all_six_run(self) -> None:
        found = history(*PS, *ALL_WORKERS)

        assert whole(found)
        assert not_whole(found) == ""

    def test_pods_of_another_scheduler_contradict_it(self) -> None:
        assert "default-scheduler" in not_whole(history(pod("ps-0", scheduler="default-scheduler")))


def test_the_job_asks_for_one_gpu_per_worker_and_none_per_parameter_server() -> None:
    (job,) = manifest("n")
    asked = {
        role: (
            spec["replicas"],
            spec["template"]["spec"]["containers"][0]["resources"]["requests"].get("nvidia.com/gpu"),
        )
        for role, spec in job["spec"]["tfReplicaSpecs"].items()
    }

    assert asked == {"PS": (2, None), "Worker": (4, "1")}
