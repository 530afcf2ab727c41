"""Claims of the benchmark: judged by the median ratio of rounds, shown as tables."""

from __future__ import annotations

from tests.bench.claims import Claim, Sample, costs, judge, table

RATIO = Claim("again", "rerun / replay", 0.4, "replay")
MEMORY = Claim("empty", "peak memory, MiB", 400.0, measure="peak_mib")


def sample(contestant: str, number: int, seconds: float, stage: str = "again", peak: float = 0.0) -> Sample:
    return Sample("1.9.1", stage, contestant, number, seconds, 0.5, 0.25, peak, {})


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    runs = [(1.0, 4.0), (9.0, 10.0), (2.0, 10.0)]
    samples = [
        item
        for number, (ours, other) in enumerate(runs)
        for item in (sample("ours", number, ours), sample("replay", number, other))
    ]
    [found] = judge(samples, [RATIO])
    assert (found.value, found.low, found.high) == (0.25, 0.2, 0.9)
    assert (found.subject, found.reference) == (2.0, 10.0)
    assert found.met


def test_a_claim_is_missed_above_its_limit_and_met_at_it() -> None:
    for seconds, met in ((4.0, True), (4.01, False)):
        [found] = judge([sample("ours", 0, seconds), sample("replay", 0, 10.0)], [RATIO])
        assert found.met is met


def test_a_release_may_have_a_limit_of_its_own() -> None:
    claim = Claim("again", "rerun / replay", 0.4, "replay", exceptions={"1.9.1": 0.6})
    [found] = judge([sample("ours", 0, 5.0), sample("replay", 0, 10.0)], [claim])
    assert found.met
    assert "0.6" in table([found])


def test_a_round_that_one_side_lacks_does_not_count() -> None:
    samples = [sample("ours", 0, 1.0), sample("ours", 1, 3.0), sample("replay", 1, 10.0)]
    [found] = judge(samples, [RATIO])
    assert found.value == 0.3
    assert judge(samples[:1], [RATIO]) == []


def test_a_claim_without_a_reference_is_absolute() -> None:
    [found] = judge([sample("ours", 0, 9.0, "empty", peak=401.0)], [MEMORY])
    assert (found.value, found.reference, found.met) == (401.0, None, False)


def test_a_measure_may_be_a_fact_and_a_subject_somebody_else() -> None:
    claim = Claim("gangs", "placed in part", 0.0, measure="partial", subject="volcano")
    for number, met in ((0, True), (1, False)):
        [found] = judge([Sample("1.9.1", "gangs", "volcano", 0, 1.0, 0.5, 0.25, 0.0, {"partial": number})], [claim])
        assert (found.value, found.met) == (number, met)


def test_tables_say_what_is_missed_and_what_it_cost() -> None:
    samples = [sample("ours", 0, 5.0), sample("replay", 0, 10.0)]
    line = table(judge(samples, [RATIO])).splitlines()[2]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "1.9.1",
        "rerun / replay",
        "5.00",
        "10.00",
        "0.50",
        "0.50-0.50",
        "0.4",
        "NOT met",
    ]
    line = costs(samples).splitlines()[3]
    assert [cell.strip() for cell in line.strip("|").split("|")] == [
        "1.9.1",
        "again",
        "replay",
        "1",
        "10.00",
        "0.50",
        "0.25",
    ]
