"""The verdicts on a probe job, one test per branch, on literal evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.record import Group, Member, Moment
from kubeflow_volcano.experiment.stage import Step
from kubeflow_volcano.validators.checks.operator.verdict import held_then_released, operator_verdict
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.probes.operator.operator import OperatorEvidence

AT = "2026-01-01T00:00:00.000Z"


def member(name: str = "j-worker-0", **fields: Any) -> Member:
    known: dict[str, Any] = {"scheduler": "volcano", "group": "j", "node": "n1"}
    return Member(name, f"uid-{name}", **(known | fields))


def group(*, minimum: int = 2, queue: str = "default", phase: str = "Running", judged: str = "") -> Group:
    return Group("j", "uid-j", minimum, phase, judged, queue=queue)


def job(**fields: Any) -> OperatorEvidence:
    """A job of two that asks for two, with its pods placed."""
    pods = (member("j-worker-0"), member("j-worker-1"))
    given: dict[str, Any] = {"group": group(), "pods": pods} | fields
    return OperatorEvidence(Ref("kubeflow.org/v1", "TFJob", "ns", "j"), "default", **given)


def test_a_job_that_became_a_gang_passes_and_says_where_it_is() -> None:
    outcome = operator_verdict(job())
    assert (outcome.status, "placed on n1" in outcome.message) == (Status.PASS, True)
    assert "not placed within" in operator_verdict(job(pods=(member(node=""), member("b", node="")))).message


def test_a_gang_that_cannot_be_whole_is_not_asked_where_it_was_placed() -> None:
    waits = tuple(member(f"j-worker-{index}", node="") for index in range(2))
    outcome = operator_verdict(job(minimum=3, group=group(minimum=3), pods=waits))
    assert (outcome.status, "placed" in outcome.message) == (Status.PASS, False)


@pytest.mark.parametrize(
    ("seen", "reason", "because"),
    [
        (job(group=None, pods=()), "NoPodGroup", ()),
        (job(group=group(minimum=1)), "WrongMinimum", ()),
        (job(minimum=3), "WrongMinimum", ()),
        (job(group=group(queue="")), "WrongQueue", ()),
        (job(group=group(phase=""), pods=()), "PodsHeldBack", ("H1",)),
        (job(group=group(phase="Pending"), pods=()), "PodsHeldBack", ("H1",)),
        (job(group=group(phase="Inqueue"), pods=()), "PodsMissing", ()),
        (job(pods=(member(scheduler="default-scheduler"), member("b"))), "PodsNotGanged", ()),
        (job(pods=(member(group=""), member("b"))), "PodsNotGanged", ()),
    ],
)
def test_a_job_that_became_no_gang_fails_by_its_kind(seen: OperatorEvidence, reason: str, because: Any) -> None:
    outcome = operator_verdict(seen)
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, reason, because)


@pytest.mark.parametrize(
    ("fields", "reason"), [({"refused": "no"}, "ProbeRefused"), ({"failure": "x"}, "ProbeInterrupted")]
)
def test_a_job_that_could_not_be_tried_is_an_error(fields: dict[str, Any], reason: str) -> None:
    for judge in (operator_verdict, held_then_released):
        outcome = judge(job(group=None, pods=(), **fields))
        assert (outcome.status, outcome.reason) == (Status.ERROR, reason)


def test_pods_that_are_not_admitted_are_no_fault_of_the_operator() -> None:
    words = 'Error creating: pods "j-worker-0" is forbidden: every pod names its cost centre'
    outcome = operator_verdict(job(group=group(phase="Inqueue"), pods=(), refused=words))
    assert (outcome.status, outcome.reason) == (Status.ERROR, "ProbeRefused")
    assert "cost centre" in outcome.message


def test_what_came_behind_the_pods_does_not_touch_what_the_operator_made() -> None:
    assert operator_verdict(job(failure="no answer", refused="no")).status is Status.PASS


def step(*members: Member, judged: str = AT, **fields: Any) -> Step:
    known: dict[str, Any] = {"reached": True, "seconds": 1.0, "held_seconds": 3.0}
    timeline = (Moment(AT, members[0].name, "created"),)
    return Step("G6", members, (group(judged=judged),), timeline, ((),), **(known | fields))


HELD = step(*(member(f"j-worker-{index}", node="", judged=AT) for index in range(2)))
DONE = step(*(member(f"j-worker-{index}", judged=AT, phase="Succeeded") for index in range(2)))


def tried(**fields: Any) -> OperatorEvidence:
    """A job of two that asked for three, was held, and succeeded when it asked for two."""
    known: dict[str, Any] = {"minimum": 3, "group": group(minimum=3), "held": HELD, "released": DONE}
    return job(**(known | {"state": "Succeeded: done"} | fields))


def test_a_job_that_is_held_and_then_succeeds_passes_with_its_events() -> None:
    outcome = held_then_released(tried())
    assert (outcome.status, "minMember was 3" in outcome.message) == (Status.PASS, True)
    assert outcome.observed["events"] == [{"at": AT, "name": "j-worker-0", "event": "created", "what": "created"}]


def test_pods_bound_while_the_gang_is_short_of_one_are_the_violation_whatever_else_happened() -> None:
    bound = replace(HELD, members=DONE.members, premature=("j-worker-0",), reached=False)
    outcome = held_then_released(tried(held=bound, released=None, failure="no answer"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "PartialPlacement")
    assert "j-worker-0 on n1" in outcome.message


UNJUDGED = replace(HELD, members=(member(node=""), member("j-worker-1", node="", judged=AT)), reached=False)
EVICTED = replace(HELD, members=(member(node="", lost="Evicted"), *HELD.members[1:]))
UNPULLED = step(member(phase="Pending", waiting="ImagePullBackOff: no such image"), reached=False)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"held": UNJUDGED, "released": None}, "NeverJudged"),
        ({"held": EVICTED, "attempts": 2}, "Disturbed"),
        ({"released": UNPULLED}, "ImageMissing"),
        ({"held": None, "released": None}, "NotReached"),
        ({"released": None, "failure": "x"}, "ProbeInterrupted"),
        ({"released": None, "refused": "x"}, "ProbeRefused"),
    ],
)
def test_an_experiment_that_shows_nothing_is_an_error(fields: dict[str, Any], reason: str) -> None:
    outcome = held_then_released(tried(**fields))
    assert (outcome.status, outcome.reason) == (Status.ERROR, reason)


def test_a_job_whose_pods_do_not_end_because_of_what_was_added_to_them_says_so() -> None:
    pods = (member(outlasting=("agent",)), member("j-worker-1", outlasting=("agent",)))
    outcome = held_then_released(tried(released=step(*pods, reached=False), state="Running: runs"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "OutlastedByInjected")
    assert "agent" in outcome.message


@pytest.mark.parametrize(
    ("node", "state", "reason"),
    [
        ("", "Created: made", "GangNotReleased"),
        ("n1", "Running: runs", "JobNotSucceeded"),
        ("n1", "Failed: x", "JobNotSucceeded"),
    ],
)
def test_a_job_that_does_not_succeed_fails_with_what_is_known(node: str, state: str, reason: str) -> None:
    pods = (member(node=node), member("j-worker-1", node=node))
    outcome = held_then_released(tried(released=step(*pods, reached=False), state=state))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason)
    assert state in outcome.message
    assert "G6-timeline.txt" in outcome.evidence


@pytest.mark.parametrize(("minimum", "blamed"), [(2, "is alive (H1)"), (3, "carries minAvailable over")])
def test_a_gang_that_is_not_released_is_the_scheduler_s_once_its_podgroup_says_so(minimum: int, blamed: str) -> None:
    waits = step(member(node=""), member("j-worker-1", node=""), reached=False)
    outcome = held_then_released(tried(released=replace(waits, groups=(group(minimum=minimum),))))
    assert (outcome.reason, blamed in outcome.todo) == ("GangNotReleased", True)
