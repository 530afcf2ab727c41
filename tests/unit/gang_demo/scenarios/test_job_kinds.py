"""Manifests and oracles of every kind of job, on watch histories written by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.gang_demo.jobs.jobs import KINDS
from kubeflow_volcano.gang_demo.play.history import History
from kubeflow_volcano.gang_demo.play.stand import Stand
from kubeflow_volcano.gang_demo.scenarios.job_kinds import CASES, JOBS, Play, manifest, served_kinds, size_of
from tests.samples.histories import group, history, pod

TRAINING = ("paddlejob-worker-0", "paddlejob-worker-1", "paddlejob-worker-2")


def play(seen: History, *, gang: bool = True) -> Play:
    return Play(cast("Stand", None), seen, "n", "PaddleJob", gang)


def member(name: str, **how: Any) -> Any:
    return pod(name, job="paddlejob", **how)


def jobs() -> dict[str, Any]:
    return {item["kind"]: item for item in manifest("n") if item["kind"] != "Pod"}


def test_there_is_a_job_of_every_kind() -> None:
    assert set(jobs()) == set(KINDS) == set(JOBS)


@pytest.mark.parametrize("kind", KINDS)
def test_three_pods_of_each_kind_need_a_whole_node_and_the_others_no_gpu(kind: str) -> None:
    field, container = KINDS[kind]
    replicas = jobs()[kind]["spec"][field].values()
    containers = [(item["replicas"], item["template"]["spec"]["containers"][0]) for item in replicas]

    assert {found["name"] for _, found in containers} == {container}
    asked = [(count, found["resources"]["requests"].get("nvidia.com/gpu")) for count, found in containers]
    assert sum(count for count, gpus in asked if gpus == "4") == 3
    assert {gpus for _, gpus in asked} <= {"4", None}


@pytest.mark.parametrize(
    ("kind", "size"),
    [("TFJob", 4), ("PyTorchJob", 3), ("MPIJob", 4), ("XGBoostJob", 3), ("PaddleJob", 3), ("MXJob", 5)],
)
def test_a_gang_is_all_replicas_with_launcher_and_scheduler(kind: str, size: int) -> None:
    assert size_of(kind) == size


def test_the_control_runs_without_wiring_and_the_gang_with_volcano() -> None:
    assert [(case.control, case.wiring) for case in CASES] == [(True, "none"), (False, "volcano")]


class TestPlay:
    """One kind, with a GPU missing and then with all of them."""

    def test_a_gang_is_held_back_by_the_word_of_its_group(self) -> None:
        pods = [member(name, judged=True) for name in TRAINING]

        assert play(history(group("Inqueue", 3, name="paddlejob"), *pods)).is_held_back()
        assert not play(history(group("Inqueue", 3, name="other"), *pods)).is_held_back()

    def test_the_control_has_all_but_one_on_nodes(self) -> None:
        placed = [member(name, node="gpu-1", scheduler="default-scheduler") for name in TRAINING[:2]]
        last = member(TRAINING[2], judged=True, scheduler="default-scheduler")

        assert play(history(*placed, last), gang=False).is_held_back()
        assert play(history(*placed, last), gang=False).find_contradiction(0) == ""
        assert not play(history(*placed, member(TRAINING[2])), gang=False).is_held_back()
        assert not play(history(*placed[:1], last), gang=False).is_held_back(), "one is missing"

    def test_it_starts_as_a_gang_where_it_is_one(self) -> None:
        placed = [member(name, node="gpu-1") for name in TRAINING]

        assert play(history(*placed), gang=False).has_started()
        assert not play(history(*placed)).has_started()
        assert play(history(group("Running", 3, name="paddlejob"), *placed)).has_started()


class TestServed:
    """Kinds that the operator has."""

    @staticmethod
    def cluster(*kinds: str) -> Any:
        return SimpleNamespace(kinds=lambda _: dict.fromkeys(kinds))

    def test_those_that_there_are_in_their_order(self) -> None:
        assert served_kinds(self.cluster("PyTorchJob", "ScheduledJob", "TFJob")) == ["TFJob", "PyTorchJob"]

    def test_none_at_all_is_no_success(self) -> None:
        with pytest.raises(NotServed, match="TFJob"):
            served_kinds(self.cluster("Notebook"))
