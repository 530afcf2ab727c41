"""Checks image availability on a mirror: rate-limited HEAD requests, never pulls, stopped before the mirror bans us."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus

from kubeflow_volcano.catalog.images.limits import Meaning
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.images.registry.access import mirror_registry
from kubeflow_volcano.rollout.images.registry.client import Answer, Limits, Registry
from kubeflow_volcano.rollout.images.registry.rate import RateLimit, rate_limit_for
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport, why_unavailable
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.text import counted

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
    """All names, in their order; `requests` were sent, `refusals` of the answers count towards a ban.

    `stopped` says why not all names were requested, empty if all were. `unreachable` is true if that was because the
    registry did not answer, or its certificate is not trusted here: other machines may reach it.
    """

    answers: tuple[Probed, ...]
    requests: int
    stopped: str
    unreachable: bool = False
    refusals: int = 0

    def problems(self) -> Iterator[Problem]:
        """What prevents these images from being pulled."""
        rules = "correct image_mirror_rules or image_mirror_overrides"
        login = "correct image_mirror_credentials, if the mirror requires a sign-in, or image_mirror_rules,"
        for verdict, needed, todo in (
            ("missing", "images that the mirror has.", rules),
            ("refused", "images that the mirror serves to this user, or to everyone.", login),
            ("unanswered", "an answer of the mirror.", rules),
        ):
            bad = [item for item in self.answers if item.verdict == verdict]
            if bad:
                names = ", ".join(f"{item.image} ({item.why})" for item in bad)
                yield Problem(
                    f"{counted(len(bad), 'image')} {verdict} on the mirror: {names}.",
                    needed,
                    f"{todo} before the next run; mirrors ban addresses that repeat such requests.",
                )
        if self.stopped:
            left = [item for item in self.answers if item.why == self.stopped]
            yield Problem(
                f"the mirror was not asked for {counted(len(left), 'image')}: {self.stopped}.",
                "answers that do not lead to a ban.",
                "correct what the answers so far say and run again later, or set image_mirror_probe: false.",
            )


def ask(
    names: Mapping[str, str],
    registry: Registry,
    rate: RateLimit,
    parallel: int,
    progress: Progress,
    *,
    most_refusals: int,
) -> Probe:
    """Request each name once, within the limits of catalog/images/limits.py.

    Args:
        names: with the reason not to request it, empty for none.
        registry: is asked, and keeps to `rate` itself.
        rate: the rate limit of that registry.
        parallel: how many requests may be under way.
        progress: gets a line every few seconds.
        most_refusals: after so many counted answers nothing more is requested.
    """
    total = len([known for known in names.values() if not known])
    run = _Run(registry, Limits(rate, most_refusals, progress))
    progress(f"asking the mirror for {counted(total, 'image')}, at most {counted(rate.per_minute, 'request')} a minute")
    with ThreadPoolExecutor(max_workers=parallel) as pool:
        try:
            answers = [pool.submit(run.ask, name, known) for name, known in names.items()]
            while (state := wait(answers, _BEAT_SECONDS, FIRST_EXCEPTION)).not_done:
                for answer in state.done:
                    answer.result()  # an unexpected exception ends the probe at once
                progress(f"asked the mirror for {run.seen.total()} of {counted(total, 'image')}: {run}")
        except BaseException:  # also an interruption: no thread waits for the next minute
            rate.cancel()
            raise
    limits = run.limits
    unreachable = limits.cause in {Meaning.SILENT, Meaning.UNTRUSTED}
    done = tuple(answer.result() for answer in answers)
    return Probe(done, rate.taken, limits.stopped, unreachable, limits.refusals)


def ask_mirror(report: ImagesReport, settings: Settings, progress: Progress) -> Probe:
    """Probe the images of a report as the inventory says, and a known mirror no faster than it allows.

    Images that are known to be gone or not served are not requested.

    Raises:
        InvalidInput: a file with credentials or certificates cannot be used.
    """
    mirror = settings.mirror
    names = {entry.use.mirrored: why_unavailable(entry, settings) for entry in report.entries if entry.use.covered}
    rate = rate_limit_for(names, mirror.probe_per_minute)
    registry = mirror_registry(settings, rate)
    return ask(names, registry, rate, mirror.probe_parallel, progress, most_refusals=mirror.refusals)


class _Run:
    def __init__(self, registry: Registry, limits: Limits) -> None:
        self.limits = limits
        self.seen: Counter[str] = Counter()
        self._registry = registry
        self._lock = threading.Lock()

    def __str__(self) -> str:
        return ", ".join(f"{count} {verdict}" for verdict, count in sorted(self.seen.items())) or "no answer yet"

    def ask(self, name: str, known: str) -> Probed:
        image = ImageName.parse(name)
        if known or self.limits.stopped or image is None:
            return Probed(name, "unasked", known or self.limits.stopped or "no reference")
        answer = self.limits.ask(partial(self._registry.head, image))
        verdict, why = _judged(answer)
        with self._lock:
            self.seen[verdict] += 1
        return Probed(name, verdict, why, answer.digest)


def _judged(answer: Answer) -> tuple[str, str]:
    """The verdict and its reason."""
    if answer.meaning is Meaning.OK:
        return "there", ""
    if answer.meaning.is_final:
        return "missing" if answer.status == HTTPStatus.NOT_FOUND else "refused", answer.why
    return "unanswered", answer.why
