"""A pytest plugin: repeats the tests of fault cases, looks after each for what it left, and counts by case.

`-p tests.faults.soak` turns it on; `python -m tests.faults` does so with the options that it explains.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from tests.faults.cases import CASES
from tests.faults.leftovers import appeared, inventory
from tests.faults.tally import Ran, render, summarize

_STARTED = time.monotonic()
_MOST_TOLD = 1000
"""Characters of the beginning of a failure, and as many of its end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """What `python -m tests.faults` passes on."""
    group = parser.getgroup("soak")
    group.addoption("--times", type=int, default=1, metavar="N", help="how often each fault case runs")
    group.addoption("--case", type=int, action="append", default=[], metavar="N", help="this case only; repeatable")
    group.addoption("--minutes", type=float, default=float("inf"), metavar="M", help="begin no test after so many")
    group.addoption("--record", type=Path, metavar="FILE", help="append a line of JSON for every test that ran")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test of a case, so many times."""
    if proves(metafunc.definition):
        metafunc.fixturenames.append("turn")
        metafunc.parametrize("turn", range(metafunc.config.getoption("--times")), indirect=True, ids="turn{}".format)


def proves(definition: pytest.Item) -> bool:
    """Whether a test proves a case, be it with some of its parameters only."""
    values = [mark.args[1] for mark in definition.iter_markers("parametrize") if isinstance(mark.args[1], list | tuple)]
    marks = [mark.name for each in values for value in each for mark in getattr(value, "marks", ())]
    return definition.get_closest_marker("fault") is not None or "fault" in marks


@pytest.fixture
def turn(request: pytest.FixtureRequest) -> int:
    """The number of the round."""
    number: int = request.param
    return number


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only tests of the cases that are asked for, round after round."""
    wanted = set(config.getoption("--case")) or set(CASES)
    chosen = [item for item in items if wanted & set(cases_of(item))]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    chosen.sort(key=turn_of)
    items[:] = chosen


def cases_of(item: pytest.Item) -> tuple[int, ...]:
    """The cases that a test proves."""
    return tuple(sorted({number for mark in item.iter_markers("fault") for number in mark.args}))


def turn_of(item: pytest.Item) -> int:
    """In which round it runs."""
    parameters: dict[str, Any] = item.callspec.params if isinstance(item, pytest.Function) else {}
    return int(parameters.get("turn", 0))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip before any fixture is made when the time is over."""
    if time.monotonic() - _STARTED > 60 * item.config.getoption("--minutes"):
        pytest.skip("the time of the soak is over")


@pytest.fixture(autouse=True)
def counted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Says what is there afterwards that was not there before."""
    item = request.node
    real = item.get_closest_marker("cluster") is not None
    cluster: Cluster | None = request.getfixturevalue("cluster") if real else None
    before = inventory(cluster) if cluster else {}
    yield
    left = appeared(cluster, before) if cluster else []
    item.user_properties += [("cases", cases_of(item)), ("turn", turn_of(item)), ("left", left)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A failure says whether it is a wrong verdict or an exception that reached a person."""
    report = yield
    if call.excinfo and report.failed:
        own = call.excinfo.errisinstance((AssertionError, pytest.fail.Exception))
        shown = "Traceback (most recent call last)" in str(call.excinfo.value)
        item.user_properties.append(("failed", "wrong" if own and not shown else "traceback"))
        item.user_properties.append(("told", shortened(str(call.excinfo.value))))
    if report.skipped:
        item.user_properties.append(("skipped", True))
    report.user_properties = list(item.user_properties)
    return report


def shortened(text: str) -> str:
    """Beginning and end: what a program printed has the failure last."""
    return text if len(text) <= 2 * _MOST_TOLD else f"{text[:_MOST_TOLD]}\n...\n{text[-_MOST_TOLD:]}"


class _Tally:
    def __init__(self, record: Path | None) -> None:
        self.record = record
        self.runs: list[Ran] = []
        self._seconds: dict[str, float] = {}

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Once a test is torn down, everything about it is known."""
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration * (report.when == "call")
        found: dict[str, Any] = dict(report.user_properties)
        if report.when != "teardown" or "cases" not in found or "skipped" in found:
            return
        seconds = self._seconds.pop(report.nodeid)
        failed, told = found.get("failed", ""), found.get("told", "")
        ran = Ran(tuple(found["cases"]), found["turn"], report.nodeid, seconds, failed, found["left"], told)
        self.runs.append(ran)
        if self.record:
            with self.record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(ran.as_dict()) + "\n")

    @pytest.hookimpl
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The table."""
        terminalreporter.section("fault cases")
        terminalreporter.write_line(render(summarize(self.runs)))

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """What was left, or took too long, fails a run in which every test passed."""
        if session.exitstatus == pytest.ExitCode.OK and any(item.spoilt for item in summarize(self.runs)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    """Only the process that sees all reports counts."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Tally(config.getoption("--record")), "soak-tally")
