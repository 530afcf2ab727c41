"""Case 40: clocks that differ, jump, or come before a certificate begins."""

from __future__ import annotations

import time

import pytest

from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.faults.proxy import Through
from tests.integration.breaking import bad, judge

pytestmark = pytest.mark.cluster


@pytest.mark.fault(40)
@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_control_host_whose_clock_is_wrong_is_told(through: Through, minutes: int) -> None:
    proxy, kubeconfig = through
    proxy.clock_seconds = minutes * 60.0
    found = judge(kubeconfig, "A3", seconds=1)
    assert found["A3"] == ("fail", "ClockSkew")
    proxy.clock_seconds = 0.0
    assert bad(judge(kubeconfig, "A3", seconds=1)) == {}


@pytest.mark.long
@pytest.mark.fault(40)
@pytest.mark.parametrize("minutes", [-10, 10])
def test_a_clock_that_jumps_in_mid_run_changes_neither_verdicts_nor_durations(
    through: Through, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    proxy, kubeconfig = through
    clock, jump = time.time, 0.0
    monkeypatch.setattr(time, "time", lambda: clock() + jump)

    def set_clock() -> None:
        nonlocal jump
        jump = minutes * 60.0

    proxy.plan = lambda asked: set_clock() if asked.watches else None
    started = time.monotonic()
    options = Options(kubeconfig, select=("B1", "C2", "F1"), read_only=True, stability_seconds=1, report_dir=None)
    report = validate(options, silent)
    assert jump
    assert {str(item.outcome.status) for item in report.results} <= {"pass", "skip"}
    assert 0 < report.seconds <= time.monotonic() - started
