"""Waiting for readiness by watches, with progress; ends early if an object cannot become ready."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import (
    BAD_IMAGE_REASONS,
    PROGRESS_DEADLINE,
    Readiness,
    State,
    assess,
    assess_pod,
    is_being_created,
)
from kubeflow_volcano.cluster.watch.observer import Change, Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import Progress

_GRACE_SECONDS = 20.0
"""How long a failure may last that sometimes recovers by itself (crash loop, image, name conflict)."""
_SETTLE_SECONDS = 3.0
"""How long to wait after the first failure, so that one message names all failures."""
_PACE_SECONDS, _SILENCE_SECONDS = 2.0, 10.0
_TICK_SECONDS = 0.5
_OWNERS_OF_PODS = frozenset({"DaemonSet", "Deployment", "Job", "StatefulSet"})
_REVISION = "deployment.kubernetes.io/revision"


def wait_ready(
    cluster: Cluster,
    refs: Sequence[Ref],
    deadline: Deadline,
    progress: Progress,
    *,
    renew: bool = False,
    each: bool = False,
) -> dict[Ref, Readiness]:
    """Wait until all `refs` are ready, one of them has failed, or the deadline passes; returns the state of each.

    With `each` a failure does not end the wait for the others. With `renew` the deadline restarts whenever another
    object becomes ready. An object that is deleted meanwhile is
    FAILED with reason Vanished. The message of a workload that is not ready ends with the worst state of its pods.

    Raises:
        ApiError: an object cannot be read.
    """
    wanted = tuple(dict.fromkeys(refs))
    if not wanted:
        return {}
    view = View(wanted)
    reporter = _ProgressReporter(progress)
    most = 0
    with Observer(cluster, subjects(wanted), deadline) as observer:
        for change in observer.changes(tick=_TICK_SECONDS):
            if change:
                view.take(change)
            if not view.complete:
                continue
            answers = view.answers()
            if view.is_settled(answers, each=each):
                return answers
            ready = sum(answer.ready for answer in answers.values())
            if renew and ready > most:
                most = ready
                deadline.renew()
            reporter.report(answers, deadline)
    return view.answers()


def subjects(refs: Iterable[Ref]) -> list[Subject]:
    """The collections that show the readiness of `refs`: their own, and those of their pods."""
    kinds = {Subject(ref.api_version, ref.kind, ref.namespace) for ref in refs}
    for ref in refs:
        if ref.kind in _OWNERS_OF_PODS:
            kinds.add(Subject("v1", "Pod", ref.namespace))
        if ref.kind == "Deployment":
            kinds.add(Subject("apps/v1", "ReplicaSet", ref.namespace))
    return sorted(kinds, key=lambda subject: (subject.api_version, subject.kind, subject.namespace))


class View:
    """The last known state of the wanted objects and their pods."""

    def __init__(self, wanted: tuple[Ref, ...]) -> None:
        self._wanted = wanted
        self._missing = set(subjects(wanted))
        self._objects: dict[Subject, dict[str, Object]] = {}
        self._seen: set[Ref] = set()
        self._failing_since: dict[Ref, float] = {}
        self._first_failure: float | None = None

    @property
    def complete(self) -> bool:
        """Whether every collection has been listed once."""
        return not self._missing

    def take(self, change: Change) -> None:
        """Update the state by one change."""
        self._missing.discard(change.subject)
        known = self._objects.setdefault(change.subject, {})
        if change.type == "RESET":
            known.clear()
        for obj in change.objects:
            name = obj["metadata"]["name"]
            # Also what goes before every collection has been listed has existed.
            self._seen.add(Ref(change.subject.api_version, change.subject.kind, change.subject.namespace, name))
            if change.type == "DELETED":
                known.pop(name, None)
            else:
                known[name] = _light(obj)

    def answers(self) -> dict[Ref, Readiness]:
        """The current readiness of every wanted object."""
        return {ref: self.answer(ref) for ref in self._wanted}

    def generation(self, ref: Ref) -> int:
        """The generation of the object in this view; 0 if it does not exist."""
        obj = self._objects.get(Subject(ref.api_version, ref.kind, ref.namespace), {}).get(ref.name)
        number: int = obj["metadata"].get("generation", 0) if obj else 0
        return number

    def is_settled(self, answers: dict[Ref, Readiness], *, each: bool = False) -> bool:
        """Whether waiting can end: all are ready or have failed, or, unless `each`, a failure has lasted 3 s."""
        if not each and any(answer.state is State.FAILED for answer in answers.values()):
            self._first_failure = self._first_failure or time.monotonic()
            if time.monotonic() - self._first_failure >= _SETTLE_SECONDS:
                return True
        else:
            self._first_failure = None
        return all(answer.ready or answer.state is State.FAILED for answer in answers.values())

    def answer(self, ref: Ref) -> Readiness:
        """The current readiness of one object."""
        obj = self._objects.get(Subject(ref.api_version, ref.kind, ref.namespace), {}).get(ref.name)
        if obj is None:
            if ref in self._seen:
                return Readiness(State.FAILED, "Vanished", f"{ref} existed and was deleted.")
            return Readiness(State.WAIT, "NotFound", f"{ref} does not exist yet.")
        answer = assess(obj)
        if answer.state is State.FAILED and ref.kind == "Job":
            return answer
        if not answer.ready and ref.kind in _OWNERS_OF_PODS:
            answer = self._with_pods(obj, answer)
        return self._with_grace(ref, answer)

    def _with_grace(self, ref: Ref, answer: Readiness) -> Readiness:
        """WAIT instead of FAILED until the object has failed for the grace period without becoming ready."""
        if answer.ready:
            self._failing_since.pop(ref, None)
        if answer.state is not State.FAILED:
            return answer
        since = self._failing_since.setdefault(ref, time.monotonic())
        if time.monotonic() - since >= _GRACE_SECONDS:
            return answer
        return Readiness(State.WAIT, answer.reason, answer.message)

    def _with_pods(self, workload: Object, answer: Readiness) -> Readiness:
        """Add the worst state of the workload's pods to `answer`; a Job replaces failed pods."""
        pods = list(self._pods(workload))
        troubles = [
            trouble
            for trouble in map(assess_pod, pods)
            if not trouble.ready
            and (workload["kind"] != "Job" or trouble.state is State.WAIT or trouble.reason in BAD_IMAGE_REASONS)
        ]
        if not troubles:
            return answer
        if answer.reason == PROGRESS_DEADLINE and any(map(is_being_created, pods)):
            # Its clock knows nothing of images that are pulled for longer; the wait has a deadline of its own.
            answer = Readiness(State.WAIT, answer.reason, answer.message)
        worst = min(troubles, key=lambda trouble: trouble.state is not State.FAILED)
        message = f"{answer.message} {worst.message}"
        if worst.state is State.FAILED:
            return Readiness(State.FAILED, worst.reason, message)
        return Readiness(answer.state, answer.reason, message)

    def _pods(self, workload: Object) -> Iterator[Object]:
        namespace = workload["metadata"]["namespace"]
        owners = self._owners(workload)
        for pod in self._objects.get(Subject("v1", "Pod", namespace), {}).values():
            if any(owner["uid"] in owners for owner in pod["metadata"].get("ownerReferences") or ()):
                yield pod

    def _owners(self, workload: Object) -> set[str]:
        """UIDs of the owners of a workload's current pods; pods of older revisions do not count."""
        own: str = workload["metadata"]["uid"]
        if workload["kind"] != "Deployment":
            return {own}
        revision = (workload["metadata"].get("annotations") or {}).get(_REVISION)
        sets = self._objects.get(Subject("apps/v1", "ReplicaSet", workload["metadata"]["namespace"]), {})
        return {
            item["metadata"]["uid"]
            for item in sets.values()
            if (item["metadata"].get("annotations") or {}).get(_REVISION) == revision
            and any(owner["uid"] == own for owner in item["metadata"].get("ownerReferences") or ())
        }


def _light(obj: Object) -> Object:
    """Drop long fields that no predicate reads: managedFields, and the schemas of a CRD."""
    obj["metadata"].pop("managedFields", None)
    if obj["kind"] == "CustomResourceDefinition":
        obj.pop("spec", None)
    return obj


class _ProgressReporter:
    """Reports the first object that is not ready: on change at most every 2 seconds, otherwise every 10."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = ""
        self._at = time.monotonic() - _PACE_SECONDS / 2

    def report(self, answers: dict[Ref, Readiness], deadline: Deadline) -> None:
        """Report how many objects are not ready, and the state of the first, unless the last line is too young."""
        waiting = [answer for answer in answers.values() if not answer.ready]
        line = f"waiting for {len(waiting)} of {len(answers)}: {waiting[0].message}"
        silent = time.monotonic() - self._at
        if silent < (_SILENCE_SECONDS if line == self._last else _PACE_SECONDS):
            return
        self._last, self._at = line, time.monotonic()
        self._progress(f"{line} ({deadline.remaining:.0f} s left)")
