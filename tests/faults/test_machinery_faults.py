"""Families A and B through an API server that is busy, breaks off or is slow: the same verdicts, or none."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.core.timing import Timing
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.faults.proxy import RESET, Asked, Fault, Through, cut, slow, status
from tests.integration.breaking import Findings, bad, judge

pytestmark = pytest.mark.cluster

MACHINERY = tuple(item.id for item in CHECKS if item.family in {"reach", "machinery"} and not item.probe)
BUSY = [
    status(503, "ServiceUnavailable", "starting"),
    status(429, "TooManyRequests", "slow down", Retry_After="1"),
    status(500, "InternalError", "etcdserver: leader changed"),
]


def found(kubeconfig: Path) -> Findings:
    return judge(kubeconfig, *MACHINERY, read_only=False, seconds=1)


@pytest.mark.long
@pytest.mark.parametrize("faults", [BUSY, [RESET, cut(0)]], ids=["refused", "broken"])
def test_trouble_that_heals_makes_no_finding(through: Through, faults: Sequence[Fault]) -> None:
    """Three requests of ten meet it. What cannot be had in time may be unjudged, but is never failed or warned of."""
    proxy, kubeconfig = through
    choice = random.Random(7)  # noqa: S311  no secret

    def plan(asked: Asked) -> Fault | None:
        return choice.choice(faults) if asked.number > 1 and choice.random() < 0.3 else None

    proxy.plan = plan
    outcomes = found(kubeconfig)
    assert {id_: seen for id_, seen in outcomes.items() if seen[0] not in {"pass", "skip", "error"}} == {}
    assert len([id_ for id_, (status, _) in outcomes.items() if status == "error"]) <= 1
    assert len(proxy.spoilt) > 5


SHORT_TRIES = Timing(dry_run_seconds=2.0)


def test_a_slow_api_server_is_not_taken_for_silent_webhooks(through: Through) -> None:
    proxy, kubeconfig = through
    late = ("dryRun", "/version")
    proxy.plan = lambda asked: slow(6.0) if asked.number and any(word in asked.path for word in late) else None
    options = Options(kubeconfig, select=("B4",), report_dir=None)
    (result,) = validate(options, silent, timing=SHORT_TRIES).results
    assert (result.outcome.status, result.outcome.reason) == ("error", "Unreachable")


def test_webhooks_that_are_slow_while_the_api_server_is_not_are_silent(through: Through) -> None:
    proxy, kubeconfig = through
    proxy.plan = lambda asked: slow(6.0) if "/queues?" in asked.path and "dryRun" in asked.path else None
    assert bad(judge(kubeconfig, "B4", read_only=False, timing=SHORT_TRIES)) == {"B4": "Unanswered"}
