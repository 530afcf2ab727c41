"""The validation against an API server that fails, hangs, dies and refuses: no wrong verdict, no traceback, in time."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.cluster.status import read_status
from kubeflow_volcano.validators.core.results import Verdict
from kubeflow_volcano.validators.report.document import Report
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.faults.proxy import HUNG, RESET, Asked, Fault, Through, cut, slow, status
from tests.faults.rolling import often
from tests.integration.breaking import leftovers

pytestmark = pytest.mark.cluster

FIRST = "none"  # what the kubeconfig through the proxy has for a token
STATIC = ("B1", "workloads", "F1", "F3", "F4", "F5")
BUSY = [
    status(503, "ServiceUnavailable", "starting"),
    status(429, "TooManyRequests", "slow down", Retry_After="1"),
    status(500, "InternalError", "etcdserver: leader changed"),
    status(504, "Timeout", "request timed out"),
]
Verdicts = Mapping[str, tuple[str, str]]


def judge(kubeconfig: Path, *select: str, read_only: bool = True, **more: Any) -> Report:
    options = Options(
        kubeconfig, select=select or STATIC, read_only=read_only, stability_seconds=1, report_dir=None, **more
    )
    return validate(options, silent)


def verdicts(report: Report) -> Verdicts:
    return {item.check.id: (str(item.outcome.status), item.outcome.reason) for item in report.results}


@pytest.fixture(scope="module")
def healthy(kubeconfig: Path, cluster: Cluster) -> Verdicts:
    """What is found without faults: nothing bad."""
    assert cluster.version
    found = verdicts(judge(kubeconfig))
    assert {status for status, _ in found.values()} <= {"pass", "skip"}
    return found


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(BUSY[:1], id="503", marks=[pytest.mark.long, pytest.mark.fault(3)]),
        pytest.param(BUSY[1:2], id="429", marks=[pytest.mark.long, pytest.mark.fault(4)]),
        pytest.param(BUSY[2:], id="etcd", marks=[pytest.mark.long, pytest.mark.fault(5)]),
        pytest.param([RESET, cut(300)], id="broken"),
        pytest.param([slow(1.0)], id="slow", marks=[pytest.mark.long, pytest.mark.fault(8)]),
    ],
)
def test_trouble_that_heals_changes_no_verdict(through: Through, healthy: Verdicts, faults: list[Fault]) -> None:
    proxy, kubeconfig = through
    proxy.plan = often(*faults)
    report = judge(kubeconfig)
    assert verdicts(report) == healthy
    assert len(proxy.spoilt) > 5
    assert report.retries > 0 or faults[0].delay


@pytest.mark.long
def test_the_gang_experiment_comes_to_the_same_end_through_trouble_and_leaves_nothing(
    through: Through, cluster: Cluster
) -> None:
    proxy, kubeconfig = through
    proxy.plan = often(*BUSY, RESET)
    report = judge(kubeconfig, "H1", "H2", read_only=False)
    assert {found for found, _ in verdicts(report).values()} <= {"pass", "error"}  # an experiment may be disturbed
    assert report.cleanup
    assert report.cleanup.left == ()
    assert leftovers(cluster) == []


@pytest.mark.fault(9)
@pytest.mark.parametrize("fault", [RESET, cut(0), status(410, "Expired", "too old resource version")])
def test_a_watch_that_breaks_at_its_start_is_replaced_by_lists(
    through: Through, healthy: Verdicts, fault: Fault
) -> None:
    proxy, kubeconfig = through
    proxy.plan = lambda asked: fault if asked.watches and len(proxy.spoilt) < 3 else None
    report = judge(kubeconfig)
    assert verdicts(report) == healthy
    assert proxy.spoilt


@pytest.mark.fault(8)
@pytest.mark.long
def test_slow_answers_only_take_their_time(through: Through, healthy: Verdicts) -> None:
    proxy, kubeconfig = through
    proxy.plan = lambda asked: slow(8.0) if asked.path.startswith("/apis/apps/v1/deployments") else None
    started = time.monotonic()
    assert verdicts(judge(kubeconfig)) == healthy
    assert time.monotonic() - started >= 8


@pytest.mark.fault(8)
def test_what_hangs_ends_as_unjudged_in_bounded_time(
    through: Through, monkeypatch: pytest.MonkeyPatch, healthy: Verdicts
) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._READ_SECONDS", 1.0)
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._RETRY_SECONDS", 3.0)
    proxy, kubeconfig = through
    proxy.plan = lambda asked: HUNG if asked.path.startswith("/apis/apps/v1/deployments") else None
    report = judge(kubeconfig)
    found = verdicts(report)
    assert found["C2"] == ("error", "Unreachable")
    assert {id_ for id_, pair in found.items() if pair[0] == "pass"} <= {id_ for id_, pair in healthy.items()}
    assert report.summary.verdict is Verdict.INCOMPLETE
    assert not [id_ for id_, (status, _) in found.items() if status == "fail"]


@pytest.mark.fault(8)
def test_a_server_that_goes_silent_in_mid_run_leaves_everything_unjudged_in_bounded_time(
    through: Through, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._READ_SECONDS", 1.0)
    monkeypatch.setattr("kubeflow_volcano.cluster.api.connection._RETRY_SECONDS", 3.0)
    proxy, kubeconfig = through
    watched = False

    def plan(asked: Asked) -> Fault | None:
        nonlocal watched
        watched = watched or asked.watches
        return HUNG if watched and not asked.watches else None

    proxy.plan = plan
    report = judge(kubeconfig)
    assert set(verdicts(report).values()) == {("error", "Unreachable")}
    assert int(report.exit_code) == 3


@pytest.mark.fault(11)
def test_rights_that_are_lost_in_mid_run_make_errors_and_no_pass(through: Through, healthy: Verdicts) -> None:
    proxy, kubeconfig = through
    denied = status(403, "Forbidden", 'deployments.apps is forbidden: User "u" cannot list resource "deployments"')
    proxy.plan = lambda asked: denied if asked.path.startswith("/apis/apps/v1/deployments") else None
    report = judge(kubeconfig)
    found = verdicts(report)
    assert found["C2"] == ("error", "Forbidden")
    assert not [id_ for id_, (status, _) in found.items() if status == "fail"]
    assert {id_ for id_, pair in found.items() if pair == ("error", "Forbidden")} >= {"C2", "F1", "F4", "F5"}
    assert found["C3"] == healthy["C3"] or found["C3"][0] == "error"
    text = next(item.outcome for item in report.results if item.check.id == "C2").todo
    assert "resources: ['deployments'], verbs: ['list']" in text


@pytest.mark.fault(11)
def test_rights_that_are_lost_during_a_probe_leave_the_question_open_and_nothing_behind(
    through: Through, cluster: Cluster
) -> None:
    proxy, kubeconfig = through
    denied = status(403, "Forbidden", 'pods is forbidden: User "u" cannot create resource "pods"')
    proxy.plan = lambda asked: (
        denied if asked.method == "POST" and asked.path.partition("?")[0].endswith("/pods") else None
    )
    report = judge(kubeconfig, "H1", "H2", read_only=False)
    found = verdicts(report)
    assert found["H1"][0] == "error"
    assert found["H2"][0] in {"error", "skip"}
    assert "cannot create" in next(item.outcome.message for item in report.results if item.check.id == "H1")
    assert leftovers(cluster) == []


def expired_after_the_watch(renew: Callable[[], object]) -> Callable[[Asked], Fault | None]:
    refusal = status(401, "Unauthorized", "Unauthorized")
    expired = False

    def plan(asked: Asked) -> Fault | None:
        nonlocal expired
        if asked.watches and not expired:
            expired = True
            renew()
        return refusal if expired and asked.token == FIRST else None

    return plan


@pytest.mark.fault(10)
def test_a_token_that_expires_in_mid_run_is_loaded_anew(through: Through, healthy: Verdicts) -> None:
    proxy, kubeconfig = through
    text = kubeconfig.read_text()
    proxy.plan = expired_after_the_watch(lambda: kubeconfig.write_text(text.replace('"none"', '"new"')))
    report = judge(kubeconfig)
    assert verdicts(report) == healthy
    assert {asked.token for asked in proxy.asked} == {"none", "new"}


@pytest.mark.fault(10)
def test_a_token_that_expires_for_good_is_told_as_that(through: Through) -> None:
    proxy, kubeconfig = through
    proxy.plan = expired_after_the_watch(lambda: None)
    report = judge(kubeconfig)
    assert set(verdicts(report).values()) == {("error", "Unauthorized")}
    assert int(report.exit_code) == 3
    assert all("renew the token" in item.outcome.todo for item in report.results)


@pytest.mark.fault(2)
@pytest.mark.parametrize(
    "moment", ["/api/v1/pods?watch=1", pytest.param("/apis/apps/v1/deployments", marks=pytest.mark.long)]
)
def test_an_api_server_that_dies_in_the_middle_changes_no_verdict(
    kubeconfig: Path, through: Through, healthy: Verdicts, moment: str
) -> None:
    """The proxy only says when."""
    proxy, spoilt = through
    killed: list[int] = []

    def plan(asked: Asked) -> None:
        if asked.path.startswith(moment) and not killed:
            (server,) = [item for item in read_status(kubeconfig.parent.name).daemons if item.name == "kube-apiserver"]
            killed.append(server.pid)
            os.kill(server.pid, signal.SIGKILL)

    proxy.plan = plan
    report = judge(spoilt)
    assert killed
    assert verdicts(report) == healthy
    assert report.retries > 0
