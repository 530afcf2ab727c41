"""The HTML report in a real browser: Chromium without a screen, opened from disk, driven over the DevTools protocol.

Needs the packages chromium and chromium-driver, which tests/run.sh installs. Screenshots lie in pytest's own directory
of the run (`pytest --basetemp=DIR` puts them elsewhere).
"""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from kubeflow_volcano.validators.report import files
from tests.samples import reports as samples

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("healthy", "broken", "hostile", "large", "preflight")
VIEWS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]
LOWEST_CONTRAST = 4.5  # WCAG 2.2, 1.4.3, level AA
LOWEST_CONTRAST_OF_SHAPES = 3.0  # WCAG 2.2, 1.4.11

MEASURE = Path(__file__).with_name("measure_page.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for each kind of report, as a run leaves it."""
    directory = tmp_path_factory.mktemp("reports")
    for name in (*NAMES, "chinese"):
        report = samples.broken() if name == "chinese" else getattr(samples, name)()
        if name in {"broken", "chinese"}:
            report = replace(report, baseline=samples.healthy().as_dict())
        if name == "chinese":
            report = replace(report, language="zh")
        report = files.write(replace(report, prefix=""), directory / name)
        assert report.unwritten is None
    return directory


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@contextlib.contextmanager
def chromium(profile: Path, *more: str) -> Iterator[webdriver.Chrome]:
    """A browser with a profile and options of its own."""
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    assert not missing, f"{missing} missing: apt-get install chromium chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"] or ""
    for option in (*OPTIONS, f"--user-data-dir={profile}", *more):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(programs["chromedriver"]))
    try:
        yield driver
    finally:
        driver.quit()


def view(browser: webdriver.Chrome, *, width: int = 1280, scheme: str = "light", media: str = "screen") -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def show(browser: webdriver.Chrome, page: Path) -> None:
    browser.get("about:blank")  # a page that is there already would not be loaded anew for a fragment
    browser.get(page.as_uri())


