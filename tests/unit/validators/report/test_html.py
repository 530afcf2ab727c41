"""The HTML report as a parser sees it: well formed, of our own elements alone, small. A browser is in integration."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files as resources
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kubeflow_volcano.validators.report import console, files, html, markdown
from kubeflow_volcano.validators.report.document import Report
from tests.places import ROOT
from tests.samples import reports as samples

SCHEMA = json.loads(resources("kubeflow_volcano.validators").joinpath("schemas/report.v1.json").read_text())
VOID = {"meta", "link", "input", "rect", "path"}
EVERY = pytest.mark.parametrize(
    "make",
    [samples.healthy, samples.broken, samples.hostile, samples.large, samples.preflight],
    ids=lambda make: make.__name__,
)


class Page(HTMLParser):
    """Elements with their attributes, the texts, and what was not closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"line {self.getpos()}"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.texts.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def rendered(report: Report, manual: str = "../docs/checks.md") -> Page:
    return Page(html.render(report.as_dict(), report.evidence, manual))


@cache
def page_of(make: Callable[[], Report]) -> Page:
    """Rendered once for all tests that only look at it."""
    return rendered(make())


@EVERY
def test_the_document_follows_the_schema_and_the_page_is_well_formed_and_small(make: Callable[[], Report]) -> None:
    report = make()
    document = report.as_dict()
    assert [error.message for error in Draft202012Validator(SCHEMA).iter_errors(document)] == []
    text = html.render(document, report.evidence, "../docs/checks.md")
    assert len(text.encode()) < 1_000_000
    page = Page(text)
    assert page.open == []
    assert {"img", "iframe", "link", "object", "base"}.isdisjoint({name for name, _ in page.elements})
    addresses = [
        value for _, attributes in page.elements for key, value in attributes.items() if key in {"href", "src"}
    ]
    assert addresses
    assert all(value and re.match(r"#|\.\./docs/checks\.md#|[\w.-]+\.evidence/", value) for value in addresses)
    assert [
        name for _, attributes in page.elements for name in attributes if name.startswith("on") or name == "style"
    ] == []
    assert len(page.all("script")) == 1
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    inner = {href[1:] for item in page.all("a") if (href := item["href"]) and href.startswith("#")}
    assert inner <= set(ids)
    named = {word for _, attributes in page.elements for word in (attributes.get("aria-labelledby") or "").split()}
    assert named <= set(ids)


def test_findings_come_before_what_holds_and_say_what_to_do() -> None:
    report = samples.broken()
    page = page_of(samples.broken)
    ranks: list[list[int]] = []
    for item in page.all("details"):
        kind, word, *_ = [*(item.get("class") or "").split(), ""]
        if kind == "family":
            ranks.append([])
        elif kind == "check":
            ranks[-1].append(("fail", "error", "warn", "pass", "skip").index(word))
    assert all(family == sorted(family) for family in ranks)
    assert [family[0] for family in ranks] == sorted(family[0] for family in ranks)
    assert {rank for family in ranks for rank in family} == {0, 1, 2, 3, 4}
    folded = ["open" not in item for item in page.all("details") if (item.get("class") or "").startswith("family")]
    assert folded == [family[0] > 2 for family in ranks]
    shown = "".join(page.texts)
    for item in report.as_dict()["checks"]:
        assert item["message"] in shown
        assert item["remediation"]["text"] in shown
        assert all(command in shown for key in ("commands", "changes") for command in item["remediation"][key])


def _sections(page: Page) -> list[str]:
    return [item["id"] or "" for item in page.all("section")]


def test_a_pass_opens_with_the_gang_the_nodes_and_the_images() -> None:
    assert _sections(page_of(samples.healthy))[:5] == ["gang", "nodes", "images", "storage", "checks"]


def test_a_failure_opens_with_the_findings() -> None:
    assert _sections(page_of(samples.broken))[:3] == ["attention", "checks", "gang"]
    compared = samples.broken(baseline=samples.healthy().as_dict())
    assert _sections(rendered(compared))[:3] == ["attention", "baseline", "checks"]


def test_the_contents_are_in_the_order_of_the_page() -> None:
    text = html.render(samples.healthy().as_dict(), {})
    (contents,) = re.findall(r"<nav.*?</nav>", text, re.DOTALL)
    assert re.findall(r'href="#(\w+)"', contents) == _sections(page_of(samples.healthy))


def test_a_finding_names_the_checks_that_it_affects_and_they_follow_it() -> None:
    report = samples.broken()
    checks = {item["id"]: item for item in report.as_dict()["checks"]}
    text = html.render(report.as_dict(), {})
    (section,) = re.findall(r'<section id="attention".*?</section>', text, re.DOTALL)
    caused = {id_: item for id_, item in checks.items() if item["because"]}
    assert caused
    cards = section.split("<article")[1:]
    for id_, item in caused.items():
        (card,) = [card for card in cards if f'href="#{item["because"][0]}"' in card.partition("affects")[0]] or [""]
        assert f'href="#{id_}"' in card.partition("affects")[2], id_


