"""What the operators' probe makes of events, on literal ones: an operator that hangs cannot be had on cue."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watching import Change, Subject
from kubeflow_volcano.progress import silent
from validators.expectations import Expectations
from validators.probes import operator, trainer
from validators.probes.operator import OperatorEvidence
from validators.probes.session import Options, Session
from validators.probes.spaces import Level
from validators.testing import facts, obj

PODS = Subject("v1", "Pod", "ns", "x")
GROUPS = Subject("scheduling.volcano.sh/v1beta1", "PodGroup", "ns")


class Fake:
    """Stands in for a session; keeps what was created and patched."""

    run = "0a1b2c3d"
    options = Options()
    stopped = False

    def __init__(self) -> None:
        self.created: list[Object] = []
        self.patched: list[Ref] = []
        self.levels: list[Level] = []
        self.tracked: list[Any] = []
        self.cluster = SimpleNamespace(patch=lambda ref, _: self.patched.append(ref))

    def namespace(self, level: Level) -> str:
        self.levels.append(level)
        return "ns"

    def create(self, item: Object) -> Object:
        self.created.append(item)
        return item

    def adopt(self, _: Object) -> None: ...
    def delete(self, *_: Object) -> None: ...
    def gone(self, *_: str) -> None: ...


def group(phase: str) -> Change:
    found = {"metadata": {"name": "kfv-0a1b2c3d", "uid": "g"}, "spec": {"minMember": 2}, "status": {"phase": phase}}
    return Change(GROUPS, "MODIFIED", (found,), 0.0, 0.0)


def pod(name: str, node: str = "") -> Change:
    annotations = {"scheduling.k8s.io/group-name": "kfv-0a1b2c3d"}
    meta = {"name": name, "uid": name, "annotations": annotations}
    found = {"metadata": meta, "spec": {"schedulerName": "volcano", "nodeName": node}}
    return Change(PODS, "MODIFIED", (found,), 0.0, 0.0)


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the training operator's probe on these changes and return its session and evidence."""

    def play(*changes: Change | None, nudge_after: float = 60.0) -> tuple[Fake, OperatorEvidence]:
        class Observer:
            def __init__(self, *_: object) -> None: ...
            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None: ...
            def changes(self, _: float) -> Iterator[Change | None]:
                return iter(changes)

        monkeypatch.setattr(operator, "Observer", Observer)
        monkeypatch.setattr(operator, "wait_gone", lambda *_: ())
        monkeypatch.setattr(operator, "_NUDGE_SECONDS", nudge_after)
        session = Fake()
        return session, operator.run(cast("Session", session), facts(expected=Expectations()), silent)

    return play


def test_the_probe_ends_when_both_pods_have_their_node(follow: Any) -> None:
    late = group("Running")
    session, evidence = follow(group("Inqueue"), pod("a"), pod("b"), pod("a", "n1"), pod("b", "n2"), late)
    assert [(item.name, item.node) for item in evidence.pods] == [("a", "n1"), ("b", "n2")]
    assert (evidence.phase, evidence.nudged, session.patched) == ("Inqueue", False, [])
    assert session.levels == [Level.RESTRICTED]


def test_a_job_without_pods_is_touched_once_and_only_when_its_group_may_run(follow: Any) -> None:
    session, evidence = follow(group("Pending"), None, None, nudge_after=-1)
    assert (session.patched, evidence.nudged) == ([], False)
    session, evidence = follow(group("Inqueue"), None, None, pod("a", "n1"), pod("b", "n1"), nudge_after=-1)
    assert (session.patched, evidence.nudged, len(evidence.pods)) == ([evidence.job], True, 2)


def test_a_trainjob_is_tried_on_a_runtime_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Object] = []

    def observe(session: Any, evidence: OperatorEvidence, make: Any, selector: Any, level: Level) -> OperatorEvidence:
        made.append(make(session, "ns", "j"))
        assert (selector("j"), level) == ("jobset.sigs.k8s.io/jobset-name=j", Level.BASELINE)
        return evidence

    monkeypatch.setattr(trainer, "observe", observe)
    replicated = {"template": {"spec": {"template": {"spec": {"schedulerName": "volcano"}}}}}
    spec = {"podGroupPolicy": {"volcano": {}}, "template": {"spec": {"replicatedJobs": [replicated]}}}
    found = facts(obj("ClusterTrainingRuntime", "mine", spec=spec), expected=Expectations())

    assert trainer.run(cast("Session", Fake()), facts(expected=Expectations()), silent) is None
    trainer.run(cast("Session", Fake()), found, silent)

    (job,) = made
    assert job["spec"]["runtimeRef"] == {"name": "mine"}
    assert job["spec"]["annotations"]["scheduling.volcano.sh/queue-name"] == "default"
    assert job["spec"]["trainer"]["numNodes"] == 2
