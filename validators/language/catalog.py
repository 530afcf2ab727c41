"""Catalogs of translations: data files beside this module, a folder for each language.

An entry is a pair of a text in English, as the code or a check's docstring has it, and its translation. Values are
placeholders in braces. What a placeholder may contain follows from its name:

- `number`, `number2` …: digits only, so that `{number} pods` does not match other words;
- `check`, `checks` …: ids of checks;
- `ref`: kind and name of an object, `Pod ns/a`; `namespace`: one name;
- `hosts`: names of hosts, each with its details in parentheses;
- `finding`: texts of the catalog only;
- `text`, `text2` …: anything, also several sentences;
- any other name: names, numbers, lists of them, or again a text of the catalog; no part of another sentence.

A dot at the end belongs to neither: whether one follows is decided by the text that is translated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from string import Formatter

import yaml

ENGLISH = "en"
LANGUAGES: Mapping[str, str] = {ENGLISH: "en", "zh": "zh-CN"}
"""Language that a person may choose, to its tag in HTML (BCP 47)."""

_LABELS = "labels.yaml"
"""The file of headings and labels of reports, which are looked up whole."""
_WIDE = "\u2e80-\u9fff\uff00-\uffef"
_NEEDLESS = re.compile(rf"(?<=[{_WIDE}]) +(?=[{_WIDE}])|(?<=[，。；：、！？（）]) +| +(?=[，。；：、！？（）])")
_CHECKS = re.compile(r"[A-Z]\d+(?:, [A-Z]\d+)*")
_NAME = re.compile(r"[^\s,]+")
_REF = re.compile(r"[A-Z]\w+ \S+")
_HOST = r"[\w.-]+(?: \([^()]*(?:\([^()]*\)[^()]*)*\))?"
_HOSTS = re.compile(rf"{_HOST}(?:, {_HOST})*(?: and \d+ more)?|all \d+ hosts")
_WORDS = re.compile(r"\w+")
_CUT = "x"
"""Stands for what is beside a literal, so that a word at its edge does not count as a whole one."""
_WHOLE_WORDS = re.compile(r"(?<=\W)\w+(?=\W)")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_END = ".。"
_ENDS_OF_SENTENCES = (". ", "; ", "! ", "? ")


@dataclass(frozen=True)
class Template:
    """A text with placeholders: `literals[0] {names[0]} literals[1] …`, one more literal than names."""

    literals: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Template:
        """Parse `text`; doubled braces are literal ones, as in str.format.

        Raises:
            ValueError: braces that are not balanced.
        """
        literals, names = [""], []
        for literal, name, _, _ in Formatter().parse(text):
            literals[-1] += literal
            if name is not None:
                names.append(name)
                literals.append("")
        return cls(tuple(literals), tuple(names))

    @property
    def weight(self) -> int:
        """Number of literal characters: of several templates that match, the heaviest says most."""
        return sum(map(len, self.literals))

    @property
    def word(self) -> str:
        """A word that every text of this template contains, the longest; empty if it has none."""
        words = [word for literal in self.literals for word in _WHOLE_WORDS.findall(f"{_CUT}{literal}{_CUT}")]
        return max(words, key=len, default="")

    def match(self, text: str) -> dict[str, str] | None:
        """Values of the placeholders with which the template is `text`; None if it is not.

        Each literal is taken where it first occurs, so that the time is linear in the length of the text.
        """
        first, *middle = self.literals
        if not middle:
            return {} if text == first else None
        last = middle.pop()
        end = len(text) - len(last)
        if not (text.startswith(first) and text.endswith(last) and len(first) <= end):
            return None
        values, start = [], len(first)
        for number, literal in enumerate(middle, start=1):
            # Names of hosts contain no colon; what is found on them may.
            find = text.rfind if self.names[number].startswith("host") else text.find
            position = find(literal, start, end)
            if position < 0:
                return None
            values.append(text[start:position])
            start = position + len(literal)
        values.append(text[start:end])
        pairs = dict(zip(self.names, values, strict=True))
        return pairs if all(_may_be(name, value) for name, value in pairs.items()) else None


def _may_be(name: str, value: str) -> bool:
    if name.startswith("number"):
        return value.replace(".", "").isdigit()
    if name.startswith("namespace"):
        return _NAME.fullmatch(value) is not None
    if name.startswith("ref"):
        return _REF.fullmatch(value) is not None
    if name.startswith("check"):
        return _CHECKS.fullmatch(value) is not None
    if name.startswith("host"):
        return _HOSTS.fullmatch(value) is not None
    return name.startswith(("text", "finding")) or not any(end in value for end in _ENDS_OF_SENTENCES)


@dataclass(frozen=True)
class Catalog:
    """The translations of one language."""

    labels: Mapping[str, str]
    """Headings and labels of reports, by their English text."""
    exact: Mapping[str, str]
    """Texts without placeholders, by their English text."""
    templates: tuple[tuple[Template, str], ...]
    """Texts with placeholders, the heaviest first, each with its translation for str.format."""

    @cached_property
    def _by_word(self) -> Mapping[str, Sequence[int]]:
        by_word: dict[str, list[int]] = {}
        for number, (template, _) in enumerate(self.templates):
            by_word.setdefault(template.word, []).append(number)
        return by_word

    def candidates(self, text: str) -> Iterator[tuple[Template, str]]:
        """Templates that share a word with the text, the heaviest first."""
        words = {"", *_WORDS.findall(text)}
        numbers = sorted(number for word in words for number in self._by_word.get(word, ()))
        return (self.templates[number] for number in numbers)


def without_needless_spaces(text: str) -> str:
    """The text without spaces between Chinese characters and beside their punctuation, as where a line was folded."""
    return _NEEDLESS.sub("", text)


@cache
def catalog_of(language: str) -> Catalog:
    """The catalog of a language; that of English is empty.

    Raises:
        ValueError: an entry has no English text or no translation, or one text has two.
    """
    labels: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name, english, translation in _entries(language):
        target = labels if name == _LABELS else texts
        key, words = (english, translation) if name == _LABELS else (english.rstrip(_END), translation.rstrip(_END))
        if target.setdefault(key, words) != words:
            raise ValueError(f"{language}/{name}: two translations of {english!r}")
    templates = [(Template.of(english), translation) for english, translation in texts.items()]
    with_values = sorted((pair for pair in templates if pair[0].names), key=lambda pair: -pair[0].weight)
    exact = {template.literals[0]: words.format() for template, words in templates if not template.names}
    return Catalog(labels, exact, tuple(with_values))


def _entries(language: str) -> Iterator[tuple[str, str, str]]:
    """Name of the file, English text and translation of each entry."""
    if language == ENGLISH:
        return
    folder = files("kubeflow_volcano.validators.language") / language
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if not path.name.endswith(".yaml"):
            continue
        for entry in yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER) or ():  # noqa: S506  a safe loader
            if set(entry) != {ENGLISH, language} or not all(isinstance(item, str) and item for item in entry.values()):
                raise ValueError(f"{language}/{path.name}: not a pair of texts: {entry}")
            yield path.name, entry[ENGLISH], without_needless_spaces(entry[language])
