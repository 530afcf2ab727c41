"""What the operators' probes make of events, on literal ones: an operator that hangs cannot be had on cue."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Self, cast

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.watch.observer import Change, Subject
from kubeflow_volcano.experiment.ended import kept_out
from kubeflow_volcano.experiment.session import Options, Session
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.probes.operator import operator, trainer, training
from kubeflow_volcano.validators.probes.operator.operator import OperatorEvidence
from tests.samples.facts import deployment, facts, obj

PODS = Subject("v1", "Pod", "ns", "x")
GROUPS = Subject("scheduling.volcano.sh/v1beta1", "PodGroup", "ns")


JOBS = Subject("kubeflow.org/v1", "TFJob", "ns")
NAME = "kfv-0a1b2c3d"


class Fake:
    """Stands in for a session; keeps what was created and patched."""

    run = "0a1b2c3d"
    options = Options()

    def __init__(self) -> None:
        self.created: list[Object] = []
        self.patched: list[tuple[Ref, Object]] = []
        self.levels: list[Level] = []
        self.tracked: list[Any] = []
        nothing = SimpleNamespace(items=())
        self.cluster = SimpleNamespace(patch=lambda *what: self.patched.append(what), list=lambda *_, **__: nothing)

    def namespace(self, level: Level) -> str:
        self.levels.append(level)
        return "ns"

    def create(self, item: Object) -> Object:
        self.created.append(item)
        return item

    def with_extent(self, _: Object, text: str) -> str:
        return text

    def adopt(self, _: Object) -> None: ...
    def delete(self, *_: Object) -> None: ...
    def gone(self, *_: str) -> None: ...


def group(phase: str, *, judged: bool = False, minimum: int = 3) -> Change:
    condition = {"type": "Unschedulable", "status": "True", "transitionID": "7f"}
    status = {"phase": phase, "conditions": [condition] if judged else []}
    found = {"metadata": {"name": NAME, "uid": "g"}, "spec": {"minMember": minimum}, "status": status}
    return Change(GROUPS, "MODIFIED", (found,), 0.0)


def pod(name: str, node: str = "", *, judged: bool = False, kind: Any = "MODIFIED", **status: Any) -> Change:
    annotations = {"scheduling.k8s.io/group-name": NAME}
    meta = {"name": name, "uid": name, "annotations": annotations, "creationTimestamp": "2026-01-01T00:00:05Z"}
    said = {"type": "PodScheduled", "status": "False", "lastTransitionTime": "2026-01-01T00:00:06Z", "reason": "x"}
    found = {
        "metadata": meta,
        "spec": {"schedulerName": "volcano", "nodeName": node},
        "status": {"conditions": [said] if judged else [], **status},
    }
    return Change(PODS, kind, (found,), 0.0)


def job(*states: str) -> Change:
    held = [{"type": state, "status": "True", "message": f"is {state}"} for state in states]
    found = {"metadata": {"name": NAME, "uid": "j"}, "status": {"conditions": held}}
    return Change(JOBS, "MODIFIED", (found,), 0.0)


JUDGED = (group("Inqueue"), pod("a", judged=True), pod("b", judged=True), group("Inqueue", judged=True))


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run the training operator's probe on these changes; `after` come when the job was patched, `anew` of a second."""

    def play(
        *changes: Change,
        after: tuple[Change, ...] = (),
        anew: tuple[Change, ...] = (),
        version: str = "1.8.1",
        nudge_after: float = 60.0,
    ) -> tuple[Fake, OperatorEvidence]:
        session = Fake()
        streams = iter((changes, anew))

        class Observer:
            def __init__(self, *_: object) -> None: ...
            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None: ...
            def changes(self, _: float) -> Iterator[Change | None]:
                yield from next(streams)
                while not session.patched:
                    yield None
                yield from after
                while True:
                    yield None

        monkeypatch.setattr(operator, "Observer", Observer)
        monkeypatch.setattr(operator, "wait_gone", lambda *_: ())
        timing = Timing(
            nudge_seconds=nudge_after, made_seconds=1.0, judged_seconds=0.5, job_hold_seconds=0.02, done_seconds=0.1
        )
        container = {"name": "training-operator", "image": f"kubeflow/training-operator:v{version}"}
        live = deployment("kubeflow/training-operator", containers=[container])
        return session, training.run(
            cast("Session", session), facts(live, expected=Expectations(), timing=timing), silent
        )

    return play


PLACED = (pod("a", "n1"), pod("b", "n1"), job("Created", "Running"))
DONE = tuple(pod(name, "n1", phase="Succeeded") for name in "ab")
ENDED = (*PLACED, *DONE, job("Created", "Succeeded"))


