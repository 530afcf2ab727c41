"""Copies images into one's own registry, one after the other within the source's limits, and compares their digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus

from kubeflow_volcano.catalog.images.limits import Meaning, meaning_of_error
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.images.registry.client import Limits
from kubeflow_volcano.rollout.images.registry.endpoints import End
from kubeflow_volcano.rollout.images.registry.plan import Copy
from kubeflow_volcano.rollout.images.registry.rate import RateLimit
from kubeflow_volcano.rollout.images.registry.skopeo import Skopeo
from kubeflow_volcano.text import counted


@dataclass(slots=True)
class CopyResult:
    """Names of images that were `copied` (in check mode: would be), and that were `present` already.

    These map names to reasons: `refused` by the source, `failed` for any other, `left` untried after the stop,
    `skipped` because they are known to be unavailable. `stopped` says why not all were tried.
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
            "skipped": self.skipped,
        }
        rest = [f"{len(names)} {word}" for word, names in counts.items() if names]
        return ", ".join([f"{counted(len(self.present), 'image')} already present", *rest])


class Copying:
    """Copies from `source` to `target`. `rate` is the source's rate limit; None for a directory."""

    def __init__(
        self,
        source: End,
        target: End,
        skopeo: Skopeo,
        *,
        rate: RateLimit | None,
        most_refusals: int,
        progress: Progress,
        check: bool = False,
    ) -> None:
        self._source = source
        self._target = target
        self._skopeo = skopeo
        self._limits = Limits(rate, most_refusals, progress)
        self._progress = progress
        self._check = check
        self._target_failed = ""
        self.result = CopyResult()

    def run(self, copies: Sequence[Copy]) -> CopyResult:
        """Copy what the target lacks or has with another digest, until the limits or the target end it."""
        for number, copy in enumerate(copies, start=1):
            if why := self._target_failed or self._limits.stopped:
                self.result.left[str(copy.image)] = why
            else:
                self._one(copy, f"{number} of {len(copies)}")
        self.result.stopped = self._target_failed or self._limits.stopped
        return self.result

    def _one(self, copy: Copy, where: str) -> None:
        name = str(copy.image)
        there = self._target.look(copy)
        present = there.meaning is Meaning.OK
        if not present and there.status != HTTPStatus.NOT_FOUND:
            self._fail_at_target(name, f"the registry answers {there.why} to {copy.target}")
            return
        if copy.known:  # it may have been put there by hand
            if present:
                self.result.present.append(name)
            else:
                self.result.skipped[name] = copy.known
            return
        digest = copy.image.digest
        if not (digest and present):
            answer = self._limits.ask(partial(self._source.look, copy))
            if answer.meaning is not Meaning.OK:
                self._keep_reason(name, answer.meaning, answer.error or f"{copy.source} answers {answer.status}")
                return
            if digest and answer.digest and answer.digest != digest:
                self.result.failed[name] = f"is {answer.digest} at the source, and the manifests pin {digest}"
                return
            digest = digest or answer.digest
        if present and digest and digest == (there.digest or copy.image.digest):
            self.result.present.append(name)
        elif self._check:
            self.result.copied.append(name)
            self._progress(f"{where}: would copy {copy.source}")
        else:
            self._progress(f"{where}: copying {copy.source}")
            self._copy(copy, digest)

    def _copy(self, copy: Copy, digest: str) -> None:
        name = str(copy.image)
        options = [*self._source.options(copy, "src"), *self._target.options(copy, "dest")]
        done = self._skopeo.copy(self._source.source(copy), self._target.target(copy), options)
        if self._limits.rate:
            self._limits.rate.charge(done.requests)
        if done.error and done.at_target:
            self._fail_at_target(name, done.error)
        elif done.error:
            meaning = meaning_of_error(done.error)
            # skopeo has repeated a 429 already.
            self._limits.add(meaning, done.error, repeated=meaning is Meaning.RATE_LIMITED)
            self._keep_reason(name, meaning, done.error)
        else:
            self._target.finish(copy)
            self._compare(copy, digest or done.digest)

    def _compare(self, copy: Copy, digest: str) -> None:
        """The copy counts if the target now has the digest of the source."""
        there = self._target.look(copy)
        found = there.digest or f"no digest ({there.why})"
        if found == digest:
            self.result.copied.append(str(copy.image))
        else:
            self.result.failed[str(copy.image)] = f"is {found} after the copy, and {digest} at {copy.source}"

    def _keep_reason(self, name: str, meaning: Meaning, why: str) -> None:
        """Why the source did not provide an image."""
        refused = meaning.is_final and self._limits.rate is not None
        (self.result.refused if refused else self.result.failed)[name] = why

    def _fail_at_target(self, name: str, why: str) -> None:
        """The next image would fail, too."""
        self.result.failed[name] = self._target_failed = why


def problems(result: CopyResult) -> Iterator[Problem]:
    """What prevents the target from being complete."""
    if result.refused:
        yield Problem(
            f"{counted(len(result.refused), 'image')} refused or missing at the source: {_listed(result.refused)}.",
            "images that the source serves.",
            "correct image_mirror_rules or image_mirror_overrides before the next run; mirrors ban addresses that "
            "repeat such requests.",
        )
    if result.failed:
        yield Problem(
            f"{counted(len(result.failed), 'image')} not copied: {_listed(result.failed)}.",
            "an exact copy of each image.",
            "fix what the message names, such as image_mirror_registry_ca or image_mirror_registry_authfile, and run "
            "again: images with the right digest are not copied again.",
        )
    if result.left:
        yield Problem(
            f"{counted(len(result.left), 'image')} not tried: {result.stopped}.",
            "answers that allow to go on.",
            "fix the cause and run again later; the run continues where this one ended.",
        )


def warnings(result: CopyResult) -> Iterator[Problem]:
    """Images that are known to be unavailable."""
    if result.skipped:
        yield Problem(
            f"{counted(len(result.skipped), 'image')} skipped: {_listed(result.skipped)}.",
            "images that are available.",
            "name replacements in image_mirror_overrides, put the images into the registry by hand, or exclude their "
            "components (kubeflow_exclude).",
        )


def _listed(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{name} ({why})" for name, why in sorted(reasons.items()))
