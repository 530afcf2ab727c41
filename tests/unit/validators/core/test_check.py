"""What a check must have, whoever writes it; and the whole set of checks."""

from __future__ import annotations

import pytest

from tests.samples.facts import facts, ref
from validators.checks import CHECKS
from validators.core.check import FAMILIES, LAST, Check, check, natural
from validators.core.facts import RESOURCES, Facts
from validators.core.outcome import Outcome, Severity, passed
from validators.probes import PROBES
from validators.reading.extras import EXTRAS


def test_a_pass_must_name_what_it_looked_at() -> None:
    with pytest.raises(ValueError, match="all is well"):
        passed("all is well", objects=())


def test_a_docstring_is_claim_and_remedy() -> None:
    @check("A9", "claimed", severity=Severity.INFO)
    def judge(_facts: Facts) -> Outcome:
        """It holds.

        Make it hold.
        """
        return passed("it holds", objects=(ref("Node", "n1"),))

    assert (judge.title, judge.remedy, judge.family) == ("It holds", "Make it hold.", "reach")
    assert judge(facts()).message == "it holds"


def test_a_check_without_a_remedy_is_refused() -> None:
    with pytest.raises(ValueError, match="A9"):

        @check("A9", "claimed", severity=Severity.INFO)
        def judge(_facts: Facts) -> Outcome:
            """It holds."""
            raise AssertionError


def test_ids_are_ordered_as_people_count() -> None:
    assert sorted(["C10", "C2", "A4"], key=natural) == ["A4", "C2", "C10"]


def test_ids_and_slugs_are_unique_and_in_order() -> None:
    ids = [item.id for item in CHECKS]
    assert ids == sorted(set(ids), key=natural)
    assert len({item.slug for item in CHECKS}) == len(CHECKS)
    assert {id_[0] for id_ in ids} <= set(FAMILIES)


def test_everything_that_is_asked_for_is_there() -> None:
    ids = {item.id for item in CHECKS}
    wanted = "A1 A4 B1 B3 C2 C3 C4 C5 C6 C7 C8 D1 D2 D3 D5 D6 F1 F2 F3 F4 F5 F6 G1 G2 G3 G4 G5 H1 H2 H3 H4 H8"
    assert ids >= set(wanted.split())


@pytest.mark.parametrize("item", CHECKS, ids=lambda item: str(item.id))
def test_requirements_and_probes_exist(item: Check) -> None:
    by_id = {other.id: other for other in CHECKS}
    for need in item.requires:
        assert need in by_id
        assert item.probe or not by_id[need].probe, "a static check is judged before any probe runs"
    assert item.probe in {"", "cleanup", LAST, *PROBES}


def test_what_is_listed_is_known_to_the_snapshot_or_fetched_for_the_check() -> None:
    fetched = {id_ for extra in EXTRAS for id_ in extra.checks}
    for item in CHECKS:
        if item.probe:
            continue
        for rule in item.needs:
            if rule.verb == "list":
                assert rule.plural_group in RESOURCES or item.id in fetched
