"""What a pasted text shows: a message, a log, `kubectl describe`, the failure of a task, in any mixture."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.parts import Part, parts_named, webhook_named
from kubeflow_volcano.catalog.symptoms.logs import telling
from kubeflow_volcano.catalog.symptoms.read import ANYWHERE, PLACES, Symptom, matches, symptoms, uncoloured

_MOST_LINES, _MOST_SHOWN, _MOST_ALIKE, _MOST_KINDS = 200, 5, 3, 2
_LEAST_ALIKE, _LEAST_SHARED, _LEAST_SAID = 0.45, 2, 3
_GUARDS: Mapping[str, re.Pattern[str]] = {
    place: re.compile(words, re.IGNORECASE)
    for place, words in {
        "pull": r"\bpull|ErrImage|ImagePull|\bimages? \"?[\w.-]+[./:@]|\bresolve (?:reference|image)"
        r"|\bmanifest (?:unknown|for)|reading manifest|docker\.io|access to the resource"
        r"|/v2/(?:\W|$|\S*(?:manifests|blobs))",
        "sandbox": r"sandbox|\bcni\b|network plugin|plugin type=|networkplugin|\bnetwork\b",
        "create": r"container|oci runtime|\brunc\b|\bruntime\b|exec format|secret|configmap|nvidia",
        "scheduler": r"nodes? (?:are|is) (?:un)?available|node\(s\)|schedul|\bgang\b|\bqueue\b|pod ?group|\bnodes?\b",
        "ssh": r"\bssh|unreachable!|host key|\bsudo\b|password|interpreter|publickey|kex_|shared connection|port 22\b",
    }.items()
}
"""Words without which a line was not seen in a place whose patterns are about nothing else, so that they say little."""
_NOTICE = "NoticeOnly"
_CALM = re.compile(
    r"^I\d{4} |\blevel=(?:info|debug)\b|\"(?:level|severity)\": ?\"(?:info|debug)\"|\b(?:INFO|DEBUG)\b|^\[[ID] ",
    re.IGNORECASE,
)
"""Marks of a line that its program does not call an error."""
_OF_PATTERN = re.compile(r"\\(.)|\[\^?(?:\\.|[^\]\\])*\]|\(\?p<\w+>|\{[\d,]+\}|[()|?*+.^$:]")
"""What is no word in a pattern; the first group is a character behind a backslash."""
_WORD = re.compile(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", re.IGNORECASE)
_STOP = frozenset(
    _WORD.findall(
        "the a an is are was were be been to of in on at by for from and or not no it its this that with as has "
        "have had does do did can cannot could would should will if so than then there which who what when where "
        "why how my i we error failed fail get got any all other more see set make one"
    )
)

_ENDING = frozenset(
    _WORD.findall(
        "command container process program job pod task step terminated exited ended exit status code with level msg "
        "warning reason message state last"
    )
)
"""Words that say that something ended, and not why."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A symptom with what the line names in its texts, and the line that shows it.

    `is_kind`: it is only the kind of the error, which means this in any program. `said` is what of the line shows it.
    """

    symptom: Symptom
    line: str
    said: str

    @property
    def is_kind(self) -> bool:
        """Whether no message of a known program is in the line."""
        return ANYWHERE in self.symptom.seen

    @property
    def parts(self) -> tuple[Part, ...]:
        """The workloads of the platform that the line names."""
        return parts_named(self.line)

    @property
    def webhook(self) -> str:
        """The webhook that the line names; no release has it if there are no parts."""
        return webhook_named(self.line)


def shown_by(text: str) -> tuple[Shown, ...]:
    """The symptoms that lines of the text show, each once with its first line.

    General ones count where no other is shown, and lines that are no errors to their program where no other line shows
    anything. Kinds of errors count where no symptom is shown: the first ones of the table, each with its last line, as
    programs name the cause last. What only followed from a cause counts after these, a notice where there is nothing
    else. Where no line shows anything, the text is looked at as a whole: a terminal or a form may have wrapped it.
    """
    lines = _lines(text)
    whole = [" ".join(lines)]
    found = _loud(_first_of_each(lines, _shown) or _first_of_each(whole, _shown))
    if causes := tuple(item for item in found if not item.symptom.consequence):
        special = tuple(item for item in causes if not item.symptom.general)
        return (special or causes)[:_MOST_SHOWN]
    order = {item.id: place for place, item in enumerate(symptoms())}
    explained = {item.line for item in found}
    others = [line for line in reversed(lines) if line not in explained]
    kinds = _loud(_first_of_each(others, _kind) or (() if found else _first_of_each(whole, _kind)))
    kinds = tuple(sorted(kinds, key=lambda item: order[item.symptom.id]))
    errors = tuple(item for item in kinds if item.symptom.reason != _NOTICE)
    causes = tuple(item for item in errors if not item.symptom.consequence)
    return causes[:_MOST_KINDS] or found[:_MOST_SHOWN] or (errors or kinds)[:_MOST_KINDS]


def unexplained(text: str, shown: Collection[Shown]) -> str:
    """The line that says most of the cause, where all that is shown only followed from it; empty where none does."""
    if not all(item.symptom.consequence for item in shown):
        return ""
    lines = _lines(text)
    said = {line: _without(line, shown) for line in lines}
    return telling(
        [line for line in lines if telling([said[line]]) and len(_words(said[line]) - _ENDING) >= _LEAST_SAID]
    )


def _without(line: str, shown: Iterable[Shown]) -> str:
    """What of a line is not said by what is shown: all but the kind of an error, or nothing of its line."""
    for item in shown:
        line = line.replace(item.said, " ") if item.is_kind else line.replace(item.line, "")
    return line


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
    return Shown(found[0].of(found[1]), line, found[1][0]) if found else None


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
    plain = re.sub(r"\\r?\\n|\\n|\r", "\n", uncoloured(text)).replace('\\"', '"').replace("\\t", " ")
    lines = list(dict.fromkeys(line for line in map(str.strip, plain.splitlines()) if line))
    half = _MOST_LINES // 2
    return lines if len(lines) <= _MOST_LINES else lines[:half] + lines[-half:]


def _shown(line: str) -> Shown | None:
    """The symptom that most of the line's words speak for, of all places where it may have been seen."""
    places = [place for place in PLACES if place not in _GUARDS or _GUARDS[place].search(line)]
    found = list(matches(line, places))
    firsts = [next((pair for pair in found if place in pair[0].seen), None) for place in places]
    best = max(filter(None, firsts), key=lambda pair: (not pair[0].general, _spoken(pair[1])), default=None)
    return Shown(best[0].of(best[1]), line, best[1][0]) if best else None


def _spoken(found: re.Match[str]) -> int:
    """How much of what was found the pattern itself names: what stands for any text says nothing."""
    said = found[0].lower()
    return sum(len(word) for word in _named(found.re.pattern) if word in said)


@cache
def _named(pattern: str) -> frozenset[str]:
    """The words of a pattern, without what stands for any text."""
    plain = _OF_PATTERN.sub(lambda part: part[1] if part[1] and not part[1].isalnum() else " ", pattern.lower())
    return frozenset(word for word in plain.split() if len(word) > 1)


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
