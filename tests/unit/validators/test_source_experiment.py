"""The oracle of the source experiment, on watch histories written by hand."""

from __future__ import annotations

from typing import Any, Literal, cast

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.watching import Change, Subject
from validators.probes.record import Recorder
from validators.scenarios.source_experiment import CASES, Observation, gpus_free, side_by_side, tfjob

PODS = Subject("v1", "Pod", "n")
GROUPS = Subject("scheduling.volcano.sh/v1beta1", "PodGroup", "n")


def pod(role: str, *, node: str = "", phase: str = "Pending", judged: bool = False, scheduler: str = "volcano") -> Any:
    kind, index = role.split("-")
    labels = {"training.kubeflow.org/replica-type": kind, "training.kubeflow.org/replica-index": index}
    when = "2026-01-01T00:00:00Z"
    found = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": when}]
    return {
        "metadata": {"name": f"dist-mnist-{role}", "uid": role, "labels": labels, "creationTimestamp": when},
        "spec": {"nodeName": node, "schedulerName": scheduler},
        "status": {"phase": phase, "conditions": found if judged else []},
    }


def group(phase: str, minimum: int = 6, *, judged: bool = True) -> Any:
    found = [{"type": "Unschedulable", "reason": "NotEnoughResources", "transitionID": "7"}] if judged else []
    return {
        "metadata": {"name": "g", "uid": "g"},
        "spec": {"minMember": minimum},
        "status": {"phase": phase, "conditions": found},
    }


class Nobody:
    """Stands for the cluster of a recorder that is never asked to look."""


def history(
    *objects: Any,
    subject: Subject = PODS,
    kind: Literal["RESET", "ADDED", "MODIFIED", "DELETED"] = "ADDED",
    onto: Recorder | None = None,
) -> Recorder:
    record = onto or Recorder(cast("Cluster", Nobody()), "n", "", iter(()))
    for item in objects:
        record.take(Change(subject, kind, (item,), 0.0, 0.0))
    return record


PS = [pod(f"ps-{i}", node="gpu-1", phase="Running") for i in range(2)]
WAITING = [pod(f"worker-{i}", judged=True) for i in range(1, 4)]


class TestDefaultCase:
    """Without gang scheduling one worker starts and three wait."""

    def test_settles_on_one_running_and_three_judged_workers(self) -> None:
        seen = history(*PS, pod("worker-0", node="gpu-1", phase="Running"), *WAITING)

        assert CASES["default"].settled(seen)
        assert CASES["default"].wrong(seen) == ""

    def test_does_not_settle_while_a_waiting_worker_was_not_judged(self) -> None:
        seen = history(*PS, pod("worker-0", node="gpu-1", phase="Running"), *WAITING[:2], pod("worker-3"))

        assert not CASES["default"].settled(seen)

    def test_a_pod_group_contradicts_it(self) -> None:
        seen = history(group("Pending"), subject=GROUPS)

        assert "gang scheduling is off" in CASES["default"].wrong(seen)


class TestGangThatDoesNotFit:
    """With gang scheduling nobody starts."""

    def test_settles_on_a_judged_pending_group_without_bound_pods(self) -> None:
        seen = history(group("Pending"), subject=GROUPS)

        assert CASES["gang-short"].settled(seen)
        assert CASES["gang-short"].wrong(seen) == ""

    def test_a_group_that_nobody_judged_proves_nothing(self) -> None:
        assert not CASES["gang-short"].settled(history(group("Pending", judged=False), subject=GROUPS))

    def test_a_pod_that_was_bound_for_a_moment_is_not_forgotten(self) -> None:
        bound = pod("worker-0", node="gpu-1")
        seen = history(bound, onto=history(group("Pending"), subject=GROUPS))
        history(bound, kind="DELETED", onto=seen)

        assert seen.bound() == ()
        assert "1 of 6 pods got a node" in CASES["gang-short"].wrong(seen)

    def test_a_group_of_the_wrong_size_contradicts_it(self) -> None:
        assert "asks for 1 members" in CASES["gang-short"].wrong(history(group("Pending", 1), subject=GROUPS))


class TestGangThatFits:
    """With four GPUs all six start."""

    def test_settles_when_all_six_run(self) -> None:
        seen = history(*PS, *(pod(f"worker-{i}", node="gpu-1", phase="Running") for i in range(4)))

        assert CASES["gang-fits"].settled(seen)
        assert CASES["gang-fits"].wrong(seen) == ""

    def test_pods_of_another_scheduler_contradict_it(self) -> None:
        assert "default-scheduler" in CASES["gang-fits"].wrong(history(pod("ps-0", scheduler="default-scheduler")))


def test_gpus_that_a_running_pod_holds_are_not_free() -> None:
    node = {"status": {"allocatable": {"nvidia.com/gpu": "2"}}}
    holder = {
        "spec": {"nodeName": "gpu-1", "containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]},
        "status": {"phase": "Running"},
    }
    done = holder | {"status": {"phase": "Succeeded"}}

    assert gpus_free([node, node], [holder, done]) == 3


def test_the_job_asks_for_one_gpu_per_worker_and_none_per_parameter_server() -> None:
    specs = tfjob("n")["spec"]["tfReplicaSpecs"]
    asked = {
        role: (
            spec["replicas"],
            spec["template"]["spec"]["containers"][0]["resources"]["requests"].get("nvidia.com/gpu"),
        )
        for role, spec in specs.items()
    }

    assert asked == {"PS": (2, None), "Worker": (4, "1")}


def test_tables_stand_side_by_side_and_name_what_is_not_as_claimed() -> None:
    member = {"role": "ps-0", "phase": "Running", "node": "gpu-1", "simulated": True, "bound_at": ""}
    seen = {"members": [member], "group": None, "most_bound": 1}
    text = side_by_side([Observation("a", "first", 1.0, "", seen), Observation("b", "second", 1.0, "too many", seen)])

    assert text.splitlines()[0].split() == ["first", "second"]
    assert "as claimed" in text
    assert "NOT as claimed: too many" in text
