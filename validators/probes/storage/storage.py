"""The storage experiments: one turn through the default class, and writing as each consumer; all at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.experiment.session import ProbeRefused, Session
from kubeflow_volcano.progress import Progress
from validators.core.facts import Facts
from validators.core.outcome import CannotJudgeError
from validators.probes.storage.consumers import Skipped, targets
from validators.probes.storage.directories import MOST_BASES, Seen, bases, look
from validators.probes.storage.roundtrip import RoundTrip, turn
from validators.probes.storage.writing import Target, Written, write
from validators.subjects.storage_classes import default_classes

__all__ = ["StorageEvidence", "run"]

_AT_ONCE = 6
_Answer = TypeVar("_Answer")


@dataclass
class StorageEvidence:
    """What the experiments saw. `turn` is None when there is not one default class, or in case of `turn_trouble`.

    `references` says that no live pod mounts a claim, so that the catalog's identities were tried instead.
    """

    default_class: str = ""
    turn: RoundTrip | None = None
    turn_trouble: tuple[str, str] | None = None
    written: tuple[Written, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    references: bool = False
    bases: tuple[Seen, ...] = ()
    bases_trouble: tuple[str, str] | None = None
    trouble: str = ""
    seconds: float = 0.0


def run(session: Session, facts: Facts, progress: Progress) -> StorageEvidence:
    """Try the default class and every consumer; about 15 s, bounded by the limits of the single experiments."""
    started = time.monotonic()
    evidence = StorageEvidence()
    try:
        defaults = default_classes(facts)
        evidence.default_class = defaults[0] if len(defaults) == 1 else ""  # which one people get is D1's matter
        wanted, evidence.skipped = targets(facts)
    except CannotJudgeError as missing:
        evidence.trouble = missing.outcome.message
        return evidence
    evidence.references = not any(item.consumers for item in wanted)
    _all_at_once(session, facts, evidence, wanted, progress)
    _look_at_bases(session, facts, evidence, progress)
    evidence.seconds = time.monotonic() - started
    return evidence


def _all_at_once(
    session: Session, facts: Facts, evidence: StorageEvidence, wanted: tuple[Target, ...], progress: Progress
) -> None:
    pool = ThreadPoolExecutor(_AT_ONCE, "storage")
    try:
        circle = None
        if evidence.default_class:
            progress(f"D5 round trip: 1 MiB through class {evidence.default_class}")
            circle = pool.submit(_tried, lambda: turn(session, facts, evidence.default_class))
        jobs = {_submit(pool, session, target, number): target for number, target in enumerate(wanted)}
        written: list[Written] = []
        for future in as_completed(jobs):
            answer = future.result()
            item = answer if isinstance(answer, Written) else Written(jobs[future], trouble=answer)
            result = item.trouble[0] if item.trouble else item.cause or "may write"
            progress(f"D6 writing {len(written) + 1} of {len(jobs)}: {item.target}: {result}")
            written.append(item)
        evidence.written = tuple(sorted(written, key=lambda item: str(item.target)))
        answer_of_turn = circle.result() if circle else None
        if isinstance(answer_of_turn, RoundTrip):
            evidence.turn = answer_of_turn
        else:
            evidence.turn_trouble = answer_of_turn
    except BaseException:
        session.stop()  # ends the waits in the other threads, so that cleaning up may begin
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _look_at_bases(session: Session, facts: Facts, evidence: StorageEvidence, progress: Progress) -> None:
    """After the rest, as the kubelet makes a directory of volumes with the first volume in it."""
    try:
        places = bases(session, facts)[:MOST_BASES]
    except (ApiError, CannotJudgeError) as error:
        evidence.bases_trouble = "ProbeInterrupted", str(error)
        return
    if places:
        progress(f"D8 looking at {len(places)} directories of volumes")
    pool = ThreadPoolExecutor(_AT_ONCE, "bases")
    try:
        jobs = [pool.submit(_tried, partial(look, session, place, number)) for number, place in enumerate(places)]
        for job in jobs:
            answer = job.result()
            if isinstance(answer, Seen):
                evidence.bases += (answer,)
            else:
                evidence.bases_trouble = answer
    except BaseException:
        session.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _submit(
    pool: ThreadPoolExecutor, session: Session, target: Target, number: int
) -> Future[Written | tuple[str, str]]:
    return pool.submit(_tried, lambda: write(session, target, number))


def _tried(action: Callable[[], _Answer]) -> _Answer | tuple[str, str]:
    """The experiment's answer, or reason and text of what kept it from being made."""
    try:
        return action()
    except ProbeRefused as refusal:
        return "ProbeRefused", str(refusal)
    except ApiError as error:
        return "ProbeInterrupted", str(error)
