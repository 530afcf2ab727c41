"""The page on several clusters in a real browser: from disk, by eye, by screen reader, and to where its links lead."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By

from kubeflow_volcano.problems import Exit
from kubeflow_volcano.validators.report.clusters import Combined, Judged
from kubeflow_volcano.validators.report.files import write_clusters
from tests.integration.test_report_browser import (
    LOWEST_CONTRAST,
    LOWEST_CONTRAST_OF_SHAPES,
    MEASURE,
    VIEWS,
    browser,
    requested,
    screenshot,
    show,
    view,
)
from tests.samples import reports as samples
from tests.samples.clusters import PROBLEM, crowd, judged

__all__ = ["browser"]  # a fixture, by its name

LATEST = "clusters-latest.html"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages on four clusters, on thirty, and on some whose names and texts would like to be more than that."""
    directory = tmp_path_factory.mktemp("clusters")
    write_clusters(crowd(directory / "four"), directory / "four")
    thirty = [judged(f"region-{number:02}-production", samples.broken()) for number in range(30)]
    write_clusters(Combined(thirty), directory / "thirty")
    hostile = [
        judged(samples.HOSTILE, samples.hostile(), uid="a"),
        Judged(f"b{samples.HOSTILE}", Exit(2), problems=(PROBLEM,)),
    ]
    write_clusters(Combined(hostile), directory / "hostile")
    return directory


@pytest.mark.parametrize("name", ["four", "thirty", "hostile"])
@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_it_can_be_read_at_every_width(
    browser: webdriver.Chrome, pages: Path, name: str, width: int, scheme: str
) -> None:
    view(browser, width=width, scheme=scheme)
    requested(browser)
    show(browser, pages / name / LATEST)
    assert requested(browser) == [(pages / name / LATEST).as_uri()]
    found: dict[str, Any] = browser.execute_script(MEASURE, LOWEST_CONTRAST, LOWEST_CONTRAST_OF_SHAPES)
    assert found["texts"] > 20
    assert found["faint"] == []
    assert (found["wide"], found["outside"], found["clipped"]) == (0, [], [])
    assert browser.title.startswith("Validation of ")
    assert browser.find_elements(By.TAG_NAME, "script") == []
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert screenshot(browser, pages / f"{name}-{width}-{scheme}.png").startswith(b"\x89PNG")


def test_it_says_what_it_is_to_those_who_do_not_see_it(browser: webdriver.Chrome, pages: Path) -> None:
    view(browser, width=390)
    show(browser, pages / "four" / LATEST)
    levels = [int(item.tag_name[1]) for item in browser.find_elements(By.CSS_SELECTOR, "h1, h2, h3")]
    assert (levels[0], levels.count(1)) == (1, 1)
    assert all(after - before <= 1 for before, after in pairwise(levels))
    browser.execute_cdp_cmd("Accessibility.enable", {})
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    roles = {node["role"]["value"] for node in nodes if not node.get("ignored")}
    assert roles >= {"banner", "main", "navigation", "link", "table", "columnheader", "rowheader", "cell"}


def test_a_name_leads_to_the_report_of_that_cluster(browser: webdriver.Chrome, pages: Path) -> None:
    view(browser)
    show(browser, pages / "four" / LATEST)
    links = {item.text: item.get_attribute("href") for item in browser.find_elements(By.CSS_SELECTOR, "tbody th a")}
    assert {name for name in links if name in {"eu", "us", "ap", "gone"}} == {"eu", "us", "ap"}
    for name in ("eu", "us"):
        browser.get(links[name] or "")
        assert browser.find_element(By.CSS_SELECTOR, "h1").is_displayed()
        assert browser.title.startswith("Validation pass" if name == "eu" else "Validation fail")
