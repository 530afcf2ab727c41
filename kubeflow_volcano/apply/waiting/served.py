"""Which CRDs are established and served, by discovery: a watch would send each CRD whole, several times."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from functools import cache, partial

from kubeflow_volcano.apply.waiting.monitor import Failed, Report
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import Readiness, State, assess
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import carrying_thread

_PAUSE_SECONDS, _LONG_PAUSE_SECONDS = 0.1, 0.3
_MANY = 20
"""While more than these are pending, polling less often leaves the API server more time to establish them."""
_LATE_SECONDS = 5.0
"""If none has become served for so long, the CRDs themselves are read, to find out what prevents it."""
_MISSES = 2
"""After so many group versions that are not served yet, pause: CRDs are established in turn."""


class Served:
    """Polls discovery in a thread of its own until it lists every served version of each armed CRD.

    Discovery lists the kind of an established CRD only. A CRD whose names are refused is reported as failed; at the
    deadline all others are reported as they are.
    """

    def __init__(
        self, cluster: Cluster, crds: Mapping[Ref, Object], deadline: Deadline, report: Report, failed: Failed
    ) -> None:
        """`failed` gets an exception that ended the thread."""
        self._cluster = cluster
        self._wanted = {ref: (obj["spec"]["names"]["kind"], _versions(obj)) for ref, obj in crds.items()}
        self._deadline = deadline
        self._report = report
        self._since: dict[Ref, float] = {}
        self._last_served = 0.0
        self.pending: dict[Ref, str] = {}
        """What is armed and not served yet, each with a sentence about its state."""
        self._stop = threading.Event()
        self._thread = carrying_thread(self._run, failed, "served")

    @property
    def busy(self) -> bool:
        """Whether CRDs are pending and none is late. Asked before each request, so only the oldest is examined."""
        oldest = next(iter(list(self._since)), None)
        return oldest is not None and not self._late(oldest)

    def arm(self, ref: Ref) -> None:
        """Report this CRD once it is served."""
        self.pending[ref] = f"{ref} is not served yet."
        self._since[ref] = time.monotonic()
        if not self._thread.ident:
            self._thread.start()

    def close(self) -> None:
        """Stop polling."""
        self._stop.set()
        if self._thread.ident:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        try:
            while not self._deadline.passed:
                if self._stop.wait(_LONG_PAUSE_SECONDS if len(self._since) > _MANY else _PAUSE_SECONDS):
                    return
                self._look()
                self._check_late()
            for ref in list(self._since):
                self._settle(ref, self._live(ref))
        except ApiError as error:
            for ref in list(self._since):
                self._settle(ref, error)

    def _look(self) -> None:
        kinds_of = cache(partial(self._cluster.kinds, deadline=self._deadline))
        missed: set[str] = set()
        for ref in list(self._since):
            kind, versions = self._wanted[ref]
            missing = next((version for version in versions if kind not in kinds_of(version)), None)
            if missing is None:
                self._settle(ref, Readiness(State.READY, "Served", f"{ref} is served."))
            elif not self._late(ref):
                missed.add(missing)
                if len(missed) == _MISSES:
                    return

    def _check_late(self) -> None:
        for ref in filter(self._late, list(self._since)):
            answer = self._live(ref)
            if answer.state is State.FAILED:
                self._settle(ref, answer)
            else:
                self.pending[ref] = answer.message

    def _late(self, ref: Ref) -> bool:
        """Whether it waits although no other CRD has become served for a while; CRDs are established in turn."""
        return max(self._since.get(ref, 0.0), self._last_served) < time.monotonic() - _LATE_SECONDS

    def _live(self, ref: Ref) -> Readiness:
        """The state of an unserved CRD by its own status."""
        live = self._cluster.get(ref)
        answer = assess(live) if live else Readiness(State.WAIT, "Gone", f"{ref} does not exist any more.")
        return Readiness(State.WAIT, "NotServed", f"{ref} is not served yet.") if answer.ready else answer

    def _settle(self, ref: Ref, answer: Readiness | ApiError) -> None:
        del self._since[ref], self.pending[ref]
        self._last_served = time.monotonic()
        self._report(ref, answer)


def _versions(crd: Object) -> tuple[str, ...]:
    spec = crd["spec"]
    return tuple(f"{spec['group']}/{item['name']}" for item in spec["versions"] if item["served"])
