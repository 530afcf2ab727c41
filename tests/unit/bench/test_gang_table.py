"""What became of gangs with every contestant, as tables."""

from __future__ import annotations

import pytest

from tests.bench.claims import Sample
from tests.bench.gang_table import COMPETING, CROWDED, DISPLACING, FITTING, gang_table

KINDS = {"gang of": FITTING, "two gangs": COMPETING, "urgent": DISPLACING}
TITLES = {"default": "default scheduler", "kubernetes": "Kubernetes' gangs"}


def sample(stage: str, contestant: str, number: int = 0, seconds: float = 1.0, **facts: object) -> Sample:
    kind = next((kind for word, kind in KINDS.items() if stage.startswith(word)), CROWDED)
    facts = {"held": 2, "members": 2, "whole": True, "partial": False, "judged": None, "kind": kind} | facts
    return Sample("1.37", stage, contestant, number, seconds, 0.25, 0.5, 0.0, facts)


def cells(text: str, row: int = 2) -> list[str]:
    return [cell.strip() for cell in text.splitlines()[row].strip("|").split("|")]


def test_ratios_are_those_of_each_round() -> None:
    runs = [("kubernetes", 0, 4.0), ("default", 0, 1.0), ("default", 1, 4.0), ("kubernetes", 1, 8.0)]
    samples = [sample("gang of 10", *run) for run in runs]
    samples.append(sample("gangs", "kubernetes"))
    seen, cpu = gang_table(samples, TITLES).split("\n\n")
    assert cells(seen) == ["gang of 10", "2.50", "6.00; 3.0 (2.0-4.0)"]
    assert cells(cpu) == ["gang of 10", "0.25 + 0.50", "0.25 + 0.50"]


@pytest.mark.parametrize(
    ("stage", "facts", "shown"),
    [
        ("gang of 2", {}, "1.00"),
        ("gang of 2", {"whole": False, "held": 1}, "1.00; STALLED 1 of 1 (1 placed)"),
        ("gang of 2", {"partial": True}, "1.00; in part 1 of 1"),
        ("3 members, 2 places", {"held": 0, "judged": 1.0}, "0 placed, said after 1.00"),
        ("3 members, 2 places", {"held": 0}, "0 placed, never said"),
        ("two gangs of 2, 2 places", {"held": [2, 0], "follows": 0.5}, "2 + 0; 1.00, 0.50 after its end"),
        ("two gangs of 2, 2 places", {"held": [2, 0], "follows": None}, "2 + 0; 1.00, the other NEVER"),
        ("two gangs of 2, 2 places", {"held": [1, 1], "follows": None, "whole": False}, "DEADLOCK: 1 + 1 placed"),
        ("two gangs of 2, 2 places", {"held": [0, 0], "follows": None, "whole": False}, "NONE PLACED: 0 + 0 placed"),
        ("urgent gang of 2 over one of 2", {"held": [2, 0], "began": True}, "1.00; 0 of the other left"),
        (
            "urgent gang of 2 over one of 2",
            {"held": [0, 2], "began": True, "whole": False},
            "NOT PLACED (0); 2 of the other left",
        ),
        ("urgent gang of 2 over one of 2", {"held": [0, 0], "began": False}, "the other one STALLED"),
    ],
)
def test_what_did_not_happen_is_shown(stage: str, facts: dict[str, object], shown: str) -> None:
    assert cells(gang_table([sample(stage, "kubernetes", 0, 1.0, **facts)], TITLES)) == [stage, "", shown]


def test_without_gangs_there_is_no_table() -> None:
    assert gang_table([], TITLES) == ""
