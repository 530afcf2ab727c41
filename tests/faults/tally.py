"""Counts of fault cases over many runs, and the table of docs/reliability.md."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tests.faults.cases import CASES


@dataclass(frozen=True)
class Ran:
    """One test of some cases, run once."""

    cases: Sequence[int]
    turn: int
    test: str
    seconds: float
    failed: str = ""
    """`wrong` for a verdict or message, `traceback` for an exception that reached a person."""
    left: Sequence[str] = ()
    told: str = ""
    """What a failure says, shortened."""

    def as_dict(self) -> dict[str, Any]:
        """As a line of a record."""
        return asdict(self)


@dataclass
class Line:
    """A case over all its runs. A run is all tests of the case, each once."""

    case: int
    tests: int = 0
    seconds: list[float] = field(default_factory=list)
    wrong: int = 0
    left: int = 0
    tracebacks: int = 0
    late: int = 0

    @property
    def spoilt(self) -> bool:
        """Whether anything at all is to be explained."""
        return bool(self.wrong or self.left or self.tracebacks or self.late)


def summarize(runs: Iterable[Ran]) -> list[Line]:
    """A line for every case that ran, in their order; a run that not all tests of the case reached does not count."""
    rounds: dict[int, dict[str, dict[int, Ran]]] = defaultdict(lambda: defaultdict(dict))
    for ran in runs:
        test = ran.test.replace(f"turn{ran.turn}", "turn")
        for case in ran.cases:
            known = rounds[case][test]
            known[len(known)] = ran
    return [_line(case, rounds[case]) for case in sorted(rounds)]


def _line(case: int, tests: Mapping[str, Mapping[int, Ran]]) -> Line:
    whole = min(len(each) for each in tests.values())
    line = Line(case, len(tests))
    for each in tests.values():
        for ran in each.values():
            line.wrong += ran.failed == "wrong"
            line.tracebacks += ran.failed == "traceback"
            line.left += len(ran.left)
            line.late += ran.seconds > CASES[case].seconds
    line.seconds = [sum(each[number].seconds for each in tests.values()) for number in range(whole)]
    return line


_HEAD = ("case", "fault", "tests", "runs", "wrong verdicts", "late", "leftovers", "tracebacks", "median s", "longest s")


def render(lines: Sequence[Line]) -> str:
    """A Markdown table."""
    rows = [_HEAD, ("---:", "---", *("---:",) * (len(_HEAD) - 2))]
    for line in lines:
        seconds = (f"{statistics.median(line.seconds):.1f}", f"{max(line.seconds):.1f}") if line.seconds else ("", "")
        counts = (line.tests, len(line.seconds), line.wrong, line.late, line.left, line.tracebacks)
        rows.append((str(line.case), CASES[line.case].title, *map(str, counts), *seconds))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
