"""The oracle of the scenario of Volcano's own job, on watch histories and objects written by hand."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.gang_demo.scenarios.volcano_job import (
    CASES,
    find_early_start,
    find_mixed_runs,
    find_plugin_faults,
    manifest,
    phases,
)
from tests.samples.histories import deleted, history, pod, seen


def worker(number: int, uid: str, **more: Any) -> Any:
    made = pod(f"train-worker-{number}", labels={"volcano.sh/job-name": "train"}, **more)
    return made | {"metadata": made["metadata"] | {"uid": uid}}


def state(phase: str) -> Any:
    return {"status": {"state": {"phase": phase}}}


class TestManifest:
    """The gang and its control differ in what the scenario is about, and in nothing else."""

    def test_the_control_is_the_same_job_without_gang_and_policies(self) -> None:
        gang, loose = manifest("n")[1]["spec"], manifest("n", gang=False)[1]["spec"]

        assert (gang.pop("minAvailable"), loose.pop("minAvailable")) == (6, 1)
        assert gang.pop("policies") == [{"event": "PodEvicted", "action": "RestartJob"}]
        assert gang["tasks"][1].pop("policies") == [{"event": "TaskCompleted", "action": "CompleteJob"}]
        assert gang == loose

    def test_each_case_shows_its_own(self) -> None:
        assert [case.manifest("n")[1]["spec"]["minAvailable"] for case in CASES] == [1, 6]
        assert [case.control for case in CASES] == [True, False]


class TestPhases:
    """What a job went through."""

    def test_each_phase_once_for_as_long_as_it_lasted(self) -> None:
        states = [state(item) for item in ("Pending", "Pending", "Running", "Restarting", "Pending")]

        assert phases([{}, *states]) == ["Pending", "Running", "Restarting", "Pending"]


class TestNotApart:
    """A job starts again as one when nothing of the former run stands beside a new pod with a node."""

    FORMER = frozenset({"old-0", "old-1"})

    def test_new_pods_without_a_node_may_come_early(self) -> None:
        record = history(worker(0, "old-0", node="x"), worker(1, "new-1"))

        assert find_mixed_runs(record, self.FORMER) == ""

    def test_a_new_pod_with_a_node_beside_an_old_one(self) -> None:
        record = history(worker(0, "old-0", node="x"), worker(1, "new-1", node="y"))

        assert re.search("train-worker-1 .*while train-worker-0", find_mixed_runs(record, self.FORMER))

    def test_not_when_the_old_ones_are_gone(self) -> None:
        old = worker(0, "old-0", node="x")
        record = seen(deleted(history(old), old), worker(0, "new-0", node="y"))

        assert find_mixed_runs(record, self.FORMER) == ""


class TestStartedBeside:
    """Whether anybody started while somebody else held the GPU."""

    OTHER = pod("other", node="x")

    def test_not_when_the_other_had_gone(self) -> None:
        record = seen(deleted(history(self.OTHER), self.OTHER), worker(0, "new", node="y"))

        assert find_early_start(record, "other") == ""

    def test_a_pod_that_did_is_not_forgotten(self) -> None:
        early = worker(0, "early", node="y")
        record = deleted(history(self.OTHER, early), early, self.OTHER)

        assert find_early_start(record, "other").startswith("1 of 6 pods ")


def live(name: str, task: str, **changed: Any) -> Any:
    variables = [{"name": "VC_TASK_INDEX", "value": name[-1]}]
    variables += [{"name": f"VC_{word}_{what}"} for word in ("PS", "WORKER") for what in ("HOSTS", "NUM")]
    spec = {"hostname": name, "subdomain": "train", "containers": [{"env": variables}]}
    return {"metadata": {"name": name, "labels": {"volcano.sh/task-spec": task}}, "spec": spec | changed}


PODS = [live(f"train-ps-{i}", "ps") for i in range(2)] + [live(f"train-worker-{i}", "worker") for i in range(4)]
SERVICE = {"spec": {"clusterIP": "None"}}
HOSTS = {
    "data": {
        "ps.host": "train-ps-0.train\ntrain-ps-1.train",
        "worker.host": "\n".join(f"train-worker-{i}.train" for i in range(4)),
    }
}


class TestPlugins:
    """What env and svc give to a job."""

    def test_all_is_there(self) -> None:
        assert find_plugin_faults(PODS, SERVICE, HOSTS) == ""

    @pytest.mark.parametrize(
        ("pods", "service", "hosts", "told"),
        [
            (PODS, None, HOSTS, "Service train is missing"),
            (PODS, {"spec": {"clusterIP": "10.0.0.1"}}, HOSTS, "not headless"),
            (PODS, SERVICE, None, "ps.host"),
            (PODS, SERVICE, {"data": HOSTS["data"] | {"worker.host": "train-worker-0.train"}}, "worker.host"),
            ([live("train-ps-0", "ps", containers=[{}])], SERVICE, HOSTS, "no VC_TASK_INDEX 0"),
            (
                [live("train-ps-0", "ps", containers=[{"env": [{"name": "VC_TASK_INDEX", "value": "0"}]}])],
                SERVICE,
                HOSTS,
                "no VC_PS_HOSTS",
            ),
            ([live("train-ps-0", "ps", subdomain="")], SERVICE, HOSTS, "no name in Service train"),
            (PODS[:5], SERVICE, HOSTS, "5 pods instead of 6"),
        ],
    )
    def test_what_is_missing_is_named(self, pods: Any, service: Any, hosts: Any, told: str) -> None:
        assert told in find_plugin_faults(pods, service, hosts)
