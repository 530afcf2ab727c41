"""What a pasted text shows: a message, a log, `kubectl describe`, the failure of a task, in any mixture."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.parts import Part, foreign_webhook, parts_named
from kubeflow_volcano.catalog.symptoms.read import ANYWHERE, PLACES, Symptom, matches, symptoms

_MOST_LINES, _MOST_SHOWN, _MOST_ALIKE, _MOST_KINDS = 200, 5, 3, 2
_LEAST_ALIKE, _LEAST_SHARED = 0.45, 2
_GUARDS: Mapping[str, re.Pattern[str]] = {
    place: re.compile(words, re.IGNORECASE)
    for place, words in {
        "pull": r"\bpull|\bimage|registry|\bmanifest (?:unknown|for)|reading manifest|docker\.io"
        r"|/v2/(?:\W|$|\S*(?:manifests|blobs))",
        "sandbox": r"sandbox|\bcni\b|network plugin|plugin type=|networkplugin|\bnetwork\b",
        "create": r"container|oci runtime|\brunc\b|\bruntime\b|exec format|secret|configmap|nvidia",
        "scheduler": r"nodes? (?:are|is) (?:un)?available|node\(s\)|schedul|\bgang\b|\bqueue\b|pod ?group|\bnodes?\b",
        "ssh": r"\bssh\b|unreachable!|host key|sudo|password|\bpython\b|remote|publickey|user|session|socket|port 22",
    }.items()
}
"""Words without which a line was not seen in a place whose patterns are about nothing else, so that they say little."""
_NOTICE = "NoticeOnly"
_CALM = re.compile(
    r"^I\d{4} |\blevel=(?:info|debug)\b|\"(?:level|severity)\": ?\"(?:info|debug)\"|\b(?:INFO|DEBUG)\b|^\[[ID] ",
    re.IGNORECASE,
)
"""Marks of a line that its program does not call an error."""
_WORD = re.compile(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", re.IGNORECASE)
_STOP = frozenset(
    _WORD.findall(
        "the a an is are was were be been to of in on at by for from and or not no it its this that with as has "
        "have had does do did can cannot could would should will if so than then there which who what when where "
        "why how my i we error failed fail get got any all other more see set make one"
    )
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A symptom with what the line names in its texts, and the line that shows it.

    `is_kind`: it is only the kind of the error, which means this in any program.
    """

    symptom: Symptom
    line: str

    @property
    def is_kind(self) -> bool:
        """Whether no message of a known program is in the line."""
        return ANYWHERE in self.symptom.seen

    @property
    def parts(self) -> tuple[Part, ...]:
        """The workloads of the platform that the line names."""
        return parts_named(self.line)

    @property
    def foreign_webhook(self) -> str:
        """The webhook that the line names, if no release has it."""
        return foreign_webhook(self.line)


def shown_by(text: str) -> tuple[Shown, ...]:
    """The symptoms that lines of the text show, each once with its first line.

    General ones count where no other is shown, and lines that are no errors to their program where no other line shows
    anything. Kinds of errors count where no symptom is shown: the first ones of the table, each with its last line, as
    programs name the cause last; a notice where there is nothing else. Where no line shows anything, the text is looked
    at as a whole: a terminal or a form may have wrapped it.
    """
    lines = _lines(text)
    for units in (lines, [" ".join(lines)]):
        if found := _loud(_first_of_each(units, _shown)):
            special = tuple(item for item in found if not item.symptom.general)
            return (special or found)[:_MOST_SHOWN]
    order = {item.id: place for place, item in enumerate(symptoms())}
    for units in (lines[::-1], [" ".join(lines)]):
        if found := _loud(_first_of_each(units, _kind)):
            found = tuple(item for item in found if item.symptom.reason != _NOTICE) or found
            return tuple(sorted(found, key=lambda item: order[item.symptom.id])[:_MOST_KINDS])
    return ()


def _loud(found: tuple[Shown, ...]) -> tuple[Shown, ...]:
    """Those whose line its program does not call a mere information; all of them where each is one."""
    return tuple(item for item in found if not _CALM.search(item.line)) or found


def _first_of_each(units: Iterable[str], look: Callable[[str], Shown | None]) -> tuple[Shown, ...]:
    found: dict[str, Shown] = {}
    for shown in filter(None, map(look, units)):
        found.setdefault(shown.symptom.id, shown)
    return tuple(found.values())


def _kind(line: str) -> Shown | None:
    """The kind of error of a line of which no message is known."""
    found = next(matches(line, [ANYWHERE]), None)
    return Shown(found[0].of(found[1]), line) if found else None


def alike(text: str) -> tuple[Symptom, ...]:
    """The symptoms nearest to a text by the words that they share; none where few are shared. No answer, but a hint."""
    asked = _words(text)
    whole = sum(map(_weight, asked))
    scored = []
    for item, words in _vocabulary()[0]:
        shared = asked & words
        score = sum(map(_weight, shared)) / whole if whole else 0.0
        if len(shared) >= _LEAST_SHARED and score >= _LEAST_ALIKE:
            scored.append((score, -len(words), item))
    scored.sort(key=lambda each: each[:2], reverse=True)
    return tuple(item for _, _, item in scored[:_MOST_ALIKE])


def _lines(text: str) -> list[str]:
    """Lines without doubles, also those within quoted fields; of a long text its beginning and its end."""
    plain = re.sub(r"\\r?\\n|\\n|\r", "\n", text).replace('\\"', '"').replace("\\t", " ")
    lines = list(dict.fromkeys(line for line in map(str.strip, plain.splitlines()) if line))
    half = _MOST_LINES // 2
    return lines if len(lines) <= _MOST_LINES else lines[:half] + lines[-half:]


def _shown(line: str) -> Shown | None:
    """The symptom that most of the line's words speak for, of all places where it may have been seen."""
    places = [place for place in PLACES if place not in _GUARDS or _GUARDS[place].search(line)]
    found = list(matches(line, places))
    firsts = [next((pair for pair in found if place in pair[0].seen), None) for place in places]
    best = max(filter(None, firsts), key=lambda pair: (not pair[0].general, len(pair[1][0])), default=None)
    return Shown(best[0].of(best[1]), line) if best else None


@cache
def _vocabulary() -> tuple[tuple[tuple[Symptom, frozenset[str]], ...], Counter[str]]:
    """The words of each symptom, and in how many each word is."""
    found = tuple(
        (item, frozenset(_words(" ".join([item.example, item.cause, item.id.replace("-", " ")]))))
        for item in symptoms()
    )
    return found, Counter(word for _, words in found for word in words)


def _weight(word: str) -> float:
    vocabulary, counts = _vocabulary()
    return math.log((len(vocabulary) + 1) / (counts[word] + 1))


def _words(text: str) -> set[str]:
    return {word for word in map(str.lower, _WORD.findall(text)) if len(word) > 1 and word not in _STOP}
