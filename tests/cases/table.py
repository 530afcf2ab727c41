"""docs/cases.md: every case with where it was seen and whether it is answered rightly, and the score."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.cases.case import FIRST, KINDS, Case, cases

PAGE = Path("docs/cases.md")
_HEAD = """\
<!-- `make generate` writes this page from the folders of tests/cases. -->
# Cases from the field

Situations that people reported in public, made again in their smallest form with other words and values, each with the
answer that the thread found or the program's source gives. `tests/cases` asks the project about each of them: a
manifest before it is created, a job on a rehearsal cluster, facts of a cluster on which the fault is planted, a plan, a
message. An answer is right if it names the cause, the object and the remedy, and blames nothing else.
"""
_ISSUE = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


def rendered(found: Sequence[Case]) -> str:
    """The page about these cases."""
    return "\n".join(_lines(found)) + "\n"


def generated() -> Iterator[tuple[Path, str]]:
    """The page about all cases."""
    yield PAGE, rendered(cases())


def _lines(found: Sequence[Case]) -> Iterator[str]:
    yield _HEAD
    yield "| kind | cases | right | not yet |"
    yield "| --- | ---: | ---: | ---: |"
    for kind in KINDS:
        yield _score(kind, [case for case in found if case.kind == kind])
    yield _score("all", found)
    yield from _first([case for case in found if case.first])
    for kind, title in KINDS.items():
        yield from ("", f"## {title}", "", "| situation | seen in | answer |", "| --- | --- | --- |")
        for case in found:
            if case.kind == kind:
                references = ", ".join(
                    _ISSUE.sub(r"[\1#\2](https://github.com/\1/issues/\2)", each) for each in case.references
                )
                answer = f"not yet: {case.open}" if case.open else "right"
                yield f"| {case.situation} | {references} | {answer}{f' (first {case.first})' if case.first else ''} |"


def _first(found: Sequence[Case]) -> Iterator[str]:
    """The score of those whose first answer is known, then and now."""
    if found:
        then = ", ".join(f"{sum(case.first == word for case in found)} {word}" for word in FIRST)
        now = sum(not case.open for case in found)
        yield from ("", f"The first answers to {len(found)} of them, before anything was changed for them: {then}.")
        yield f"Now {now} of these {len(found)} are answered rightly."
    for name in sorted({case.round for case in found if case.round}, key=int):
        of_it = [case for case in found if case.round == name]
        then = ", ".join(f"{sum(case.first == word for case in of_it)} {word}" for word in FIRST)
        now = sum(not case.open for case in of_it)
        yield ""
        yield f"Round {name}, {len(of_it)} unseen reports, all written before one was tried: {then}; now {now} right."


def _score(title: str, found: Sequence[Case]) -> str:
    right = sum(not case.open for case in found)
    return f"| {title} | {len(found)} | {right} | {len(found) - right} |"
