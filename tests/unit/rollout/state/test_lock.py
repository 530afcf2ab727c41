"""The lock gives up before another roll-out may take it, whatever keeps it from renewing."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Busy
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.state import lock as module
from kubeflow_volcano.rollout.state.lock import Lock

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kubeflow-volcano/leases"
LEASE = f"{LEASES}/rollout"


@pytest.fixture
def leases(api: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server on which nobody holds the lock; whoever takes it renews it every 0.1 s, and gives up after 1 s."""
    monkeypatch.setattr(module, "_RENEW_SECONDS", 0.1)
    monkeypatch.setattr(module, "_RENEW_DEADLINE_SECONDS", 1.0)
    kinds = [{"kind": "Lease", "name": "leases", "namespaced": True}]
    api.on("GET", "/apis/coordination.k8s.io/v1", api.reply(body={"resources": kinds}))
    api.on("GET", "/api/v1/namespaces/kubeflow-volcano", api.reply(body={"metadata": {"name": "kubeflow-volcano"}}))
    api.on("POST", LEASES, api.reply(body={"metadata": {"resourceVersion": "1"}}))
    api.on("PUT", LEASE, api.reply(body={"metadata": {"resourceVersion": "2"}}))
    return api


def test_a_lock_that_is_renewed_is_kept_and_released(leases: Any) -> None:
    with Lock(leases.connect(), silent) as lock:
        assert not lock.lost.wait(1.5)
    assert leases.seen("PUT", LEASE)[-1].body["spec"]["holderIdentity"] == ""


@pytest.mark.parametrize("code", [403, 503])
def test_a_lock_that_cannot_be_renewed_is_given_up_in_time(leases: Any, code: int) -> None:
    leases.on("PUT", LEASE, leases.status(code, "Trouble", "not now"))
    ended = threading.Event()
    started = time.monotonic()
    with Lock(leases.connect(), silent, ended.set) as lock:
        assert lock.lost.wait(20)
        assert ended.wait(20)
        assert 0.9 < time.monotonic() - started < 10
    assert ended.is_set()


def test_a_request_that_hangs_does_not_keep_the_lock_from_being_given_up(
    leases: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hang(*_: object, **__: object) -> Any:
        """As in a resolver or a credential plugin, which know no deadline."""
        leases.stop.wait(30)
        return {"metadata": {"resourceVersion": "2"}}

    cluster = leases.connect()
    monkeypatch.setattr(cluster, "replace", hang)
    with Lock(cluster, silent) as lock:
        assert lock.lost.wait(10)
        leases.stop.set()


def test_one_renewal_that_fails_late_is_repeated_in_time(leases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In less than the times that hold for real: the second pause would end after the lock is given up."""
    for name, seconds in {
        "_RENEW_SECONDS": 1.0,
        "_TRY_SECONDS": 1.0,
        "_RENEW_DEADLINE_SECONDS": 2.9,
        "_RETRY_SECONDS": 0.125,
    }.items():
        monkeypatch.setattr(module, name, seconds)
    cluster = leases.connect()
    replace = cluster.replace
    failed: list[object] = []

    def late_at_first(text: Any, *, deadline: Deadline) -> Any:
        if not failed:
            failed.append(text)
            time.sleep(deadline.remaining)
            raise ApiError(503, "ServiceUnavailable", "not now")
        return replace(text, deadline=deadline)

    monkeypatch.setattr(cluster, "replace", late_at_first)
    with Lock(cluster, silent) as lock:
        assert not lock.lost.wait(3.5)
    assert failed


def test_an_unexpected_exception_ends_the_run_at_once_and_is_raised(leases: Any) -> None:
    renewed = leases.reply(body={"metadata": {"resourceVersion": "2"}})
    leases.on("PUT", LEASE, leases.reply(body={"metadata": {}}), renewed)
    with pytest.raises(KeyError, match="resourceVersion"), Lock(leases.connect(), silent) as lock:
        assert lock.lost.wait(20)


def test_an_exception_of_the_run_comes_before_one_of_the_lock(leases: Any) -> None:
    leases.on("PUT", LEASE, leases.reply(body={"metadata": {}}))
    with pytest.raises(ZeroDivisionError), Lock(leases.connect(), silent) as lock:
        assert 1 / (not lock.lost.wait(20))


def test_a_holder_that_renews_is_named(leases: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 3)
    versions = iter(range(100))

    def lease(_asked: Any) -> Any:
        spec = {"holderIdentity": "someone", "renewTime": (datetime.now(UTC) + timedelta(seconds=1)).isoformat()}
        return leases.reply(body={"metadata": {"resourceVersion": str(next(versions))}, "spec": spec})

    leases.on("GET", LEASE, lease)
    with pytest.raises(Busy, match="someone"):
        Lock(leases.connect(), silent).__enter__()
