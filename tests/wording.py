"""Every text of the validators that people read, found in the source, for translations.

    python -m tests.wording [LANGUAGE]

lists what has no translation (Chinese by default): labels of reports, claims and remedies of checks, and the messages
that checks write. Values of f-strings are shown as ⟨1⟩, ⟨2⟩ …
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.places import ROOT
from validators.cli.manual import ALL_CHECKS
from validators.core.check import FAMILIES
from validators.core.consequences import NOT_NEEDED, REASON
from validators.core.outcome import Severity, Status
from validators.core.results import Verdict
from validators.language.catalog import catalog_of
from validators.language.translation import untranslated
from validators.report.summary import WORDS

__all__ = ["claims", "labels", "missing_labels", "missing_texts", "remedies"]

_REPORT = ROOT / "validators" / "report"
_MANUAL = ROOT / "validators" / "cli" / "manual.py"
_LABEL = re.compile(r"""say\((?:"([^"]*)"|'([^']*)')""")
_COUNTED = re.compile(r"""counted\([^']*, '([^']*)'""")
_CHANGES = re.compile(r"""^\{\{ changes\('(\w+)', '\w+', [\w.]+, '([^']*)'""", re.MULTILINE)


def labels() -> set[str]:
    """Headings and labels of reports: in Python, in the pages, and those that are made of words."""
    found = {label for path in (*_REPORT.rglob("*.py"), _MANUAL) for label in _labels_of(path)}
    for path in _REPORT.rglob("*.j2"):
        text = path.read_text(encoding="utf-8")
        found |= {first or second for first, second in _LABEL.findall(text)} - {"{findings} "}
        found |= {f"{{number}} {noun}s" for noun in _COUNTED.findall(text)}
        found |= {label for word, which in _CHANGES.findall(text) for label in (word, f"{{findings}} {which}")}
    found |= {*WORDS.values(), *FAMILIES.values(), *Severity, *Status, *Verdict, "changed", "unchanged", "not begun"}
    found |= {"{number} passed", "{number} failed", "{number} incomplete", "{number} with warnings"}
    return found | {re.sub(r"(?<=[a-z])(?=[A-Z])", " ", reason).lower() for reason in _reasons_of_skips()}


def _labels_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        words = [item.value for item in node.args if isinstance(item, ast.Constant) and isinstance(item.value, str)]
        if node.func.id == "counted":
            yield from (f"{{number}} {noun}s" for noun in words)
        elif node.func.id in {"say", "_head", "_part", "_section"}:
            yield from words


def _reasons_of_skips() -> Iterator[str]:
    yield from (NOT_NEEDED, REASON, "Waived")
    for path in (ROOT / "validators").rglob("*.py"):
        yield from re.findall(r'skipped\(\s*"(\w+)"', path.read_text(encoding="utf-8"))


def claims() -> list[str]:
    """The claims of all checks."""
    return [item.title for item in ALL_CHECKS]


def remedies() -> list[str]:
    """What is said about each check, by paragraph."""
    return [" ".join(part.split()) for item in ALL_CHECKS for part in item.remedy.split("\n\n")]


def missing_labels(language: str) -> list[str]:
    """Labels without a translation."""
    return sorted(label for label in labels() if label not in catalog_of(language).labels)


def missing_texts(texts: Iterable[str], language: str) -> list[str]:
    """Those of these texts of which a sentence has no translation."""
    return [text for text in texts if untranslated(text, language)]


if __name__ == "__main__":
    for line in (
        *missing_labels(*(sys.argv[1:] or ["zh"])),
        *missing_texts([*claims(), *remedies()], *(sys.argv[1:] or ["zh"])),
    ):
        sys.stdout.write(f"{line}\n")
