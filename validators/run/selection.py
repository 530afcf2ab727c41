"""Which checks a run judges, and which findings of it are accepted beforehand."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.validators.core.check import FAMILIES, Check, natural


def select(checks: Sequence[Check], words: Iterable[str]) -> tuple[Check, ...]:
    """The checks that the words name (id, slug, family letter or family name); all where there is no word.

    Raises:
        InvalidInput: a word names nothing; every such word at once.
    """
    words = tuple(words)
    by_word = _resolve(checks, words)
    chosen = {item.id for items in by_word.values() for item in items}
    return tuple(item for item in checks if item.id in chosen or not words)


def waivers(checks: Sequence[Check], reasons: Mapping[str, str]) -> Mapping[str, str]:
    """Reason by check id, for words as in `select`.

    Raises:
        InvalidInput: a word names nothing, or a reason is empty.
    """
    if silent := [word for word, reason in reasons.items() if not reason.strip()]:
        raise InvalidInput(
            Problem(f"check {word} is waived without a reason.", "a reason, which the report repeats.", "give one.")
            for word in silent
        )
    by_word = _resolve(checks, reasons)
    return {item.id: reasons[word] for word, items in by_word.items() for item in items}


def in_order(checks: Iterable[Check]) -> tuple[Check, ...]:
    """The checks, each behind those that it requires, otherwise by id."""
    by_id = {item.id: item for item in sorted(checks, key=lambda item: natural(item.id))}
    ordered: dict[str, Check] = {}

    def add(item: Check) -> None:
        for need in item.requires:
            if need in by_id and need not in ordered:
                add(by_id[need])
        ordered.setdefault(item.id, item)

    for item in by_id.values():
        add(item)
    return tuple(ordered.values())


def _resolve(checks: Sequence[Check], words: Iterable[str]) -> Mapping[str, tuple[Check, ...]]:
    by_word = {
        word: tuple(
            item
            for item in checks
            if word.lower()
            in {item.id.lower(), item.slug, item.id[0].lower(), item.family, f"{item.id.lower()} {item.slug}"}
        )
        for word in words
    }
    if unknown := [word for word, items in by_word.items() if not items]:
        raise InvalidInput(_unknown(word, checks) for word in unknown)
    return by_word


def _unknown(word: str, checks: Sequence[Check]) -> Problem:
    families = {item.id[0]: FAMILIES[item.id[0]] for item in checks}
    names = [text for item in checks for text in (item.id, item.slug)] + list(families.values())
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    note = f" Did you mean {near[0]}?" if near else ""
    known = ", ".join(f"{item.id} {item.slug}" for item in checks)
    return Problem(
        f"{word!r} is no check and no family.{note}",
        f"one of the families {', '.join(f'{letter} {name}' for letter, name in families.items())}, or of {known}.",
        "correct the name; `kubeflow-volcano list` shows all of them.",
    )