def test_a_job_is_held_while_it_asks_for_more_than_it_has_and_then_released(follow: Any) -> None:
    session, evidence = follow(*JUDGED, after=ENDED)
    assert (evidence.group.minimum, len(evidence.pods), session.levels) == (3, 2, [Level.RESTRICTED])
    assert (evidence.held.judged, evidence.held.reached, evidence.held.premature) == (True, True, ())
    assert (evidence.released.reached, evidence.state) == (True, "Succeeded: is Succeeded")
    assert [item.node for item in evidence.released.members] == ["n1", "n1"]
    (made,) = session.created
    assert made["spec"]["runPolicy"]["schedulingPolicy"] == {"minAvailable": 3, "queue": "default"}
    assert session.patched == [(evidence.job, {"spec": {"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}})]


def test_pods_whose_watch_is_behind_that_of_their_job_are_waited_for(follow: Any) -> None:
    _, evidence = follow(*JUDGED, after=(*PLACED, job("Created", "Succeeded"), *DONE))
    assert (evidence.released.reached, {item.phase for item in evidence.released.members}) == (True, {"Succeeded"})


def test_a_job_that_failed_because_its_pod_was_evicted_is_tried_once_more(follow: Any) -> None:
    evicted = pod("a", "n1", phase="Failed", reason="Evicted")
    session, evidence = follow(*JUDGED, after=(*PLACED, job("Created", "Failed"), DONE[1], evicted), anew=JUDGED)
    assert (len(session.created), evidence.attempts) == (2, 2)


def test_an_operator_that_leaves_groups_as_they_are_gets_the_job_anew(follow: Any) -> None:
    session, evidence = follow(*JUDGED, anew=(*JUDGED, *ENDED), version="1.5.0")
    assert [item["spec"]["runPolicy"]["schedulingPolicy"]["minAvailable"] for item in session.created] == [3, 2]
    assert session.patched == []
    assert (evidence.held.reached, evidence.released.reached, evidence.minimum) == (True, True, 3)


def test_a_member_that_is_bound_too_early_ends_the_experiment(follow: Any) -> None:
    session, evidence = follow(group("Inqueue"), pod("a", "n1"), pod("b", judged=True))
    assert (evidence.held.premature, evidence.held.reached) == (("a",), False)
    assert (evidence.released, session.patched, len(session.created)) == (None, [], 1)


def test_members_that_nobody_judges_end_the_experiment(follow: Any) -> None:
    session, evidence = follow(group("Inqueue"), pod("a"), pod("b"))
    assert (evidence.held.judged, evidence.held.reached, evidence.held.held_seconds) == (False, False, 0.0)
    assert (evidence.released, session.patched) == (None, [])


def test_an_image_that_cannot_be_had_is_not_waited_for(follow: Any) -> None:
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}
    _, evidence = follow(*JUDGED, after=(pod("a", "n1", containerStatuses=[waiting]),))
    assert evidence.released.reached is False
    assert [item.waiting for item in evidence.released.members] == ["ErrImagePull: no such host", ""]


def test_a_job_whose_pod_is_taken_away_is_tried_once_more(follow: Any) -> None:
    session, evidence = follow(*JUDGED, pod("a", kind="DELETED"), anew=JUDGED)
    assert [item["metadata"]["name"] for item in session.created] == [NAME, f"{NAME}-again"]
    assert evidence.attempts == 2


def test_a_job_without_pods_is_touched_once_and_only_when_its_group_may_run(follow: Any) -> None:
    session, evidence = follow(group("Pending"), version="1.5.0", nudge_after=-1)
    assert (session.patched, evidence.nudged, evidence.pods, evidence.held) == ([], False, (), None)
    session, evidence = follow(group("Inqueue"), after=JUDGED[1:], version="1.5.0", nudge_after=-1)
    assert session.patched[0][1]["metadata"]["annotations"] == {"kfv.io/probe": "nudged"}
    assert (evidence.nudged, len(evidence.pods), evidence.held.judged) == (True, 2, True)


@pytest.mark.parametrize(
    ("version", "seen", "nudge_after"),
    [("1.6.0", (), -1), ("1.8.1", (), -1), ("main", (), -1), ("1.5.0", (pod("a"),), 60)],
)
def test_an_operator_that_is_slow_is_not_taken_for_one_that_sleeps(
    follow: Any, version: str, seen: tuple[Change, ...], nudge_after: float
) -> None:
    session, evidence = follow(group("Inqueue"), *seen, version=version, nudge_after=nudge_after)
    assert (session.patched, evidence.nudged, len(evidence.pods)) == ([], False, len(seen))


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


def test_why_pods_were_kept_out_is_read_from_events_of_the_job_alone(api: Any) -> None:
    def event(name: str, message: str) -> Object:
        return {"metadata": {"name": message}, "involvedObject": {"name": name}, "message": message}

    found = (
        event(NAME, 'pods "p" is forbidden: exceeded quota: team'),
        event(NAME, "Back-off pulling image"),
        event("another", 'pods "q" is forbidden: exceeded quota: team'),
    )
    kind = {"kind": "Event", "name": "events", "namespaced": True}
    api.on("GET", "/api/v1", api.reply(200, {"resources": [kind]}))
    path = "/api/v1/namespaces/ns/events"
    api.on("GET", path, api.reply(200, {"items": list(found), "metadata": {"resourceVersion": "5"}}))
    session = cast("Session", SimpleNamespace(cluster=api.connect()))
    job = Ref("kubeflow.org/v1", "TFJob", "ns", NAME)
    assert kept_out(session, job) == found[0]["message"]
    api.on("GET", path, api.status(403, "Forbidden", "no"))
    assert kept_out(session, job) == ""
