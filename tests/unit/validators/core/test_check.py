"""What a check must have, whoever writes it; and the whole set of checks."""

from __future__ import annotations

import pytest

from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.checks.meta.meta import RUN
from kubeflow_volcano.validators.core.check import FAMILIES, Check, check, natural
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, passed
from kubeflow_volcano.validators.probes.audit import CLEANUP
from tests.samples.facts import facts, ref


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
    wanted = "A1 A4 B1 B3 C2 C3 C4 C5 C6 C7 C8 D1 D2 D3 D5 D6 F1 F3 F4 F5 G1 G2 G3 G4 G5 H1 H2 H3 H4 H8"
    assert ids >= set(wanted.split())


@pytest.mark.parametrize("item", CHECKS, ids=lambda item: str(item.id))
def test_requirements_and_probes_exist(item: Check) -> None:
    by_id = {other.id: other for other in CHECKS}
    for need in item.requires:
        assert need in by_id
        assert item.probe or not by_id[need].probe, "a static check is judged before any probe runs"
    assert isinstance(item.probe, Probe) or item.probe in {None, CLEANUP, RUN}


def test_what_a_check_reads_is_read_once_and_a_fact_behind_what_it_reads_itself() -> None:
    for item in CHECKS:
        every = item.everything
        assert len(set(every)) == len(every)
        for fact in item.facts:
            assert all(every.index(read) < every.index(fact) for read in fact.reads)


def test_every_fact_and_probe_has_a_name_of_its_own() -> None:
    for every in ({fact for item in CHECKS for fact in item.facts}, {item.probe for item in CHECKS if item.probe}):
        assert len({found.name for found in every}) == len(every)
