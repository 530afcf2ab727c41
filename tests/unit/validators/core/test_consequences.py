"""One cause fails one check; nothing is explained away without a failure that stands."""

from __future__ import annotations

from tests.samples.facts import ref
from validators.core.check import Check, check
from validators.core.consequences import REASON, blocked, blocked_by, follow, not_applicable
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, Status, errored, failed, passed, skipped, warned


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
