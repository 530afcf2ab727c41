"""The order of judgement: requirements, consequences, waivers, what breaks and what is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kubeflow_volcano.validators.checks.meta.meta import RUN
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.facts import Evidence, Fact, Facts, Unread
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed
from kubeflow_volcano.validators.core.resources import CONFIGMAPS, PODS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.gang.gang import GANG
from kubeflow_volcano.validators.run.judging import Judging
from tests.samples.facts import facts, node, ref

GOOD = passed("it is good", objects=(ref("Node", "n1"),))
BAD = failed("Bad", "it is bad", todo="mend it")


def a_check(
    id_: str,
    answer: Outcome | Callable[[Facts], Outcome],
    *,
    requires: tuple[str, ...] = (),
    probe: Evidence[Any] | None = None,
) -> Check:
    judge = answer if callable(answer) else lambda _facts: answer
    return Check(
        id_, f"slug-{id_.lower()}", "It holds", "Mend it.", Severity.BLOCKER, judge, requires=requires, probe=probe
    )


def judge_gang(found: Facts) -> Outcome:
    found.evidence(GANG)
    return GOOD


class Run:
    """One run over given checks, without a cluster."""

    def __init__(self, *checks: Check, waived: dict[str, str] | None = None) -> None:
        self.lines: list[str] = []
        self.judging = Judging(checks, waived or {}, self.lines.append)

    @property
    def statuses(self) -> dict[str, str]:
        return {item.check.id: str(item.outcome.status) for item in self.judging.results()}


def test_a_check_that_breaks_is_an_error_and_the_others_go_on() -> None:
    def breaks(_facts: Facts) -> Outcome:
        raise ZeroDivisionError("by zero")

    run = Run(a_check("A1", breaks), a_check("A4", GOOD))
    run.judging.judge(facts())
    assert run.statuses == {"A1": "error", "A4": "pass"}
    broken = run.judging.results()[0].outcome
    assert (broken.reason, "ZeroDivisionError: by zero" in broken.message) == ("CheckBroke", True)


def test_a_kind_that_a_check_forgot_to_ask_for_is_no_pass() -> None:
    run = Run(a_check("A1", lambda found: passed("x", objects=[ref("Node", "n")] * len(found.all("nothing")))))
    run.judging.judge(facts())
    assert run.statuses == {"A1": "error"}


def test_a_missing_fact_is_the_error_that_it_states() -> None:
    run = Run(a_check("A4", lambda found: passed("x", objects=[ref("Node", str(found.all("nodes")))])))
    run.judging.judge(facts(node(), unread={"nodes": Unread("Forbidden", "you may not", "ask")}))
    assert run.judging.results()[0].outcome.reason == "Forbidden"


def test_what_is_done_only_when_asked_for_is_skipped_otherwise_and_says_how_to_ask() -> None:
    unasked = Run(replace(a_check("E2", GOOD), opt_in="network_per_node"))
    unasked.judging.skip_opt_ins(["strict"])
    (result,) = unasked.judging.results()
    assert (result.outcome.status, result.outcome.reason) == ("skip", "NotAsked")
    assert "--network-per-node" in result.outcome.message
    assert "validation_network_per_node" in result.outcome.message
    asked = Run(replace(a_check("E2", GOOD), opt_in="network_per_node"))
    asked.judging.skip_opt_ins(["network_per_node"])
    asked.judging.judge(facts())
    assert asked.statuses == {"E2": "pass"}


def test_checks_of_probes_wait_and_say_which_probes_they_want() -> None:
    run = Run(a_check("F1", GOOD), a_check("H1", judge_gang, requires=("F1",), probe=GANG))
    run.judging.judge(facts())
    assert run.judging.probes() == (GANG,)
    run.judging.judge_probes(facts(evidences={GANG: GOOD}))
    assert run.statuses == {"F1": "pass", "H1": "pass"}


def test_no_probe_runs_for_checks_that_follow_from_a_failure() -> None:
    run = Run(a_check("F1", BAD), a_check("H1", GOOD, requires=("F1",), probe=GANG))
    run.judging.judge(facts())
    assert run.judging.probes() == ()
    assert run.statuses == {"F1": "fail", "H1": "skip"}


def test_a_waived_failure_is_a_skip_that_keeps_what_was_found_and_blocks_nobody() -> None:
    run = Run(a_check("F1", BAD), a_check("H1", GOOD, requires=("F1",)), waived={"F1": "lab", "H1": "lab"})
    run.judging.judge(facts())
    first, second = run.judging.results()
    assert (str(first.outcome.status), first.outcome.message) == ("skip", "waived: lab")
    assert first.waived is BAD
    assert (str(second.outcome.status), second.waived) == ("pass", None)


def test_a_probe_that_ended_without_evidence_is_an_error() -> None:
    run = Run(a_check("H1", judge_gang, probe=GANG))
    run.judging.judge(facts())
    run.judging.judge_probes(facts(evidences={GANG: Unread("ProbeBroke", "it broke", "tell us")}))
    assert run.judging.results()[0].outcome.reason == "ProbeBroke"


def test_what_is_open_at_the_end_was_not_judged() -> None:
    run = Run(a_check("A1", GOOD), a_check("H1", GOOD, probe=GANG))
    run.judging.judge(facts())
    run.judging.give_up("Interrupted", "the run was ended", "run again")
    assert run.statuses == {"A1": "pass", "H1": "error"}


def test_a_read_only_run_skips_probes_and_a_missing_right_is_an_error() -> None:
    run = Run(a_check("A1", GOOD), a_check("H1", GOOD, probe=GANG))
    run.judging.rule_out({"A1": Unread("Forbidden", "you may not", "ask")})
    run.judging.judge(facts())
    run.judging.skip_probes()
    assert run.statuses == {"A1": "error", "H1": "skip"}


def test_every_check_is_told_once_with_its_verdict() -> None:
    run = Run(a_check("A1", GOOD), a_check("A4", BAD), a_check("H1", GOOD, requires=("A4",), probe=GANG))
    run.judging.judge(facts())
    run.judging.judge_probes(facts())
    assert run.lines == ["A1  pass  slug-a1", "A4  fail  slug-a4: Bad", "H1  skip  slug-h1: ConsequenceOf A4"]


def test_a_pass_with_something_unread_that_the_check_needs_is_none() -> None:
    needing = replace(a_check("A4", GOOD), reads=(PODS,))
    run = Run(needing, a_check("A1", GOOD))
    run.judging.judge(facts(unread={"pods": Unread("Forbidden", "you may not", "ask")}))
    assert run.statuses == {"A1": "pass", "A4": "error"}


def test_what_judges_the_run_itself_comes_last_and_is_judged_by_a_read_only_run_too() -> None:
    run = Run(a_check("A1", GOOD), a_check("H1", GOOD, probe=GANG), a_check("I3", GOOD, probe=RUN))
    run.judging.judge(facts())
    run.judging.skip_probes()
    run.judging.judge_probes(facts())
    assert run.statuses == {"A1": "pass", "H1": "skip"}
    assert run.judging.waits_for("I3")
    run.judging.judge_run(facts())
    assert run.statuses == {"A1": "pass", "H1": "skip", "I3": "pass"}


def test_a_second_pass_starts_from_nothing_and_leaves_the_run_itself_out() -> None:
    run = Run(a_check("A1", BAD), a_check("I4", GOOD, probe=RUN), waived={"A1": "lab"})
    run.judging.judge(facts())
    again = run.judging.again(run.lines.append)
    assert [item.id for item in again.open_checks()] == ["A1"]
    again.judge(facts())
    assert [str(item.outcome.status) for item in again.results()] == ["skip"], "waived as in the first pass"


def test_a_right_that_is_missing_in_one_namespace_counts_for_who_needs_it_there() -> None:
    here = replace(a_check("E4", GOOD), needs=(Rule("get", "", "configmaps", "auth"),))
    there = replace(a_check("F4", GOOD), reads=(CONFIGMAPS,))
    run = Run(here, there)
    run.judging.judge(facts(unread={"get configmaps in auth": Unread("Forbidden", "you may not", "ask")}))
    assert run.statuses == {"E4": "error", "F4": "pass"}


def test_a_right_that_only_adds_detail_is_not_demanded() -> None:
    more = Fact[int](
        "more", lambda _cluster, _facts: 1, 0, needs=(Rule("get", "", "configmaps", "auth"),), enriches=True
    )
    run = Run(replace(a_check("E4", GOOD), reads=(more,)))
    run.judging.judge(facts(unread={"get configmaps in auth": Unread("Forbidden", "you may not", "ask")}))
    assert run.statuses == {"E4": "pass"}
