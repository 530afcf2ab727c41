"""Fills a registry of one's own: one image after the other, in the mirror's pace, held against the source's digest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from kubeflow_volcano.catalog.images.answers import Answer as Meaning
from kubeflow_volcano.catalog.images.answers import answer_of
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.images.registry.client import Answer
from kubeflow_volcano.rollout.images.registry.endpoints import End
from kubeflow_volcano.rollout.images.registry.pace import PerMinute
from kubeflow_volcano.rollout.images.registry.plan import Copy
from kubeflow_volcano.rollout.images.registry.skopeo import Skopeo
from kubeflow_volcano.text import counted

__all__ = ["Filled", "Filling", "problems", "warnings"]

_PAUSE_SECONDS = 60.0
"""After a 429 that does not say for how long."""
_LONGEST_PAUSE_SECONDS = 600.0
_MINUTE_SECONDS = 60.0
_MOST_SILENT = 3


@dataclass(slots=True)
class Filled:
    """What became of the images: names that were `copied` (in a check: would be) and that were `present`.

    These map names to reasons: `refused` by the source, `failed` for any other, `left` untried after the stop,
    `skipped` for what was known beforehand. `stopped` says why not all were tried.
    """

    copied: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    stopped: str = ""

    def __str__(self) -> str:
        counts = {
            "copied": self.copied,
            "refused": self.refused,
            "failed": self.failed,
            "not tried": self.left,
            "left out": self.skipped,
        }
        told = [f"{len(names)} {word}" for word, names in counts.items() if names]
        return ", ".join([f"{counted(len(self.present), 'image')} there already", *told])


class Filling:
    """Copies from `source` to `target`. `pace` is that of the source; None where it sets none."""

    def __init__(
        self,
        source: End,
        target: End,
        skopeo: Skopeo,
        *,
        pace: PerMinute | None,
        most_refusals: int,
        progress: Progress,
        check: bool = False,
    ) -> None:
        self._source = source
        self._target = target
        self._skopeo = skopeo
        self._pace = pace
        self._most_refusals = most_refusals
        self._progress = progress
        self._check = check
        self._refusals = 0
        self._silent = 0
        self.filled = Filled()

    def fill(self, copies: Sequence[Copy]) -> Filled:
        """Copy what the target lacks or has otherwise; nothing more once going on would do harm."""
        for number, copy in enumerate(copies, start=1):
            if self.filled.stopped:
                self.filled.left[str(copy.image)] = self.filled.stopped
            else:
                self._one(copy, f"{number} of {len(copies)}")
        return self.filled

    def _one(self, copy: Copy, where: str) -> None:
        name = str(copy.image)
        there = self._target.look(copy)
        if there.status not in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
            self._end(name, f"the registry answers {there.error or there.status} to {copy.target}")
            return
        if copy.known:  # somebody may have put it there by hand
            if there.status == HTTPStatus.OK:
                self.filled.present.append(name)
            else:
                self.filled.skipped[name] = copy.known
            return
        wanted = copy.image.digest
        if not (wanted and there.status == HTTPStatus.OK):
            answer = self._ask(copy)
            if answer.status != HTTPStatus.OK:
                self._missed(name, copy, answer)
                return
            wanted = wanted or answer.digest
        self._silent = 0
        if there.status == HTTPStatus.OK and wanted and wanted == (there.digest or copy.image.digest):
            self.filled.present.append(name)
        elif self._check:
            self.filled.copied.append(name)
            self._progress(f"{where}: would copy {copy.source}")
        else:
            self._progress(f"{where}: copying {copy.source}")
            self._copy(copy, wanted)

    def _ask(self, copy: Copy) -> Answer:
        """The source's word on an image; a 429 is asked once more after the time that it names."""
        answer = self._source.look(copy)
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS and answer.retry_after <= _LONGEST_PAUSE_SECONDS:
            self._count()
            seconds = answer.retry_after or _PAUSE_SECONDS
            self._progress(f"the mirror answers 429, too many requests; going on in {seconds:.0f} s")
            if self._pace and not self.filled.stopped:
                self._pace.pause(seconds)
                answer = self._source.look(copy)
        return answer

    def _missed(self, name: str, copy: Copy, answer: Answer) -> None:
        why = answer.error or f"{copy.source} answers {answer.status}"
        if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
            self._count()
            self._end(name, f"{why}, too many requests")
        elif answer.untrusted:
            self._end(name, f"its certificate is not trusted: {why}")
        elif self._pace and answer.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}:
            self.filled.refused[name] = why
            self._count()
        else:
            self._fail(name, why, silent=answer.status != HTTPStatus.NOT_FOUND)

    def _copy(self, copy: Copy, wanted: str) -> None:
        name = str(copy.image)
        options = [*self._source.options(copy, "src"), *self._target.options(copy, "dest")]
        done = self._skopeo.copy(self._source.source(copy), self._target.target(copy), options)
        if self._pace:
            self._pace.pause(done.requests * _MINUTE_SECONDS / self._pace.limit)
        if done.error:
            self._broken(name, done.error, at_target=done.at_target)
            return
        self._target.finish(copy)
        there = self._target.look(copy)
        found = there.digest or f"no digest ({there.error or there.status})"
        wanted = wanted or done.digest
        if found != wanted:
            self.filled.failed[name] = f"is {found} after the copy, and {wanted} at {copy.source}"
            return
        self.filled.copied.append(name)

    def _broken(self, name: str, error: str, *, at_target: bool) -> None:
        meaning = answer_of(error)
        if at_target or meaning in {Meaning.FULL, Meaning.UNTRUSTED}:
            self._end(name, error)
        elif meaning is Meaning.BUSY:
            self._count()
            self._end(name, error)
        elif meaning is Meaning.REFUSED and self._pace:
            self.filled.refused[name] = error
            self._count()
        else:
            self._fail(name, error, silent=meaning is Meaning.SILENT)

    def _fail(self, name: str, why: str, *, silent: bool) -> None:
        self.filled.failed[name] = why
        self._silent = self._silent + 1 if silent else 0
        if self._silent >= _MOST_SILENT:
            self.filled.stopped = f"no answer {self._silent} times in a row"

    def _end(self, name: str, why: str) -> None:
        """The next image would meet the same."""
        self.filled.failed[name] = why
        self.filled.stopped = self.filled.stopped or f"stopped after: {why}"

    def _count(self) -> None:
        self._refusals += 1
        if self._refusals >= self._most_refusals:
            self.filled.stopped = self.filled.stopped or f"{self._refusals} answers of 401, 403, 404 or 429"


