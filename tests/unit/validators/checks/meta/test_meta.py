"""Family I: what a run says of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kubeflow_volcano.experiment.remains import Cleanup, Tracked
from kubeflow_volcano.validators.checks.meta import meta
from kubeflow_volcano.validators.checks.meta.meta import RUN, RunRecord
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Outcome, Severity, errored, failed, passed
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.probes.audit import Audit
from tests.samples.facts import facts, ref

POD = Tracked(ref("Pod", "kfv-smoke-1/p"), "u1")
REMOVED = Cleanup((POD,), (POD,), (), (), 0.4)
NOTHING = Cleanup((), (), (), (), 0.0)
SEEN = Audit(kinds=("Pod",), seen=7, writes=2)
GOOD = passed("it is good", objects=(ref("Node", "n1"),))
UNREAD = errored("Forbidden", "you may not.", todo="ask.")


def result(id_: str, outcome: Outcome, severity: Severity = Severity.BLOCKER) -> Result:
    judged = Check(id_, f"slug-{id_.lower()}", "It holds", "Mend it.", severity, lambda _facts: outcome)
    return Result(judged, outcome, 0.0, 0.0)


def judge(item: Check, record: RunRecord) -> Outcome:
    return item(facts(evidences={RUN: record}))


RECORD = RunRecord((result("A1", GOOD),), REMOVED, SEEN)


def test_i1_passes_when_a_fresh_look_finds_nothing_of_the_run() -> None:
    outcome = judge(meta.clean_up_proven, RECORD)
    assert str(outcome.status) == "pass"
    assert outcome.objects == (POD.ref,)
    assert "7" in outcome.message


def test_i1_fails_for_what_is_still_there_and_follows_h8_when_that_knew() -> None:
    lost = judge(meta.clean_up_proven, replace(RECORD, audit=replace(SEEN, present=(POD,))))
    assert (str(lost.status), lost.reason, lost.because) == ("fail", "StillThere", ())
    assert "u1" in lost.message
    known = replace(RECORD, cleanup=replace(REMOVED, left=(POD,)), audit=replace(SEEN, present=(POD,)))
    assert judge(meta.clean_up_proven, known).because == ("H8",)


def test_i1_is_skipped_when_nothing_was_created_and_open_when_nobody_could_look() -> None:
    assert judge(meta.clean_up_proven, replace(RECORD, cleanup=NOTHING)).reason == "NothingCreated"
    blind = replace(RECORD, audit=None, failure=("Unreachable", "no answer"))
    with pytest.raises(CannotJudgeError) as stop:
        judge(meta.clean_up_proven, blind)
    assert (str(stop.value.outcome.status), stop.value.outcome.reason) == ("error", "Unreachable")


def test_i2_passes_when_all_writes_were_about_objects_of_the_run() -> None:
    assert "2 requests" in judge(meta.nothing_else_touched, RECORD).message
    silent = judge(meta.nothing_else_touched, RunRecord((), NOTHING, Audit()))
    assert str(silent.status) == "pass"


def test_i2_fails_for_a_request_about_others_and_for_a_field_in_theirs() -> None:
    wrote = judge(
        meta.nothing_else_touched, replace(RECORD, audit=replace(SEEN, foreign_writes=("DELETE /api/v1/pods/x",)))
    )
    assert (str(wrote.status), wrote.reason) == ("fail", "TouchedOthers")
    assert "DELETE /api/v1/pods/x" in wrote.message
    theirs = ref("Pod", "team/precious")
    marked = judge(meta.nothing_else_touched, replace(RECORD, audit=replace(SEEN, touched=(theirs,))))
    assert (str(marked.status), marked.objects) == ("fail", (theirs,))


def test_i4_passes_when_both_passes_agree_and_names_what_differs() -> None:
    assert str(judge(meta.stable_verdicts, replace(RECORD, again={"A1": GOOD})).status) == "pass"
    bad = failed("Flaps", "it flaps", todo="mend it")
    outcome = judge(meta.stable_verdicts, replace(RECORD, again={"A1": bad}))
    assert (str(outcome.status), outcome.reason) == ("fail", "Flaky")
    assert outcome.observed == {"A1": "pass, fail"}
    for word in ("A1 ", "AsClaimed", "Flaps"):
        assert word in outcome.message
    assert judge(meta.stable_verdicts, replace(RECORD, again={})).reason == "NothingElse"
