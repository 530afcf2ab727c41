"""Gangs beside the same pods placed one by one, as tables."""

from __future__ import annotations

from tests.bench.claims import Sample
from tests.bench.gang_table import gang_table


def sample(stage: str, contestant: str, number: int, seconds: float, bound: int = 0) -> Sample:
    facts: dict[str, object] = {"after_last": seconds / 2, "span": seconds / 4, "bound": bound}
    return Sample("1.9.1", stage, contestant, number, seconds, 0.0, 0.0, 0.0, facts)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_ratios_are_those_of_each_round() -> None:
    runs = [("volcano", 0, 4.0), ("default", 0, 1.0), ("default", 1, 4.0), ("volcano", 1, 8.0)]
    runs += [("tuned", 0, 2.0), ("tuned", 1, 2.0)]
    samples = [sample("gang of 10", *run) for run in runs]
    samples += [
        sample("11 members, 10 places", "default", 0, 1.0, 10),
        sample("11 members, 10 places", "volcano", 0, 2.0),
        sample("11 members, 10 places", "tuned", 0, 1.0),
    ]
    samples.append(sample("gangs", "volcano", 0, 9.0))
    fitting, without = gang_table(samples).split("\n\n")
    shown = ["10", "2", "6.00", "3.00", "1.50", "2.50", "3.0 (2.0-4.0)", "2.00", "1.2 (0.5-2.0)"]
    assert cells(fitting.splitlines()[2]) == shown
    assert cells(without.splitlines()[2]) == ["11 members, 10 places", "0, tuned 0", "2.00", "10"]


def test_without_gangs_there_is_no_table() -> None:
    assert gang_table([]) == ""
