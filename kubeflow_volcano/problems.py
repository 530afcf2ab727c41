"""Problems in three parts (found, needed, what to do), and exit codes. Every package may import them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Self

from kubeflow_volcano.text import visible


class Exit(IntEnum):
    """Exit codes shared by every command (DESIGN, section 8)."""

    OK = 0
    CHECK_FAILED = 1
    INVALID_INPUT = 2
    INCOMPLETE = 3
    WARNINGS = 4
    BUSY = 5
    LEFTOVERS = 6
    REPORT_NOT_WRITTEN = 7
    INTERRUPTED = 130
    TERMINATED = 143


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem in three sentences: what was found (and where), what is needed (and why), what to do.

    Who finds a problem may not know what its caller offers against it, such as variables of an inventory. It then gives
    a `reason`, in one word, and `details` by name, of which the caller makes a hint.
    """

    found: str
    needed: str
    todo: str
    reason: str = ""
    details: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return visible(f"Found: {self.found} Needed: {self.needed} Do: {self.todo}")

    def as_dict(self) -> dict[str, str]:
        """The three sentences as plain data."""
        return {"found": self.found, "needed": self.needed, "todo": self.todo}

    def hinted(self, hints: Mapping[str, str]) -> Problem:
        """The problem with the hint for its reason, if there is one, added to what to do, in place of its details."""
        if self.reason not in hints:
            return self
        hint = hints[self.reason].format_map(self.details)
        return Problem(self.found, self.needed, f"{self.todo} {hint}")


class ProblemsError(Exception):
    """Work cannot continue. Carries every problem that was found, not only the first."""

    exit_code = Exit.CHECK_FAILED

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    @classmethod
    def problem(cls, found: str, needed: str, todo: str) -> Self:
        """The error with this one problem."""
        return cls(Problem(found, needed, todo))

    def describe(self) -> str:
        """The problems as text: one line per part, numbered if there are several."""
        lines = []
        for number, problem in enumerate(self.problems, start=1):
            mark = f"{number}. " if len(self.problems) > 1 else ""
            indent = " " * len(mark)
            lines += [
                f"{mark}Found: {problem.found}",
                f"{indent}Needed: {problem.needed}",
                f"{indent}Do: {problem.todo}",
            ]
        return visible("\n".join(lines))


class InvalidInput(ProblemsError):  # noqa: N818  reads as what it states
    """An inventory, option or data file is invalid; raised before the first change."""

    exit_code = Exit.INVALID_INPUT


class Unreachable(ProblemsError):  # noqa: N818  as above
    """The API server did not answer, or rejected the credentials."""

    exit_code = Exit.INCOMPLETE


class NotWritten(ProblemsError):  # noqa: N818  as above
    """A report or plan cannot be written: the disk is full, or permission is denied."""

    exit_code = Exit.REPORT_NOT_WRITTEN


class Busy(ProblemsError):  # noqa: N818  as above
    """Another run holds the lock."""

    exit_code = Exit.BUSY


@contextlib.contextmanager
def collecting(problems: list[Problem]) -> Iterator[None]:
    """Add the problems of an InvalidInput to `problems`, and continue after the block."""
    try:
        yield
    except InvalidInput as error:
        problems += error.problems
