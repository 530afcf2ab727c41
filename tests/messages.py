"""The part of docs/troubleshooting.md that follows from the table of symptoms, by the words that people paste."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.catalog.data import HOME, load
from kubeflow_volcano.catalog.symptoms.read import Symptom, symptoms
from kubeflow_volcano.validators.language.catalog import ENGLISH
from kubeflow_volcano.validators.language.translation import translate
from tests.places import ROOT

_PAGES = {"docs/troubleshooting.md": ENGLISH, "docs/zh-CN/troubleshooting.md": "zh"}
_BEGIN, _END = "<!-- messages: python -m tests.generate -->\n", "<!-- end of messages -->\n"
_LABELS = {
    ENGLISH: {
        "also": "Also as",
        "look": "See also",
        "read": "Reported in",
        "releases": "Kubeflow",
        "stop": ".",
        "comma": ", ",
    },
    "zh": {"also": "也写作", "look": "查看", "read": "参考", "releases": "Kubeflow", "stop": "。", "comma": "、"},
}
_MOST_CHARACTERS = 80
_PLAIN = re.compile(r"[\w ,:;'\"=<>/-]+").fullmatch
"""A pattern that is a text."""


def generated() -> Iterator[tuple[Path, str]]:
    """The pages with every symptom of the table."""
    for page, language in _PAGES.items():
        before, _, rest = (ROOT / page).read_text("utf-8").partition(_BEGIN)
        after = rest.partition(_END)[2]
        yield Path(page), f"{before}{_BEGIN}{_messages(language)}\n{_END}{after}"


def words_of(symptom: Symptom) -> str:
    """The part of the example by which the symptom is recognised."""
    found = (re.search(pattern, symptom.example, re.IGNORECASE | re.DOTALL) for pattern in symptom.patterns)
    text = " ".join(next(item[0] for item in found if item).strip(" :;,.([").split())
    if len(text) <= _MOST_CHARACTERS:
        return text
    half = _MOST_CHARACTERS // 2
    return f"{text[:half].rpartition(' ')[0]} … {text[-half:].partition(' ')[2]}".strip(" …")


def _messages(language: str) -> str:
    known = {item.id: item for item in symptoms()}
    parts = []
    for path in sorted((HOME / "symptoms").glob("*.yaml")):
        data = load(f"symptoms/{path.stem}")
        parts.append(f"\n### {translate(data['title'], language)}\n")
        parts += [_entry(known[item["id"]], language) for item in data["symptoms"]]
    return "".join(parts)


def _entry(symptom: Symptom, language: str) -> str:
    label = _LABELS[language]
    stop, comma = label["stop"], label["comma"]
    found = (re.search(pattern, symptom.example, re.IGNORECASE | re.DOTALL) for pattern in symptom.patterns)
    match = next(item for item in found if item)
    # The texts are translated with their placeholders, and have what the example names in place of them.
    texts = replace(symptom, cause=translate(symptom.cause, language), todo=translate(symptom.todo, language)).of(match)
    cause, todo = (_prose(text, stop) for text in (texts.cause, texts.todo))
    looks = comma.join(f"`{item}`" for item in texts.commands)
    others = [text for text in symptom.patterns if _PLAIN(text) and text.lower() not in symptom.example.lower()]
    notes = [f"{label['also']} {comma.join(f'`{text}`' for text in others)}."] if others else []
    notes += [f"{label['look']} {looks}."] if looks else []
    if symptom.releases:
        notes.append(f"{label['releases']} {', '.join(symptom.releases)}.")
    notes.append(f"{label['read']} {', '.join(map(_link, symptom.references))}.")
    words, gap = words_of(symptom), " " if language == ENGLISH else ""
    fence = "``" if "`" in words else "`"
    heading = f"{fence} {words} {fence}" if "`" in words else f"`{words}`"
    return f"\n#### {heading}\n\n```text\n{symptom.example.strip()}\n```\n\n{cause}{gap}{todo}\n\n{' '.join(notes)}\n"


def _prose(text: str, stop: str) -> str:
    """A text as a sentence of a page."""
    bare = text.strip().rstrip(".。")
    return (bare[:1].upper() + bare[1:]).replace("<", "&lt;").replace("*", "\\*") + stop


def _link(reference: str) -> str:
    if thread := re.fullmatch(r"([\w-]+/[\w.-]+)#(\d+)", reference):
        return f"[{reference}](https://github.com/{thread[1]}/issues/{thread[2]})"
    return f"[{reference.partition('/')[0]}](https://{reference})"
