"""Words that read as translated, in what people read: messages, claims, docstrings, variables, docs.

    python -m tests.language [PATH...]

lists them with a plainer word for each; the unit test of the same name expects none. A line that means one of them
literally (the user `nobody`, say) ends in a comment with `plain:` and the reason.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.places import ROOT

PLAINER: Mapping[str, str] = {
    r"anew": "again, recreated, restarted",
    r"(?:no|some|every)body(?:'s| else(?:'s)?)?": "name the program, controller or user",
    r"who(?:m)?ever": "name the program, controller or user",
    r"(?:is|are|was|were|be|been|being|gets?) told": "is reported, is set",
    r"tells? (?:of|by|what|how|whether|which|who|why|where|that|no|nothing|the)": "says, shows, reports",
    r"told (?:by|of|in|once|twice|apart|from|to|as|with|what|where|whether|how|here|there)": "reported, set",
    r"stands? (?:for itself|in the way|beside|there|out|at|on|in(?! for)|behind|above|below|under)": "is",
    r"(?:is|are|was|were) held (?:against|to be)": "is compared with, counts as",
    r"held against": "compared with",
    r"goes? with": "is compatible with, belongs to",
    r"(?:is|are|was|were|be) asked for": "is requested, desired",
    r"asks? for(?! (?:a|the|its) password)": "requests",
    r"wants? (?:to|of|a|an|the|its|no|one|more|from|it|them)": "requires, needs",
    r"of no use": "failed, unusable",
    r"(?:is|are|was|were|be) taken away": "is deleted",
    r"takes? away": "deletes",
    r"strangers?": "unauthenticated request; ServiceAccount of another profile",
    r"wakes?|waker|woken": "notifies, notifier",
    r"short of a member": "below minMember",
    r"told to gang": "gang scheduling enabled",
    r"(?:take|takes|taken) offence": "ban",
    r"(?:is|are) shut": "is blocked",
    r"manners": "rate limit",
    r"frontier": "ready queue",
}
"""Pattern of words to what says the same plainly."""

_WORDS = re.compile(rf"\b(?:{'|'.join(f'(?:{pattern})' for pattern in PLAINER)})\b", re.IGNORECASE)
_BROKEN = re.compile(r"""["']\s*\n\s*[frFR]?["']""")
"""Between the parts of a string that is written on several lines."""
_PYTHON = ("gang_demo", "kubeflow_volcano", "plugins", "validators")
_PROSE = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "Makefile",
    "docs/*.md",
    "inventory/**/*.yml",
    "kubeflow_volcano/**/*.json",
    "kubeflow_volcano/**/*.yaml",
    "playbooks/*.yml",
    "roles/*/README.md",
    "roles/*/defaults/*.yml",
    "roles/*/meta/*.yml",
    "roles/*/tasks/*.yml",
    "validators/report/page/*",
    "validators/schemas/*.json",
)


class Use(NamedTuple):
    """Words that read as translated: their line, what says the same plainly, and the text around them."""

    line: int
    words: str
    plainer: str
    around: str


def places() -> list[Path]:
    """Every file of the product that people read, or whose strings they read."""
    found = [path for top in _PYTHON for path in (ROOT / top).rglob("*.py")]
    return sorted({*found, *(path for pattern in _PROSE for path in ROOT.glob(pattern))})


def uses(path: Path) -> Iterator[Use]:
    """The words of the list in that file."""
    text = path.read_text(encoding="utf-8")
    if not _WORDS.search(_BROKEN.sub("", text)):  # strings of a module are found by parsing it, which takes long
        return
    lines = text.splitlines()
    for number, piece in _strings(text) if path.suffix == ".py" else enumerate(lines, 1):
        for match in _WORDS.finditer(piece):
            line = number + piece[: match.start()].count("\n")
            if "plain:" not in lines[line - 1]:
                around = piece[max(0, match.start() - 40) : match.end() + 40]
                yield Use(line, match[0], _plainer(match[0]), " ".join(around.split()))


def _plainer(words: str) -> str:
    return next(better for pattern, better in PLAINER.items() if re.fullmatch(pattern, words, re.IGNORECASE))


def _strings(text: str) -> Iterator[tuple[int, str]]:
    """Strings that have several words, with the line where each begins; names and keys have one."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            yield node.lineno, node.value


def main(names: list[str]) -> int:
    """Print what is found below the given paths, or everywhere."""
    chosen = [(Path.cwd() / name).resolve() for name in names]
    found = 0
    for path in places():
        if chosen and not any(path.is_relative_to(place) for place in chosen):
            continue
        for use in uses(path):
            found += 1
            sys.stdout.write(f"{path.relative_to(ROOT)}:{use.line}: {use.words} ({use.plainer}): {use.around}\n")
    sys.stdout.write(f"{found} in all\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
