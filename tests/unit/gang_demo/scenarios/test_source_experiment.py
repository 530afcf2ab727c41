"""The source experiment without gang scheduling, on watch histories written by hand."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.gang_demo.scenarios.source_experiment import is_in_part, manifest
from tests.samples.histories import history, pod

PS = [pod(f"ps-{i}", role="ps", node="gpu-1") for i in range(2)]
RUNS = pod("worker-0", role="worker", node="gpu-1")
WAITING = [pod(f"worker-{i}", role="worker", judged=True) for i in range(1, 4)]


def test_one_worker_runs_and_three_wait() -> None:
    assert is_in_part(history(*PS, RUNS, *WAITING))


@pytest.mark.parametrize(
    "objects",
    [
        (),
        (*PS, RUNS, *WAITING[:2], pod("worker-3", role="worker")),
        (*PS, RUNS, *WAITING[:2], pod("worker-3", role="worker", judged=True, message="untolerated taint")),
        (*PS, RUNS, *WAITING[:2]),
        (*PS, RUNS, *WAITING[:2], pod("worker-3", role="worker", node="gpu-1")),
        (PS[0], pod("ps-1", role="ps", judged=True), RUNS, *WAITING),
    ],
    ids=[
        "nothing was seen",
        "one was not judged",
        "one lacks something else",
        "one is missing",
        "two run",
        "a ps waits",
    ],
)
def test_else_it_is_not_that_picture(objects: list[Object]) -> None:
    assert not is_in_part(history(*objects))


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
