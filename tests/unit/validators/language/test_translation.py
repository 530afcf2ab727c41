"""Texts that checks wrote, translated sentence by sentence with the names and numbers in them."""

from __future__ import annotations

import time

import pytest

from kubeflow_volcano.validators.language.catalog import Catalog, Template
from kubeflow_volcano.validators.language.speaking import counted, say, speaking, tag
from kubeflow_volcano.validators.language.translation import translate, untranslated

PAIRS = {
    "{kind} {name} is missing": "{kind} {name} 不存在",
    "skipped because of {text}": "因 {text}而跳过",
    "{pods} are late": "{pods}延迟",
    "{number} pods": "{number} 个 Pod",
    "it sleeps": "它在休眠",
    "it eats": "它在进食",
    "found: {what}": "发现：{what}",
}


@pytest.fixture(autouse=True)
def catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    templates = [(Template.of(text), words) for text, words in PAIRS.items()]
    known = Catalog(
        {"Needs attention": "需要处理", "{number} pods": "{number} 个 Pod"},
        {template.literals[0]: words for template, words in templates if not template.names},
        tuple(sorted((pair for pair in templates if pair[0].names), key=lambda pair: -pair[0].weight)),
    )
    other = Catalog({}, {}, ())
    for module in ("translation", "speaking"):
        monkeypatch.setattr(
            f"kubeflow_volcano.validators.language.{module}.catalog_of",
            lambda language: known if language == "zh" else other,
        )


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("", ""),
        ("it sleeps", "它在休眠"),
        ("it sleeps.", "它在休眠。"),
        ("it sleeps; it eats.", "它在休眠；它在进食。"),
        ("Job a/b is missing.", "Job a/b 不存在。"),
        ("Job a/b is missing. 3 pods are late.", "Job a/b 不存在。3 个 Pod 延迟。"),
        ("some pods are late.", "some pods 延迟。"),
        ("found: it sleeps, it eats", "发现：它在休眠、它在进食"),
        ("found: a, b", "发现：a, b"),
        ("found: a, it eats", "发现：a、它在进食"),
        ("skipped because of Job a is missing. it eats.", "因 Job a 不存在。它在进食而跳过。"),
        ("Not known at all. it sleeps.", "Not known at all. 它在休眠。"),
        ("it sleeps. Not known at all.", "它在休眠。Not known at all."),
        ("Error from server: {{x}} {0} %s", "Error from server: {{x}} {0} %s"),
    ],
)
def test_translated_sentences(text: str, translation: str) -> None:
    assert translate(text, "zh") == translation


def test_values_with_braces_stay_as_they_are() -> None:
    assert translate("Job {x!r} is missing.", "zh") == "Job {x!r} 不存在。"


def test_english_is_not_touched() -> None:
    text = "it sleeps. Job a is missing."
    assert translate(text, "en") == text


def test_sentences_without_a_translation_are_named() -> None:
    assert untranslated("it sleeps. Not known. Job a is missing.", "zh") == ["Not known."]


def test_a_long_text_of_a_cluster_takes_no_time() -> None:
    hostile = ("is missing " * 200 + "Job are late; " * 100 + "found: , and . ")[:4000]
    start = time.monotonic()
    translate(hostile, "zh")
    assert time.monotonic() - start < 1


def test_labels_follow_the_language_of_the_report() -> None:
    with speaking("zh"):
        assert (say("Needs attention"), counted(1, "pod"), tag()) == ("需要处理", "1 个 Pod", "zh-CN")
        with speaking("en"):
            assert (say("Needs attention"), counted(1, "pod"), tag()) == ("Needs attention", "1 pod", "en")
        assert say("Not translated: {x}", x=3) == "Not translated: 3"
    assert say("Needs attention") == "Needs attention"
