"""The line of a log that says why its program ended: seldom the last one, which is often a frame of a stack."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kubeflow_volcano.catalog.symptoms.read import Symptom, recognise, symptoms

_MOST_LINES, _MOST_CHARACTERS = 60, 1000
_FRAME = re.compile(
    r"""
    \s*(?:
      goroutine\ \d+\ | created\ by\ | \[signal\ | \[recovered\] | r\d+\s+0x | exit\ status\ \d+$ | signal:\ \w+$
    | \S+\.(?:go|s|rs|c|cc|cpp|h):\d+(?::\d+)?(?:\ \+0x[0-9a-f]+)?$
    | \S*[\w)\]]\((?:0x[0-9a-f]+\??|\{|\.\.\.|_|[,\ ?})])*[^()]*\)$
    | @\ +0x[0-9a-f]+ | \#\d+\ +(?:0x|[\w/]) | \*\*\*
    | at\ [\w.$<>/\ ]+\( | \.\.\.\ \d+\ (?:more|common\ frames) | File\ ".*",\ line\ \d+
    | Traceback\ \(most\ recent | During\ handling\ of | The\ above\ exception | note:\ run\ with\ `RUST_BACKTRACE
    | stack\ backtrace: | [~^\s]+$
    )""",
    re.VERBOSE,
)
"""Frames of stacks of Go, C++ (glog), Java, Python and Rust, and the lines around them."""
_LAST_WORD = re.compile(
    r'^F\d{4} |\bpanic: |"(?:level|severity)":\s*"(?:fatal|panic)"|\blevel=(?:fatal|panic)|\bFATAL\b|\tfatal\t|'
    r"^[\w.]*(?:Error|Exception)(?:: |$)|^fatal error: "
)
_TROUBLE = re.compile(
    r"error|fail|fatal|panic|denied|refused|unable|cannot|can't|could ?n[o']t|invalid|illegal|no such|exception|must |"
    r"not (?:found|permitted|supported|exist|running|allowed|enough)|kill|abort|corrupt|time[sd]? ?out|duplicate|"
    r"exceed|missing|unsupported|unknown|exec format|no space|too many|unexpected|already|forbidden|unauthorized|warn|"
    r"expired|mismatch|crash",
    re.IGNORECASE,
)


def last_words(log: str) -> tuple[str, Symptom | None]:
    """The line that says most of why the program ended, and the symptom that it shows; empty for an empty log.

    The line of a symptom that is known, else the last one of a program that gives up (panic, fatal, an exception), the
    last one about trouble, the last one that is no frame of a stack, or the last one.
    """
    if found := _found(log):
        symptom, line = found
        return line, symptom
    lines = [line for line in map(str.strip, log.splitlines()) if line]
    plain = [line for line in lines if not _FRAME.match(line)]
    return (telling(plain) or next(reversed(plain or lines), ""))[:_MOST_CHARACTERS], None


def telling(lines: Sequence[str]) -> str:
    """The last line of a program that gives up, else the last one about trouble; empty where none is."""
    last = [line for line in lines if _LAST_WORD.search(line)] or [line for line in lines if _TROUBLE.search(line)]
    return last[-1] if last else ""


def _found(log: str) -> tuple[Symptom, str] | None:
    """The first symptom of the table that a line shows, and its last such line."""
    said = dict.fromkeys(line[:_MOST_CHARACTERS] for line in map(str.strip, log.splitlines()) if _is_said(line))
    shown = [(found, line) for line in list(said)[-_MOST_LINES:] if (found := recognise(line, "exit"))]
    order = {item.id: place for place, item in enumerate(symptoms())}
    return min(reversed(shown), key=lambda pair: order[pair[0].id], default=None)


def _is_said(line: str) -> bool:
    return bool(line) and not _FRAME.match(line) and bool(_TROUBLE.search(line) or _LAST_WORD.search(line))
