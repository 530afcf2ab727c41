"""One cause fails one check; nothing is explained away without a failure that stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.core.check import Check, check
from kubeflow_volcano.validators.core.consequences import REASON, blocked, blocked_by, follow, not_applicable
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import (
    Cause,
    Outcome,
    Severity,
    Status,
    errored,
    failed,
    passed,
    skipped,
    warned,
)
from tests.samples.facts import ref


def bad(*because: str) -> Outcome:
    return failed("Bad", "it is bad", todo="mend it", because=because)


GOOD = passed("it is good", objects=(ref("Node", "n1"),))


def skips(**outcomes: Outcome) -> list[str]:
    return [id_ for id_, item in follow(outcomes).items() if item.status is Status.SKIP]


def test_a_failure_follows_the_check_that_owns_its_cause() -> None:
    assert skips(C6=bad(), C2=bad("C6")) == ["C2"]
    followed = follow({"C6": bad(), "C2": bad("C6")})["C2"]
    assert (followed.reason, followed.message) == (REASON, "consequence of C6: it is bad")


def test_it_stands_when_that_check_holds_or_was_not_judged() -> None:
    assert skips(C6=GOOD, C2=bad("C6")) == []
    assert skips(C2=bad("C6")) == []


def test_every_cause_must_be_owned() -> None:
    assert skips(C6=bad(), C8=GOOD, C2=bad("C6", "C8")) == []
    assert skips(C6=bad(), C8=bad(), C2=bad("C6", "C8")) == ["C2"]


def test_chains_lead_to_their_root() -> None:
    assert skips(C2=bad("C7"), C7=bad("G1"), G1=bad()) == ["C2", "C7"]


def test_a_circle_explains_nothing() -> None:
    assert skips(C2=bad("F1"), F1=bad("C2")) == []


def test_a_warning_explains_a_warning_but_no_failure() -> None:
    mild = warned("Young", "it is young", todo="wait")
    follows = warned("Young", "it is young", todo="wait", because=("C8",))
    assert skips(C8=mild, C2=follows) == ["C2"]
    assert skips(C8=mild, C2=bad("C8")) == []


def test_an_error_follows_as_well() -> None:
    assert skips(B3=bad(), H1=errored("Refused", "webhook", todo="see B3", because=("B3",))) == ["H1"]


NODE, OTHER = ref("Node", "n1"), ref("Node", "n2")


def on(*refs: Ref, because: Sequence[Cause] = (), **more: Any) -> Outcome:
    return failed("Bad", "it is bad", todo="mend it", objects=refs, because=because, **more)


def test_a_failure_follows_whichever_check_finds_its_cause_broken() -> None:
    symptom = on(because=(frozenset({NODE}),))
    assert skips(A4=on(NODE), C6=symptom) == ["C6"]
    assert follow({"A4": on(NODE), "C6": symptom})["C6"].message.startswith("consequence of A4: ")
    assert skips(A4=on(OTHER), C6=symptom) == []
    assert skips(A4=passed("they are good", objects=(NODE,)), C6=symptom) == []


def test_one_of_several_possible_causes_suffices_and_each_trouble_needs_one() -> None:
    assert skips(A4=on(OTHER), C6=on(because=(frozenset({NODE, OTHER}),))) == ["C6"]
    assert skips(A4=on(OTHER), C6=on(because=(frozenset({NODE}), frozenset({OTHER})))) == []
    assert skips(A4=on(NODE, OTHER), C6=on(because=(frozenset({NODE}), frozenset({OTHER})))) == ["C6"]


def test_what_a_finding_breaks_is_a_cause_beside_its_objects() -> None:
    assert skips(B3=on(OTHER, breaks=(NODE,)), G5=on(because=(frozenset({NODE}),))) == ["G5"]


def test_an_object_named_by_the_symptom_itself_is_no_cause() -> None:
    assert skips(C1=on(NODE, because=(frozenset({NODE}),))) == []
    assert skips(C1=on(NODE, because=(frozenset({NODE}),)), C2=on(NODE, because=(frozenset({NODE}),))) == []
    assert skips(C1=on(NODE, because=(frozenset({NODE}),)), C2=on(NODE)) == ["C1"]


def test_what_could_not_be_evaluated_is_no_finding_about_its_objects() -> None:
    unseen = errored("NotSeen", "it was not seen", todo="look", objects=(NODE,))
    assert skips(D8=unseen, C6=on(because=(frozenset({NODE}),))) == []


def test_what_is_waived_explains_nothing() -> None:
    found = {"C1": on(NODE), "G5": on(because=(frozenset({NODE}), "C1"))}
    assert [id_ for id_, item in follow(found, {"C1"}).items() if item.reason == REASON] == []
    assert [id_ for id_, item in follow(found).items() if item.reason == REASON] == ["G5"]


def test_a_cause_without_a_candidate_explains_nothing() -> None:
    assert skips(A4=on(NODE), G5=on(because=(frozenset(),))) == []


def test_what_an_experiment_shows_outranks_what_was_inferred() -> None:
    inferred = on(NODE, refuted_by=("G5", "G6"))
    proved = follow({"G3": inferred, "G5": bad(), "G6": GOOD})["G3"]
    assert (proved.status, proved.message[:3]) == (Status.PASS, "G6 ")
    assert skips(G3=inferred, G5=bad()) == []
    assert follow({"G3": inferred, "G5": bad()})["G3"].status is Status.FAIL
    follower = on(because=("G3",))
    assert follow({"G3": inferred, "G6": GOOD, "G9": follower})["G9"].status is Status.FAIL


def needing(*ids: str) -> Check:
    @check("H1", "needing", severity=Severity.BLOCKER, requires=ids)
    def judge(_facts: Facts) -> Outcome:
        """It holds.

        Make it hold.
        """
        return GOOD

    return judge


def test_a_requirement_that_does_not_hold_blocks_unless_it_is_waived_or_was_not_chosen() -> None:
    outcomes = {"F1": bad(), "F3": GOOD, "F2": errored("Forbidden", "no", todo="ask")}
    assert blocked_by(needing("F1", "F3"), outcomes, {}) == ("F1",)
    assert blocked_by(needing("F2"), outcomes, {}) == ("F2",)
    assert blocked_by(needing("F1"), outcomes, {"F1": "known"}) == ()
    assert blocked_by(needing("F9"), outcomes, {}) == ()


def test_what_is_blocked_names_the_root() -> None:
    first = {"F1": bad()}
    first["H1"] = blocked(("F1",), first)
    assert blocked_by(needing("H1"), first, {}) == ("H1",)
    second = blocked(("H1",), first)
    assert (second.status, second.because) == (Status.SKIP, ("F1",))
    assert "it is bad" in second.message


def test_what_nobody_asks_for_is_skipped_with_all_that_requires_it() -> None:
    outcomes = {"F1": skipped("NotExpected", "no Volcano"), "F3": GOOD}
    found = not_applicable(needing("F1", "F3"), outcomes, {})
    assert found is not None
    assert (found.reason, found.message) == ("NotExpected", "no Volcano")
    assert not_applicable(needing("F3"), outcomes, {}) is None
    assert not_applicable(needing("F1"), outcomes, {"F1": "known"}) is None
