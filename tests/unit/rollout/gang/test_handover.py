"""A run that changes an operator ends after its former pods."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.gang import handover

OPERATOR: Object = new_object(
    "apps/v1",
    "Deployment",
    "training-operator",
    "kubeflow",
    spec={"selector": {"matchLabels": {"control-plane": "kubeflow-training-operator"}}},
)


def pod(name: str, **metadata: Any) -> Object:
    return new_object("v1", "Pod", name, "kubeflow", meta={"uid": name, **metadata})


class Operated:
    """A cluster whose former pod answers so many questions before it has ended."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def get(self, ref: Ref, **_: Any) -> Object | None:
        if ref.kind == "Deployment":
            return OPERATOR
        self.asked.append(ref.name)
        self.answers -= 1
        return pod(ref.name) if self.answers >= 0 else None

    def list(self, *_: Any, namespace: str, labels: str) -> Any:
        assert (namespace, labels) == ("kubeflow", "control-plane=kubeflow-training-operator")
        former = pod("former", deletionTimestamp="2026-11-25T12:00:00Z", deletionGracePeriodSeconds=0)
        return SimpleNamespace(items=[pod("next"), former])


def run_on(cluster: Operated, *, check: bool = False) -> Any:
    return SimpleNamespace(cluster=cluster, check=check, deadline=Deadline(60), progress=silent, add_problem=None)


def test_a_run_waits_until_the_former_pod_has_ended() -> None:
    cluster = Operated(answers=2)
    handover.wait_for_former_pods(run_on(cluster), [OPERATOR])
    assert cluster.asked == ["former"] * 3


def test_check_mode_does_not_wait() -> None:
    cluster = Operated(answers=2)
    handover.wait_for_former_pods(run_on(cluster, check=True), [OPERATOR])
    assert not cluster.asked


def test_a_pod_of_a_lost_node_does_not_hold_the_run(monkeypatch: Any) -> None:
    monkeypatch.setattr(handover, "_KILL_SECONDS", 0.3)
    cluster = Operated(answers=1000)
    handover.wait_for_former_pods(run_on(cluster), [OPERATOR])
    assert 1 <= len(cluster.asked) < 1000
