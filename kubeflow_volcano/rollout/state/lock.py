"""One roll-out at a time: a Lease that is renewed while the run lives, and runs out when it dies."""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.problems import Busy, Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.state.namespace import NAMESPACE, create_once, ensure_namespace

__all__ = ["Lease", "holder_of", "require_free"]

NAME = "rollout"
SECONDS = 30
"""After so long without renewal a holder counts as dead."""

_REF = Ref("coordination.k8s.io/v1", "Lease", NAMESPACE, NAME)
_PROCESS = "kubeflow-volcano/process"
"""Annotation that tells the holder's process from all others of its machine, so that its death is seen at once."""
_RENEW_SECONDS = 8.0
_LAST_SECONDS = 5.0
_TRIES = 3


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds the lock, until when, and as which process."""

    name: str
    until: datetime
    process: str

    @property
    def alive(self) -> bool:
        """Whether it may still be at work, as far as its own clock and this machine tell."""
        return self.until > datetime.now(UTC) and not self.ended

    @property
    def ended(self) -> bool:
        """Whether it was a process of this machine and is no more; of others nobody can tell from here."""
        machine, pid, start = (*self.process.split("/"), "", "", "")[:3]
        return bool(machine) and machine == _machine() and pid.isdigit() and _start_of(int(pid)) != start


class Lease:
    """Held inside the `with` block. `lost` is set when it is not held any more although the block still runs."""

    def __init__(self, cluster: Cluster, progress: Progress) -> None:
        self.lost = threading.Event()
        self._cluster = cluster
        self._progress = progress
        self._done = threading.Event()
        self._process = _this_process()
        self._name = f"{_user()}@{socket.gethostname()} (process {os.getpid()})"
        self._version = ""
        self._thread = threading.Thread(target=self._keep, daemon=True, name="lease")

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            Busy: another run holds it; names who, and until when.
            ApiError: it may not be read or written.
        """
        ensure_namespace(self._cluster)
        for _ in range(_TRIES):
            if self._take():
                self._thread.start()
                return self
        raise Busy(_busy(holder_of(self._cluster)))

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(timeout=15)
        if not self.lost.is_set():
            with contextlib.suppress(ApiError):
                if not self._write(self._spec(None), Deadline(_LAST_SECONDS)) and self._still_ours():
                    self._write(self._spec(None), Deadline(_LAST_SECONDS))

    def _take(self) -> bool:
        """Whether it is ours now; False when somebody was quicker."""
        live = self._cluster.get(_REF)
        if live is None:
            made = create_once(self._cluster, self._text(self._spec(self._name)))
            self._version = made["metadata"]["resourceVersion"] if made else ""
            return made is not None
        if self._still_ours():
            return True
        held = _holder(live)
        if held and (held.alive or self._renewed(live, held)):
            raise Busy(_busy(held))
        if held:
            self._progress(f"taking over from {held.name}, which ended without finishing")
        self._version = live["metadata"]["resourceVersion"]
        return self._write(self._spec(self._name), Deadline(20))

    def _renewed(self, live: Object, held: Holder) -> bool:
        """Whether a holder whose time seems to be over is at work nevertheless: its clock may be behind ours."""
        if held.ended:
            return False
        self._progress(f"seeing whether {held.name} still renews its lock")
        self._done.wait(_RENEW_SECONDS + 2)
        again = self._cluster.get(_REF)
        return again is not None and again["metadata"]["resourceVersion"] != live["metadata"]["resourceVersion"]

    def _keep(self) -> None:
        while not self._done.wait(_RENEW_SECONDS):
            try:
                if not self._write(self._spec(self._name), Deadline(_RENEW_SECONDS)) and not self._still_ours():
                    self.lost.set()
                    return
            except ApiError:
                continue  # a server that does not answer lets nobody else take it either

    def _still_ours(self) -> bool:
        """Whether it was an earlier try of our own that changed it, whose answer was lost, and nobody else."""
        live = self._cluster.get(_REF)
        held = _holder(live) if live else None
        if live is None or held is None or held.process != self._process:
            return False
        self._version = live["metadata"]["resourceVersion"]
        return True

    def _write(self, spec: Mapping[str, Any], deadline: Deadline) -> bool:
        """Whether the lease was as we last saw it, and now says this."""
        text = self._text(spec)
        text["metadata"]["resourceVersion"] = self._version
        try:
            self._version = self._cluster.replace(text, deadline=deadline)["metadata"]["resourceVersion"]
        except ApiError as error:
            if error.status in {HTTPStatus.CONFLICT, HTTPStatus.NOT_FOUND}:
                return False
            raise
        return True

    def _text(self, spec: Mapping[str, Any]) -> Object:
        meta = {"name": NAME, "namespace": NAMESPACE, "annotations": {_PROCESS: self._process}}
        return {"apiVersion": _REF.api_version, "kind": _REF.kind, "metadata": meta, "spec": dict(spec)}

    @staticmethod
    def _spec(holder: str | None) -> Mapping[str, Any]:
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        return {"holderIdentity": holder or "", "leaseDurationSeconds": SECONDS, "renewTime": now}


def require_free(cluster: Cluster) -> None:
    """See, before anything else is done, that no other run is under way; taking the lock is what makes it certain.

    Raises:
        Busy: one is; names who, and until when.
        ApiError: the lock may not be read.
    """
    held = holder_of(cluster)
    if held and held.alive:
        raise Busy(_busy(held))


def holder_of(cluster: Cluster) -> Holder | None:
    """Who holds the lock; None when nobody does.

    Raises:
        ApiError: it may not be read.
    """
    live = cluster.get(_REF)
    return _holder(live) if live else None


def _holder(live: Object) -> Holder | None:
    spec = live.get("spec") or {}
    name, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    if not name or not renewed:
        return None
    until = datetime.fromisoformat(renewed) + timedelta(seconds=spec.get("leaseDurationSeconds") or SECONDS)
    return Holder(name, until, (live["metadata"].get("annotations") or {}).get(_PROCESS, ""))


def _busy(held: Holder | None) -> Problem:
    who = f"{held.name}, until {held.until:%H:%M:%S} UTC if it does not renew" if held else "another run"
    return Problem(
        f"another roll-out is under way on this cluster: {who}.",
        "one roll-out at a time, for two would undo each other's work.",
        f"wait for it to end; if its machine has died, the lock ends by itself within {SECONDS} s.",
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        return str(os.getuid())


def _this_process() -> str:
    """Machine, process, its start, and a word that tells this lock from others of the same process."""
    return f"{_machine()}/{os.getpid()}/{_start_of(os.getpid())}/{secrets.token_hex(4)}"


def _machine() -> str:
    """This boot of this kernel, and our view of its processes; empty where the system does not tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _start_of(pid: int) -> str:
    """When the process started, in ticks since the boot; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        return ""
