"""The lock: a Lease that allows one roll-out at a time, and expires if its holder dies."""

from __future__ import annotations

import contextlib
import getpass
import os
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Self

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import carrying_thread
from kubeflow_volcano.problems import Busy, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.state.holder import Holder, Life, holder_name
from kubeflow_volcano.rollout.state.store import NAMESPACE, create_once, ensure_namespace

NAME = "rollout"
SECONDS = 45
"""leaseDurationSeconds: a holder that has not renewed the Lease for so long counts as dead."""

LEASE = Ref("coordination.k8s.io/v1", "Lease", NAMESPACE, NAME)
_RENEW_SECONDS = 8.0
_RETRY_SECONDS = 1.0
_TRY_SECONDS = 15.0
_RENEW_DEADLINE_SECONDS = 35.0
"""A holder that cannot renew for so long gives up, before another may take over (renewDeadline of client-go)."""
_LAST_SECONDS = 5.0
_TRIES = 3


class Lock:
    """Held inside the `with` block. `lost` is set if another run takes it over, or it cannot be renewed."""

    def __init__(self, cluster: Cluster, progress: Progress, on_loss: Callable[[], None] = lambda: None) -> None:
        """`on_loss` is called once `lost` is set, from a thread of the lock."""
        self.lost = threading.Event()
        self._on_loss = on_loss
        self._broken: BaseException | None = None
        self._until = Deadline(_RENEW_DEADLINE_SECONDS)
        self._cluster = cluster
        self._progress = progress
        self._done = threading.Event()
        self._name = holder_name(_user())
        self._version = ""
        # Two threads: a request that hangs, such as in a resolver, must not keep this run from giving up in time.
        self._threads = tuple(carrying_thread(work, self._break, "lock") for work in (self._keep, self._guard))

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            Busy: another roll-out holds it; names the holder and the expiry.
            ApiError: the Lease cannot be read or written.
        """
        ensure_namespace(self._cluster)
        for _ in range(_TRIES):
            if self._take():
                for thread in self._threads:
                    thread.start()
                return self
        raise Busy(_busy(holder_of(self._cluster)))

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(timeout=15)
        if not self.lost.is_set():
            with contextlib.suppress(ApiError):
                if not self._write(self._spec(None), Deadline(_LAST_SECONDS)) and self._still_ours():
                    self._write(self._spec(None), Deadline(_LAST_SECONDS))
        if self._broken and not error:
            raise self._broken

    def _take(self) -> bool:
        """Try to take the lock; returns False if another client was faster."""
        live = self._cluster.get(LEASE)
        if live is None:
            self._until = Deadline(_RENEW_DEADLINE_SECONDS)
            made = create_once(self._cluster, self._text(self._spec(self._name)))
            self._version = made["metadata"]["resourceVersion"] if made else ""
            return made is not None
        if self._still_ours():
            return True
        held = _holder(live)
        if held:
            self._await_expiry(live, held)
            self._progress(f"taking over the lock of {held.name}, which exited without releasing it")
        self._version = live["metadata"]["resourceVersion"]
        self._until = Deadline(_RENEW_DEADLINE_SECONDS)
        return self._write(self._spec(self._name), self._until)

    def _await_expiry(self, live: Object, held: Holder) -> None:
        """Wait until the Lease expires, and at least for one renewal: the clock of its holder may be slow.

        Raises:
            Busy: the holder renews it.
        """
        left = (held.until - datetime.now(UTC)).total_seconds()
        gone = ", but its process is gone" if held.life() is Life.GONE else ""
        self._progress(f"{held.name} holds the lock{gone}; waiting for it to renew or expire")
        for _ in Deadline(min(max(left, _RENEW_SECONDS + 2), SECONDS)).every(1.0):
            again = self._cluster.get(LEASE)
            if again is None or again["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]:
                holder = _holder(again) if again else None
                if holder is None:
                    return  # released meanwhile; the next attempt takes it
                raise Busy(_busy(holder))

    def _keep(self) -> None:
        """Renew the Lease until the end. Its seconds count from before the request, as renewTime does.

        A renewal that failed is repeated soon: with another pause before it there would be no time for a second one.
        """
        pause = _RENEW_SECONDS
        while not (self._done.wait(pause) or self.lost.is_set()):
            pause = _RETRY_SECONDS
            renewed, try_until = Deadline(_RENEW_DEADLINE_SECONDS), self._until.at_most(_TRY_SECONDS)
            with contextlib.suppress(ApiError):
                if not self._write(self._spec(self._name), try_until) and not self._still_ours(try_until):
                    self._mark_lost()
                    return
                self._until, pause = renewed, _RENEW_SECONDS

    def _guard(self) -> None:
        """Give up when the Lease has not been renewed in time."""
        while not (self._done.wait(self._until.remaining) or self.lost.is_set()):
            if self._until.passed:
                self._mark_lost()

    def _mark_lost(self) -> None:
        self.lost.set()
        self._on_loss()

    def _break(self, error: BaseException) -> None:
        """End the run for an unexpected exception; leaving the block raises it."""
        self._broken = error
        self._mark_lost()

    def _still_ours(self, deadline: Deadline | None = None) -> bool:
        """Whether this process holds the Lease, by an earlier request whose answer was lost."""
        live = self._cluster.get(LEASE, deadline=deadline)
        held = _holder(live) if live else None
        if live is None or held is None or held.name != self._name:
            return False
        self._version = live["metadata"]["resourceVersion"]
        return True

    def _write(self, spec: Mapping[str, Any], deadline: Deadline) -> bool:
        """Write the Lease; returns False if another client has changed it since it was read."""
        text = self._text(spec)
        text["metadata"]["resourceVersion"] = self._version
        try:
            self._version = self._cluster.replace(text, deadline=deadline)["metadata"]["resourceVersion"]
        except ApiError as error:
            if error.status in {HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}:
                return False
            raise
        return True

    @staticmethod
    def _text(spec: Mapping[str, Any]) -> Object:
        return new_object(LEASE.api_version, LEASE.kind, NAME, NAMESPACE, spec=dict(spec))

    @staticmethod
    def _spec(holder: str | None) -> Mapping[str, Any]:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        return {"holderIdentity": holder or "", "leaseDurationSeconds": SECONDS, "renewTime": now}


def holder_of(cluster: Cluster) -> Holder | None:
    """The holder of the lock; None if it is free.

    Raises:
        ApiError: the Lease cannot be read.
    """
    live = cluster.get(LEASE)
    return _holder(live) if live else None


def _holder(live: Object) -> Holder | None:
    spec = live.get("spec") or {}
    name, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    if not name or not renewed:
        return None
    until = datetime.fromisoformat(renewed) + timedelta(seconds=spec.get("leaseDurationSeconds") or SECONDS)
    return Holder(name, until)


def _busy(held: Holder | None) -> Problem:
    who = f"{held.name}, until {held.until:%H:%M:%S} UTC unless renewed" if held else "another run"
    wait = f"wait until it finishes and run again; if its process has died, the lock expires within {SECONDS} s."
    state, todo = held.described(wait) if held else ("", wait)
    return Problem(
        f"another roll-out holds the lock of this cluster: {who}.{state}",
        "one roll-out at a time; two would overwrite each other.",
        todo,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return str(os.getuid())