def _log(browser: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = browser.get_log(kind)  # type: ignore[no-untyped-call]  # selenium's own gap
    return entries


def requested(browser: webdriver.Chrome) -> list[str]:
    """Addresses of everything that was asked for since the last time."""
    messages = (json.loads(item["message"])["message"] for item in _log(browser, "performance"))
    return [item["params"]["request"]["url"] for item in messages if item["method"] == "Network.requestWillBeSent"]


def shown(browser: webdriver.Chrome) -> list[str]:
    """Checks that the filters leave, folded or not."""
    script = """
      const kept = (item) => getComputedStyle(item).display !== "none";
      return [...document.querySelectorAll("details.check")]
        .filter((item) => kept(item) && kept(item.parentElement)).map((item) => item.id)"""
    found: list[str] = browser.execute_script(script)
    return found


def tab_to(browser: webdriver.Chrome, id_: str) -> None:
    """Go there with the tabulator key alone, as somebody without a mouse does."""
    stops = browser.find_elements(By.CSS_SELECTOR, "a[href], input, select, button, summary, [tabindex]")
    for _ in stops:
        ActionChains(browser).send_keys(Keys.TAB).perform()
        if browser.switch_to.active_element.get_attribute("id") == id_:
            return
    raise AssertionError(f"{id_} cannot be reached with the keyboard")


def screenshot(browser: webdriver.Chrome, path: Path) -> bytes:
    height = min(browser.execute_script("return document.documentElement.scrollHeight"), 8000)
    clip = {"x": 0, "y": 0, "width": browser.execute_script("return innerWidth"), "height": height, "scale": 1}
    picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    content = base64.b64decode(picture["data"])
    path.write_bytes(content)
    return content


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_from_disk_and_asks_for_nothing_else(browser: webdriver.Chrome, pages: Path, name: str) -> None:
    requested(browser)
    _log(browser, "browser")
    page = pages / name / "latest.html"
    browser.get(page.as_uri())
    assert requested(browser) == [page.as_uri()]
    assert _log(browser, "browser") == []
    assert browser.title.startswith(("Validation ", "Preflight "))
    assert browser.find_element(By.CSS_SELECTOR, "h1").is_displayed()


def test_values_align_across_checks_and_one_filter_takes_the_whole_row(browser: webdriver.Chrome, pages: Path) -> None:
    view(browser)
    show(browser, pages / "preflight" / "latest.html")
    browser.execute_script("for (const item of document.querySelectorAll('details')) item.open = true")
    values = "details.check[open] > dl > dd"
    script = f"return [...document.querySelectorAll('{values}')].map((item) => item.getBoundingClientRect().left)"
    lefts = browser.execute_script(script)
    assert len(lefts) > 3
    assert len(set(lefts)) == 1
    form, field = (browser.find_element(By.CSS_SELECTOR, name) for name in (".filters", ".filters fieldset"))
    assert field.size["width"] > 0.95 * form.size["width"]


@pytest.mark.parametrize("name", ["healthy", "broken", "hostile", "preflight"])
@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_nothing_is_cut_off_and_everything_can_be_read(
    browser: webdriver.Chrome, pages: Path, name: str, width: int, scheme: str
) -> None:
    view(browser, width=width, scheme=scheme)
    show(browser, pages / name / "latest.html")
    for part in range(2):  # as it opens, and with everything unfolded
        found: dict[str, Any] = browser.execute_script(MEASURE, LOWEST_CONTRAST, LOWEST_CONTRAST_OF_SHAPES)
        assert found["texts"] > 50
        assert found["shapes"] > 10 or name == "preflight"
        assert (found["faint"], found["faintShapes"]) == ([], [])
        assert (found["wide"], found["outside"], found["clipped"]) == (0, [], [])
        picture = screenshot(browser, pages / f"{name}-{width}-{scheme}-{part}.png")
        assert picture.startswith(b"\x89PNG")
        browser.execute_script("for (const item of document.querySelectorAll('details')) item.open = true")
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is (scheme == "light")


def test_the_report_of_a_large_cluster_is_turned_and_filtered_at_once(browser: webdriver.Chrome, pages: Path) -> None:
    """1,000 nodes and 10,000 pods; rules that look at the whole page once took more than a minute for this."""
    view(browser)
    show(browser, pages / "large" / "latest.html")
    view(browser, width=390)
    browser.execute_script("document.getElementById('s-pass').click(); return document.body.offsetHeight")
    view(browser)


def test_on_paper_it_is_black_on_white_whatever_the_screen_is(browser: webdriver.Chrome, pages: Path) -> None:
    view(browser, scheme="dark", media="print")
    show(browser, pages / "broken" / "latest.html")
    found = browser.execute_script(MEASURE, 7.0, LOWEST_CONTRAST_OF_SHAPES)
    assert (found["faint"], found["faintShapes"]) == ([], [])
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not browser.find_element(By.CSS_SELECTOR, ".filters").is_displayed()
    a4 = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": False}
    assert base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", a4)["data"]).startswith(b"%PDF")


@pytest.mark.parametrize("name", ["healthy", "broken", "chinese"])
def test_on_paper_every_check_is_unfolded_and_nothing_is_wider_than_the_page(
    browser: webdriver.Chrome, pages: Path, name: str
) -> None:
    view(browser, width=718, media="print")  # A4 without its margins, at 96 dots per inch
    show(browser, pages / name / "latest.html")
    script = """
      const values = [...document.querySelectorAll("details.check > dl > dd:first-of-type")];
      return [values.length, values.filter((item) => !item.checkVisibility({contentVisibilityAuto: true})).length]"""
    number, hidden = browser.execute_script(script)
    assert number > 40
    assert hidden == 0
    found = browser.execute_script(MEASURE, LOWEST_CONTRAST, LOWEST_CONTRAST_OF_SHAPES)
    assert (found["wide"], found["outside"], found["clipped"]) == (0, [], [])


def test_on_a_screen_families_without_a_finding_are_folded(browser: webdriver.Chrome, pages: Path) -> None:
    view(browser, width=390)
    show(browser, pages / "broken" / "latest.html")
    page = "document.documentElement"
    assert browser.execute_script(f"return {page}.scrollWidth - {page}.clientWidth") == 0
    script = """
      return [...document.querySelectorAll("details.family")].map((item) =>
        [item.open, item.querySelector("details.check.fail, details.check.error, details.check.warn") !== null])"""
    found = browser.execute_script(script)
    assert {tuple(item) for item in found} == {(True, True), (False, False)}


def test_verdicts_and_families_are_filtered_with_the_keyboard(browser: webdriver.Chrome, pages: Path) -> None:
    checks = samples.broken().as_dict()["checks"]
    view(browser)
    show(browser, pages / "broken" / "latest.html")
    assert len(shown(browser)) == len(checks)

    tab_to(browser, "s-skip")
    ActionChains(browser).send_keys(Keys.SPACE).perform()
    assert set(shown(browser)) == {item["id"] for item in checks if item["status"] != "skip"}

    tab_to(browser, "f-storage")
    ActionChains(browser).send_keys(Keys.SPACE).perform()
    left = {item["id"] for item in checks if item["status"] != "skip" and item["category"] != "storage"}
    assert set(shown(browser)) == left
    told = browser.find_element(By.ID, "shown").text
    assert told == f"{len(left)} of {len(checks)} checks shown"

    tab_to(browser, "reset")
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    assert len(shown(browser)) == len(checks)


def test_namespaces_are_filtered_with_the_keyboard(browser: webdriver.Chrome, pages: Path) -> None:
    checks = samples.broken().as_dict()["checks"]
    view(browser)
    show(browser, pages / "broken" / "latest.html")
    tab_to(browser, "namespace")
    ActionChains(browser).send_keys("default").perform()
    inside = {item["id"] for item in checks if any(ref["namespace"] == "default" for ref in item["objects"])}
    assert inside
    assert set(shown(browser)) == inside


def test_the_filters_work_without_javascript(browser: webdriver.Chrome, pages: Path) -> None:
    checks = samples.broken().as_dict()["checks"]
    view(browser)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        show(browser, pages / "broken" / "latest.html")
        assert browser.find_element(By.ID, "shown").text == ""
        tab_to(browser, "s-fail")
        ActionChains(browser).send_keys(Keys.SPACE).perform()
        assert set(shown(browser)) == {item["id"] for item in checks if item["status"] != "fail"}
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_a_check_is_unfolded_with_the_keyboard_and_by_a_link_to_it(browser: webdriver.Chrome, pages: Path) -> None:
    page = pages / "broken" / "latest.html"
    view(browser)
    show(browser, page)
    folded = browser.find_element(By.ID, "A1")
    assert folded.get_attribute("open") is None
    browser.execute_script("arguments[0].querySelector('summary').focus()", folded)
    ActionChains(browser).send_keys(Keys.ENTER).perform()
    assert folded.get_attribute("open")
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#H2")
    assert browser.find_element(By.ID, "H2").get_attribute("open")


def test_where_the_keyboard_is_can_be_seen(browser: webdriver.Chrome, pages: Path) -> None:
    view(browser)
    show(browser, pages / "broken" / "latest.html")
    tab_to(browser, "s-pass")
    outline = browser.execute_script(
        "const s = getComputedStyle(document.activeElement); return [s.outlineStyle, s.outlineWidth]"
    )
    assert outline == ["solid", "3px"]


@pytest.mark.parametrize("name", NAMES)
def test_it_says_what_it_is_to_those_who_do_not_see_it(browser: webdriver.Chrome, pages: Path, name: str) -> None:
    """By the accessibility tree that Chromium makes of the page."""
    view(browser, width=390)
    show(browser, pages / name / "latest.html")
    assert browser.find_element(By.CSS_SELECTOR, "html").get_attribute("lang") == "en"
    levels = [int(item.tag_name[1]) for item in browser.find_elements(By.CSS_SELECTOR, "h1, h2, h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    browser.execute_cdp_cmd("Accessibility.enable", {})
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    by_role: dict[str, list[str]] = {}
    for node in nodes:
        if not node.get("ignored"):
            by_role.setdefault(node["role"]["value"], []).append(node.get("name", {}).get("value", ""))
    for role in ("checkbox", "combobox", "link", "heading", "image", "region", "table", "button"):
        assert all(by_role.get(role, ())), f"a {role} has no name: {by_role.get(role)}"
    for role in ("banner", "main", "navigation", "checkbox", "table", "columnheader", "rowheader", "cell"):
        assert role in by_role, f"nothing is a {role}"


@pytest.mark.parametrize("width", [390, pytest.param(1280, marks=pytest.mark.long)])
def test_in_chinese_nothing_is_cut_off_and_the_script_speaks_it_too(
    browser: webdriver.Chrome, pages: Path, width: int
) -> None:
    view(browser, width=width)
    show(browser, pages / "chinese" / "latest.html")
    assert browser.find_element(By.CSS_SELECTOR, "html").get_attribute("lang") == "zh-CN"
    assert browser.title.startswith("验证 失败")
    assert "Noto Sans CJK SC" in browser.execute_script("return getComputedStyle(document.body).fontFamily")
    number = len(samples.broken().as_dict()["checks"])
    assert browser.find_element(By.ID, "shown").text == f"显示 {number} 项，共 {number} 项检查"
    for part in range(2):  # as it opens, and with everything unfolded
        found: dict[str, Any] = browser.execute_script(MEASURE, LOWEST_CONTRAST, LOWEST_CONTRAST_OF_SHAPES)
        assert (found["wide"], found["outside"], found["clipped"]) == (0, [], [])
        screenshot(browser, pages / f"chinese-{width}-{part}.png")
        browser.execute_script("for (const item of document.querySelectorAll('details')) item.open = true")


def test_hostile_text_does_nothing(browser: webdriver.Chrome, pages: Path) -> None:
    view(browser)
    show(browser, pages / "hostile" / "latest.html")
    assert browser.title.startswith("Validation fail")
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 1
    assert browser.find_elements(By.TAG_NAME, "img") == []
    assert "<script>document.title='owned'</script>" in browser.find_element(By.TAG_NAME, "body").text
