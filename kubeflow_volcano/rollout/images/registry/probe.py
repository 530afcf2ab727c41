"""Asks the mirror for each image, slowly, and stops before the mirror takes offence. Optional, and never by pulling."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from http import HTTPStatus

from kubeflow_volcano.catalog.images.mirrors import mirror_of
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.images.registry.client import Answer, Registry
from kubeflow_volcano.rollout.images.registry.pace import PerMinute
from kubeflow_volcano.rollout.images.report.image_list import Entry, ImagesReport
from kubeflow_volcano.rollout.settings.images import MirrorSettings
from kubeflow_volcano.text import counted

__all__ = ["MOST_REFUSALS", "Probe", "Probed", "ask", "ask_mirror", "pace_for", "probe"]

MOST_REFUSALS = 10
"""Answers of 403, 404, 429 and 5xx after which nobody is asked any more; the known mirror bans at 100 in two days."""

_PAUSE_SECONDS = 60.0
"""After a 429 that does not say for how long."""

_LONGEST_PAUSE_SECONDS = 120.0
_BEAT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Probed:
    """One name and its verdict: there, missing (404), refused (401, 403), unanswered or unasked; `why` for a person.

    `digest` is the registry's own for what is there, empty where it does not say.
    """

    image: str
    verdict: str
    why: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Probe:
    """All names, in their order; `requests` were sent; `stopped` says why not all were asked, empty where all were.

    `silent` is true where it was stopped because nobody answers, or nobody who is trusted: not a refusal.
    """

    answers: tuple[Probed, ...]
    requests: int
    stopped: str
    silent: bool = False

    def problems(self) -> Iterator[Problem]:
        """What stands in the way of pulling."""
        for verdict, needed in (
            ("missing", "images that the mirror has."),
            ("refused", "images that the mirror serves to everybody."),
            ("unanswered", "an answer of the mirror."),
        ):
            bad = [item for item in self.answers if item.verdict == verdict]
            if bad:
                names = ", ".join(f"{item.image} ({item.why})" for item in bad)
                yield Problem(
                    f"{counted(len(bad), 'image')} {verdict} on the mirror: {names}.",
                    needed,
                    "correct image_mirror_rules or image_mirror_overrides; don't ask again soon for what was refused.",
                )
        if self.stopped:
            left = [item for item in self.answers if item.why == self.stopped]
            yield Problem(
                f"the mirror was not asked for {counted(len(left), 'image')}: {self.stopped}.",
                "answers that do not look like a ban in the making.",
                "see the answers so far; ask again later, or set image_mirror_probe: false.",
            )


def probe(entries: Iterable[Entry], registry: Registry, pace: PerMinute, parallel: int, progress: Progress) -> Probe:
    """Ask for each name on a mirror once, at most `parallel` at a time and as often as `pace` allows.

    Names that are known to be gone or not served are not asked for. A 403 or 404 is final; a 429 is repeated once,
    after the time that the mirror asks for.
    """
    names: dict[str, str] = {}
    for entry in entries:
        if entry.use.covered:
            known = "gone upstream" if entry.judgement.gone else ""
            known = "not on the mirror's list" if entry.judgement.served is False else known
            names[entry.use.mirrored] = known
    return ask(names, registry, pace, parallel, progress)


def ask(
    names: Mapping[str, str],
    registry: Registry,
    pace: PerMinute,
    parallel: int,
    progress: Progress,
    *,
    most_refusals: int = MOST_REFUSALS,
) -> Probe:
    """Ask for each name once, but for those with a reason not to; and for no more after so many refusals."""
    total = len([known for known in names.values() if not known])
    run = _Run(registry, pace, most_refusals)
    progress(f"asking the mirror for {total} images, at most {pace.limit} requests a minute")
    with ThreadPoolExecutor(max_workers=parallel) as pool:
        try:
            answers = [pool.submit(run.ask, name, known) for name, known in names.items()]
            while wait(answers, timeout=_BEAT_SECONDS).not_done:
                progress(f"asked the mirror for {run.seen.total()} of {total} images: {run}")
        except BaseException:  # also an interruption: nobody waits for the next minute
            pace.call_off()
            raise
    return Probe(tuple(answer.result() for answer in answers), pace.taken, run.stopped, run.silent)


def pace_for(names: Iterable[str], per_minute: int) -> PerMinute:
    """So many requests a minute, and no more than a known mirror among the hosts of these names allows."""
    images = filter(None, map(ImageName.parse, names))
    rates = {found.requests_per_minute for image in images if (found := mirror_of(image))}
    return PerMinute(min({per_minute, *rates}))


def ask_mirror(report: ImagesReport, mirror: MirrorSettings, progress: Progress) -> Probe:
    """Probe the images of a report as the inventory says, and a known mirror no more often than it allows."""
    names = (entry.use.mirrored for entry in report.entries if entry.use.covered)
    pace = pace_for(names, mirror.probe_per_minute)
    return probe(report.entries, Registry(pace), pace, mirror.probe_parallel, progress)


class _Run:
    def __init__(self, registry: Registry, pace: PerMinute, most_refusals: int) -> None:
        self._registry = registry
        self._pace = pace
        self._most_refusals = most_refusals
        self._refusals = 0
        self._in_a_row = 0
        self._lock = threading.Lock()
        self.seen: Counter[str] = Counter()
        self.stopped = ""
        self.silent = False

    def __str__(self) -> str:
        return ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.seen.items())) or "no answer yet"

    def ask(self, name: str, known: str) -> Probed:
        image = ImageName.parse(name)
        if known or self.stopped or image is None:
            return Probed(name, "unasked", known or self.stopped or "no reference")
        answer = self._registry.head(image)
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS and answer.retry_after <= _LONGEST_PAUSE_SECONDS:
            self._count(answer)
            self._pace.pause(answer.retry_after or _PAUSE_SECONDS)
            if not self.stopped:
                answer = self._registry.head(image)
                if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
                    self._stop("it answers 429, too many requests, again")
        self._count(answer)
        return self._judged(name, answer)

    def _judged(self, name: str, answer: Answer) -> Probed:
        status = answer.status
        if status == HTTPStatus.OK:
            verdict, why = "there", ""
        elif status == HTTPStatus.NOT_FOUND:
            verdict, why = "missing", "404"
        elif status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            verdict, why = "refused", str(int(status))
        else:
            verdict, why = "unanswered", answer.error or str(status)
        with self._lock:
            self.seen[verdict] += 1
        return Probed(name, verdict, why, answer.digest)

    def _count(self, answer: Answer) -> None:
        with self._lock:
            self._refusals += answer.status >= HTTPStatus.FORBIDDEN
            self._in_a_row = 0 if answer.status else self._in_a_row + 1
            refusals, silent = self._refusals, self._in_a_row
        if answer.untrusted:
            self._stop(f"its certificate is not trusted: {answer.error}", silent=True)
        elif refusals >= self._most_refusals:
            self._stop(f"{refusals} answers of 403, 404, 429 or 5xx")
        elif silent >= 3:  # noqa: PLR2004  one may be an accident
            self._stop(f"no answer three times in a row: {answer.error}", silent=True)
        elif answer.status == HTTPStatus.TOO_MANY_REQUESTS and answer.retry_after > _LONGEST_PAUSE_SECONDS:
            self._stop(f"it asks to wait {answer.retry_after:.0f} s")

    def _stop(self, why: str, *, silent: bool = False) -> None:
        with self._lock:
            self.silent = self.silent if self.stopped else silent
            self.stopped = self.stopped or why
