"""Manifests and oracles of every kind of job, on watch histories written by hand."""

from __future__ import annotations

from typing import Any, cast

import pytest

from validators.scenarios.history import History
from validators.scenarios.job_kinds import CASES, JOBS, Play, known, manifest, size_of
from validators.scenarios.jobs import KINDS
from validators.scenarios.stand import Stand
from validators.scenarios.testing import deleted, group, history, pod

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


def test_no_name_of_a_notebook_begins_like_a_job() -> None:
    notebook = next(item for item in manifest("n") if item["kind"] == "Pod")["metadata"]["name"]

    assert not [kind for kind in JOBS if notebook.startswith(kind.lower())]


def test_the_control_runs_without_wiring_and_the_gang_with_volcano() -> None:
    assert [(case.control, case.wiring) for case in CASES] == [(True, "none"), (False, "volcano")]


class TestShort:
    """One GPU is missing."""

    def test_a_gang_is_judged_when_each_pod_and_the_group_are(self) -> None:
        pods = [member(name, judged=True) for name in TRAINING]

        assert play(history(group("Inqueue", 3, name="paddlejob"), *pods)).judged()
        assert not play(history(group("Inqueue", 3, name="paddlejob", judged=False), *pods)).judged()
        assert not play(history(group("Inqueue", 3, name="paddlejob"), *pods[:2], member(TRAINING[2]))).judged()

    def test_a_pod_that_had_a_node_for_a_moment_contradicts_the_gang(self) -> None:
        bound = member(TRAINING[0], node="gpu-1")
        seen = deleted(history(group("Inqueue", 3, name="paddlejob"), bound), bound)

        assert "1 of 3 pods got a node" in play(seen).wrong_while_short()

    def test_a_group_of_the_wrong_size_and_another_scheduler_contradict_it(self) -> None:
        assert "asks for 2 members" in play(history(group("Inqueue", 2, name="paddlejob"))).wrong_while_short()
        other = history(member(TRAINING[0], scheduler="default-scheduler"))
        assert "default-scheduler" in play(other).wrong_while_short()

    def test_the_control_has_all_but_one_on_nodes_and_no_group(self) -> None:
        placed = [member(name, node="gpu-1", scheduler="default-scheduler") for name in TRAINING[:2]]
        seen = history(*placed, member(TRAINING[2], judged=True))

        assert play(seen, gang=False).judged()
        assert play(seen, gang=False).wrong_while_short() == ""
        assert not play(history(*placed, member(TRAINING[2])), gang=False).judged()
        assert (
            "gang scheduling is off"
            in play(history(group("Running", 3, name="paddlejob")), gang=False).wrong_while_short()
        )


class TestFree:
    """The GPU is there."""

    def test_bindings_that_follow_each_other_are_as_claimed(self) -> None:
        seen = history(group("Running", 3, name="paddlejob"), *(member(name, node="gpu-1") for name in TRAINING))

        assert play(seen).wrong_when_free() == ""

    def test_a_gang_that_stays_on_some_of_its_nodes_is_not(self) -> None:
        seen = history(group("Running", 3, name="paddlejob"), *(member(name, node="gpu-1") for name in TRAINING[:2]))
        seen.holdings = [(at - 10.0, names) for at, names in seen.holdings]

        assert "and not all for 10" in play(seen).wrong_when_free()


def test_pods_that_are_gone_do_not_count_as_there() -> None:
    here = [member(name, judged=True) for name in TRAINING]
    seen = deleted(history(*here), here[0])

    assert not known(seen.of("paddlejob"), 3)
    assert known(seen.of("paddlejob"), 2)
