"""Readiness of workloads and other objects: a few watches for all of them, one report for each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.readiness import Readiness, State
from kubeflow_volcano.cluster.watch.observer import Observer
from kubeflow_volcano.cluster.watch.waiting import View, subjects
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import carrying_thread

_TICK_SECONDS = 0.2

Report = Callable[[Ref, Readiness | ApiError], None]
Failed = Callable[[BaseException], None]


class Monitor:
    """Watches `refs` in a thread of its own and reports each armed object once, when it is ready or has failed.

    An object is armed after the API server accepted it, with the generation that it has then: the state of an earlier
    generation does not count. At the deadline objects that are not ready are reported as they are.
    """

    def __init__(
        self, cluster: Cluster, refs: Collection[Ref], deadline: Deadline, report: Report, failed: Failed
    ) -> None:
        """`failed` gets an exception that ended the thread."""
        self._cluster = cluster
        self._refs = tuple(refs)
        self._deadline = deadline
        self._report = report
        self._armed: dict[Ref, int] = {}
        self.pending: dict[Ref, str] = {}
        """What is armed and not reported yet, each with a sentence about its state."""
        self._stop = threading.Event()
        self._thread = carrying_thread(self._run, failed, "monitor")

    def arm(self, ref: Ref, generation: int) -> None:
        """Report this object; the first call starts the watch."""
        self._armed[ref] = generation
        if not self._thread.ident:
            self._thread.start()

    def stop(self) -> None:
        """End the watch soon; may be called from its own thread."""
        self._stop.set()

    def close(self) -> None:
        """End the watch."""
        self.stop()
        if self._thread.ident:
            self._thread.join(timeout=10)

    def _run(self) -> None:
        view = View(self._refs)
        try:
            with Observer(self._cluster, subjects(self._refs), self._deadline) as observer:
                for change in observer.changes(tick=_TICK_SECONDS):
                    if self._stop.is_set():
                        return
                    if change:
                        view.take(change)
                    if view.complete:
                        self._look(view)
        except ApiError as error:
            for ref in self._refs:
                self._report(ref, error)
            return
        for ref in list(self._armed):
            self._report(ref, view.answer(ref))

    def _look(self, view: View) -> None:
        for ref, generation in list(self._armed.items()):
            answer = view.answer(ref)
            settled = answer.ready or answer.state is State.FAILED
            if settled and view.generation(ref) >= generation:
                del self._armed[ref]
                self.pending.pop(ref, None)
                self._report(ref, answer)
            else:
                self.pending[ref] = answer.message