def problems(filled: Filled) -> Iterator[Problem]:
    """What keeps the target from being whole."""
    if filled.refused:
        yield Problem(
            f"{counted(len(filled.refused), 'image')} refused or missing at the source: {_told(filled.refused)}.",
            "images that the source serves.",
            "correct image_mirror_rules or image_mirror_overrides; don't ask again soon for what was refused.",
        )
    if filled.failed:
        yield Problem(
            f"{counted(len(filled.failed), 'image')} not copied: {_told(filled.failed)}.",
            "an exact copy of each image.",
            "mend what the message names, such as image_mirror_registry_ca or image_mirror_registry_authfile, and run "
            "again: what is there with the right digest is not copied again.",
        )
    if filled.left:
        yield Problem(
            f"{counted(len(filled.left), 'image')} not tried: {filled.stopped}.",
            "answers that let the copying go on.",
            "mend the cause and run again later; it goes on where it ended.",
        )


def warnings(filled: Filled) -> Iterator[Problem]:
    """What was known beforehand and left out."""
    if filled.skipped:
        yield Problem(
            f"{counted(len(filled.skipped), 'image')} left out: {_told(filled.skipped)}.",
            "images that can be had.",
            "name replacements in image_mirror_overrides, put them into the registry by hand, or leave their "
            "components out (kubeflow_exclude).",
        )


def _told(reasons: dict[str, str]) -> str:
    return "; ".join(f"{name} ({why})" for name, why in sorted(reasons.items()))
