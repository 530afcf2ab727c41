"""The storage experiments, at the same time: a round trip through the default class, and writing as each consumer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.facts import Facts, Probe
from kubeflow_volcano.validators.core.outcome import CannotJudgeError
from kubeflow_volcano.validators.core.resources import CLAIMS, NODES, PODS, STORAGE_CLASSES, VOLUMES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.acting import ACTING, POD_EVENTS
from kubeflow_volcano.validators.probes.storage.consumers import Skipped, targets
from kubeflow_volcano.validators.probes.storage.directories import MOST_BASES, Seen, bases, look
from kubeflow_volcano.validators.probes.storage.roundtrip import RoundTrip, run_round_trip
from kubeflow_volcano.validators.probes.storage.writing import Target, Written, write
from kubeflow_volcano.validators.subjects.storage_classes import effective_class

_AT_ONCE = 6
_Answer = TypeVar("_Answer")


@dataclass
class StorageEvidence:
    """What the experiments saw. `round_trip` is None without one default class, or in case of `round_trip_failure`.

    `references` says that no live pod mounts a claim, so that the catalog's identities were tried instead.
    """

    default_class: str = ""
    round_trip: RoundTrip | None = None
    round_trip_failure: tuple[str, str] | None = None
    written: tuple[Written, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    references: bool = False
    bases: tuple[Seen, ...] = ()
    bases_failure: tuple[str, str] | None = None
    failure: str = ""


def run(session: Session, facts: Facts, progress: Progress) -> StorageEvidence:
    """Try the default class and every consumer; about 15 s, bounded by the limits of the single experiments."""
    evidence = StorageEvidence()
    try:
        evidence.default_class = effective_class(facts)
        wanted, evidence.skipped = targets(facts)
    except CannotJudgeError as missing:
        evidence.failure = missing.outcome.message
        return evidence
    evidence.references = not any(item.consumers for item in wanted)
    _all_at_once(session, facts, evidence, wanted, progress)
    _look_at_bases(session, facts, evidence, progress)
    return evidence


def _all_at_once(
    session: Session, facts: Facts, evidence: StorageEvidence, wanted: tuple[Target, ...], progress: Progress
) -> None:
    written: list[Written] = []

    def circle() -> None:
        answer = _tried(lambda: run_round_trip(session, facts, evidence.default_class))
        if isinstance(answer, RoundTrip):
            evidence.round_trip = answer
        else:
            evidence.round_trip_failure = answer

    def consumer(number: int, target: Target) -> None:
        answer = _tried(lambda: write(session, target, number, facts))
        item = answer if isinstance(answer, Written) else Written(target, failure=answer)
        result = item.failure[0] if item.failure else item.cause or "may write"
        written.append(item)
        progress(f"D6 writing {len(written)} of {len(wanted)}: {target}: {result}")

    jobs: list[Callable[[], None]] = [partial(consumer, *item) for item in enumerate(wanted)]
    if evidence.default_class:
        progress(f"D5 round trip: 1 MiB through class {evidence.default_class}")
        jobs.insert(0, circle)
    in_parallel(lambda job: job(), jobs, _AT_ONCE)
    evidence.written = tuple(sorted(written, key=lambda item: str(item.target)))


def _look_at_bases(session: Session, facts: Facts, evidence: StorageEvidence, progress: Progress) -> None:
    """After the rest, as the kubelet makes a directory of volumes with the first volume in it."""
    try:
        places = bases(session, facts)[:MOST_BASES]
    except (ApiError, CannotJudgeError) as error:
        evidence.bases_failure = "ProbeInterrupted", str(error)
        return
    if places:
        progress(f"D8 looking at {counted(len(places), 'directory', 'directories')} of volumes")
    jobs = [partial(look, session, place, number, facts.timing.pod_seconds) for number, place in enumerate(places)]
    for answer in in_parallel(_tried, jobs, _AT_ONCE):
        if isinstance(answer, Seen):
            evidence.bases += (answer,)
        else:
            evidence.bases_failure = answer


def _tried(action: Callable[[], _Answer]) -> _Answer | tuple[str, str]:
    """The experiment's answer, or reason and text of what kept it from being made."""
    try:
        return action()
    except ProbeRefused as refusal:
        return "ProbeRefused", str(refusal)
    except ApiError as error:
        return "ProbeInterrupted", str(error)


STORAGE = Probe[StorageEvidence](
    "storage",
    run,
    "storage",
    reads=(STORAGE_CLASSES, CLAIMS, VOLUMES, PODS, NODES),
    needs=(
        *ACTING,
        *POD_EVENTS,
        *(Rule(verb, "", "persistentvolumeclaims") for verb in ("create", "delete", "get", "watch")),
        *(Rule(verb, "", "persistentvolumes") for verb in ("get", "watch", "patch")),
    ),
)