def test_gpus_are_counted_by_kind() -> None:
    report = samples.healthy()
    told = "nvidia.com/gpu (NVIDIA-A100-SXM4-80GB): 0 of 8 requested on 2 nodes"
    assert told in html.render(report.as_dict(), {})
    assert f"GPUs: {told}" in console.render(report.as_dict(), {})
    row = "| nvidia.com/gpu | NVIDIA-A100-SXM4-80GB | 2 | 2 | 8 | 0 |"
    assert row in markdown.render(report.as_dict())


@pytest.mark.fault(43)
def test_hostile_text_is_shown_as_text() -> None:
    shown = "".join(page_of(samples.hostile).texts)
    assert "<script>document.title='owned'</script>" in shown
    assert "{{ 7*7 }}" in shown
    assert "</style></title></pre> javascript:alert(1)" in shown
    assert set(shown).isdisjoint("\x00\x0b\x1b\u202e\ufffe")


def test_names_of_the_cluster_do_not_stand_in_the_style_or_the_policy() -> None:
    text = html.render(samples.hostile().as_dict(), {})
    style, policy = re.search(r"<style>(.*?)</style>", text, re.DOTALL), re.search(r'content="(default-src.*?)"', text)
    assert style
    assert "owned" not in style[1]
    assert policy
    assert "unsafe" not in policy[1]


def _three(step: str) -> list[str]:
    """Rows of a step of three pods, of which H2's is released by a fourth; H5 has no group."""
    pods = [f"{step}-p{number}" for number in range(4 if step == "h2" else 3)]
    return pods if step == "h5" else [*pods, step]


def test_the_gang_experiment_is_drawn_once_for_each_set_of_pods() -> None:
    page = page_of(samples.healthy)
    labels = [item.get("aria-label") or "" for item in page.all("svg") if item.get("role") == "img"][1:]
    names = [label.partition(":")[0] for label in labels]
    three = [name for step in ("h1", "h2", "h4", "h5") for name in _three(step)]
    four = [f"{step}-{name}" for step in ("h6", "h6s", "h6c") for name in ("a0", "a1", "b0", "b1")]
    assert names == [*three, *four]
    assert "H6 control: the same pods with the default scheduler" in page.texts
    (stuck,) = (label for label in labels if label.startswith("h2-p2"))
    assert re.search(r"1\.4 s judged: Unschedulable; 6\.5 s removed$", stuck)


def test_who_was_never_bound_has_no_bar_that_says_so() -> None:
    text = html.render(samples.healthy().as_dict(), {})
    (stuck,) = re.findall(r'<svg[^>]*aria-label="h2-p2:.*?</svg>', text, re.DOTALL)
    (freed,) = re.findall(r'<svg[^>]*aria-label="h2-p3:.*?</svg>', text, re.DOTALL)
    assert 'class="bound"' not in stuck
    assert 'class="judged"' in stuck
    assert 'class="bound"' in freed


def test_the_comparison_names_what_changed() -> None:
    page = rendered(samples.broken(baseline=samples.healthy().as_dict()))
    shown = " ".join("".join(page.texts).split())
    assert "Compared with the run of" in shown
    assert "that the earlier run did not have" in shown
    assert "fixed since" not in shown


def test_a_preflight_says_of_each_host_what_stands_against_it_and_nothing_of_a_cluster() -> None:
    text = html.render(samples.preflight().as_dict(), {})
    rows = dict(re.findall(r'rowheader">(n\d)</th>(.*?)</tr>', text, re.DOTALL))
    assert "</span> none</span>" in rows["n1"]
    assert 'href="#P16"' in rows["n2"]
    assert 'href="#P1"' in rows["n3"]
    assert 'id="storage"' not in text


def test_without_the_page_of_checks_no_link_leads_there() -> None:
    page = rendered(samples.broken(), manual="")
    assert not any("checks.md" in (item["href"] or "") for item in page.all("a"))


def test_what_was_not_read_is_said_and_not_shown_as_none() -> None:
    report = replace(samples.broken(), facts=None)
    shown = "".join(rendered(report).texts)
    for told in (
        "The nodes were not read",
        "StorageClasses were not read",
        "Claims were not read",
        "Pods were not read",
    ):
        assert told in shown


def test_links_lead_from_the_report_to_the_page_of_checks(tmp_path: Path) -> None:
    files.write(samples.broken(), tmp_path)
    for kind in ("html", "md"):
        (found, *_) = re.findall(r'["(]([^"(]*checks\.md)#a4-nodes', (tmp_path / f"latest.{kind}").read_text())
        assert (tmp_path / found).resolve() == ROOT / "docs" / "checks.md"


def test_an_image_that_differs_from_the_plan_shows_what_was_planned() -> None:
    document = samples.healthy().as_dict()
    rows = document["snapshot"]["images"]
    planned = {"as_planned": False, "planned": ["registry.example/kubeflow/katib:v0.17.0"]}
    document["snapshot"] = {**document["snapshot"], "images": [{**rows[0], **planned}, *rows[1:]]}
    table = html.render(document, {}).partition('id="images-title"')[2]
    (cell,) = re.findall(r'data-label="planned">(?!as planned|<span class="muted">no plan)(.*?)</td>', table)
    assert "not as planned" in cell
    assert "registry.example/kubeflow/katib:v0.17.0" in cell
