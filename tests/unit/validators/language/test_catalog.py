"""Catalogs of translations: every entry is whole, and templates match what they should and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from string import Formatter

import pytest
import yaml

from kubeflow_volcano.validators.language.catalog import ENGLISH, LANGUAGES, Template, catalog_of
from tests.places import ROOT

OTHERS = [language for language in LANGUAGES if language != ENGLISH]


def entries(language: str) -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "validators" / "language" / language).glob("*.yaml")):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
            yield entry[ENGLISH], entry[language]


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_placeholders_of_its_text_and_none_twice(language: str) -> None:
    found = list(entries(language))
    assert len(found) > 300
    assert [pair for pair in found if names(pair[0]) != names(pair[1]) or "" in names(pair[0])] == []
    assert [text for text, _ in found if len(Template.of(text).names) != len(names(text))] == []


@pytest.mark.parametrize("language", OTHERS)
def test_two_values_have_words_between_them(language: str) -> None:
    templates = [template for template, _ in catalog_of(language).templates]
    assert templates
    assert [template for template in templates if "" in template.literals[1:-1]] == []


@pytest.mark.parametrize("language", OTHERS)
def test_no_template_is_so_short_that_it_matches_everything(language: str) -> None:
    limited = ("number", "check", "finding")
    free = [
        item for item, _ in catalog_of(language).templates if not any(name.startswith(limited) for name in item.names)
    ]
    letters = {item: sum(letter.isalpha() for letter in "".join(item.literals)) for item in free}
    assert letters
    assert [item for item, number in letters.items() if number < 2] == []


def test_english_needs_no_catalog() -> None:
    assert catalog_of(ENGLISH).templates == ()


@pytest.mark.parametrize(
    ("template", "text", "values"),
    [
        ("{number} pods", "3 pods", {"number": "3"}),
        ("{number} pods", "no pods", None),
        ("{kind} is {state}", "Job is Failed", {"kind": "Job", "state": "Failed"}),
        ("{kind} is {state}", "Job is Failed. Pod is Running", None),
        ("because of {text}", "because of a. And b.", {"text": "a. And b."}),
        ("{check}: {text}", "D1: a. b", {"check": "D1", "text": "a. b"}),
        ("{check}: {text}", "Error: a", None),
        ("no values", "no values", {}),
        ("no values", "no value", None),
        ("{a} in {b} in {c}", "x in y in z", {"a": "x", "b": "y", "c": "z"}),
        ("braces {{x}} of {name}", "braces {x} of y", {"name": "y"}),
        ("ends {name} so", "ends so", None),
    ],
)
def test_what_a_template_matches(template: str, text: str, values: dict[str, str] | None) -> None:
    assert Template.of(template).match(text) == values
