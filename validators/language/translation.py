"""Translation of texts that checks have written: found in the catalog by their templates, sentence by sentence.

Checks write English sentences with names and numbers in them; reports in other languages translate what they wrote.
A sentence without a translation stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from string import Formatter

from kubeflow_volcano.validators.language.catalog import Catalog, catalog_of, without_needless_spaces

_SENTENCES = re.compile(r"(?<=[.;!?]) ")
_END = re.compile(r"[.;!?]?$")
_ENDS = {"": "", ".": "。", ";": "；", "!": "！", "?": "？"}
_LISTS = ((", ", "、"), (" and ", " 和 "))
_PROSE = re.compile(
    r": |(?:^| )(?:are|because|been|cannot|does|for|has|have|is|its?|no|not|of|so|than|that|the|to|was|were|which|with)"
    r"(?=[ ,]|$)"
)
"""What no name of an object contains, and no number with its noun."""
_TOUCHING = re.compile("[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]")
_DEEPEST = 5
"""Values of templates are texts, too, whose values are texts, and so on."""
_LONGEST = 12
"""Most sentences that one template covers."""


@lru_cache(4096)
def translate(text: str, language: str) -> str:
    """The text in that language, as far as its catalog has it; English as it is."""
    return _translated(text, catalog_of(language), 0, lambda _: None)


def untranslated(text: str, language: str) -> list[str]:
    """Sentences of the text of which the catalog has no translation."""
    missing: list[str] = []
    _translated(text, catalog_of(language), 0, missing.append)
    return missing


def _translated(text: str, catalog: Catalog, depth: int, missing: Callable[[str], None]) -> str:
    if not (catalog.exact or catalog.templates) or not text.strip():
        return text
    sentences = _SENTENCES.split(text)
    parts: list[str] = []
    start = 0
    while start < len(sentences):
        for end in range(min(len(sentences), start + _LONGEST), start, -1):
            if translated := _found(" ".join(sentences[start:end]), catalog, depth):
                parts.append(translated)
                start = end
                break
        else:
            missing(sentences[start])
            parts.append(sentences[start] + (" " if start + 1 < len(sentences) else ""))
            start += 1
    return "".join(parts)


def _found(text: str, catalog: Catalog, depth: int) -> str | None:
    """The translation of one entry of the catalog with its values; None if there is none."""
    plain = text.strip()
    end = _END.search(plain)
    mark = end[0] if end else ""
    bare = plain.removesuffix(mark)
    words = catalog.exact.get(bare) or _listed(bare, catalog, depth) or _by_template(bare, catalog, depth)
    return None if words is None else without_needless_spaces(words + _ENDS[mark])


def _listed(text: str, catalog: Catalog, depth: int) -> str | None:
    """The translation of a list whose items are all texts of the catalog."""
    if depth == _DEEPEST:
        return None
    for separator, joint in _LISTS:
        items = text.split(separator)
        translations = [_found(item, catalog, depth + 1) for item in items] if len(items) > 1 else []
        if translations and all(translations):
            return joint.join(item or "" for item in translations)
    return None


def _by_template(text: str, catalog: Catalog, depth: int) -> str | None:
    if depth == _DEEPEST:
        return None
    for template, translation in catalog.candidates(text):
        values = template.match(text)
        words = {name: _value(name, value, catalog, depth + 1) for name, value in (values or {}).items()}
        if values is not None and None not in words.values():
            return _filled(translation, words)
    return None


def _filled(translation: str, words: Mapping[str, str | None]) -> str:
    """The translation with these values, and a space where a Chinese character would touch a Latin one."""
    parts: list[str] = []
    for literal, name, _, _ in Formatter().parse(translation):
        parts += [literal, words[name] or ""] if name is not None else [literal]
    text = ""
    for part in parts:
        text += (" " if _TOUCHING.search(f"{text[-1:]}{part[:1]}") else "") + part
    return text


def _value(name: str, value: str, catalog: Catalog, depth: int) -> str | None:
    """The value of a placeholder: a text of the catalog, or a name that stays as it is.

    None if it is neither, but a part of another sentence.
    """
    if translation := _found(value, catalog, depth):
        return translation
    if name.startswith("finding"):
        return None
    if not name.startswith(("text", "host")):
        return None if _PROSE.search(value) else value
    return _translated(value, catalog, depth, lambda _: None)
