"""As whom the consumers of claims run where the manifests leave it to their images: by the images' own configuration.

It is read once and kept in the cache, by the name of an image with a fixed tag or a digest. Where nothing answers, or
an image names its user by a name, which only its /etc/passwd could tell, the identity stays unknown: nothing fails for
that, and volumes stay as they are without it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.catalog.images.users import ImageUser, keep_user, kept_at, kept_user
from kubeflow_volcano.catalog.model import Claim, Component
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.bundle.contents import IMAGES
from kubeflow_volcano.rollout.images.registry.access import mirror_registry, own_registry
from kubeflow_volcano.rollout.images.registry.client import Registry
from kubeflow_volcano.rollout.images.registry.configuration import InDirectory, InRegistry, NotReadError, image_user
from kubeflow_volcano.rollout.images.registry.endpoints import place_of
from kubeflow_volcano.rollout.images.registry.rate import rate_limit_for
from kubeflow_volcano.rollout.images.rename.rules import Decision, Rules
from kubeflow_volcano.rollout.settings.settings import Settings

_REQUEST_SECONDS = 5.0
_RUN_SECONDS = 30.0
_AGAIN_SECONDS = 600.0
"""A registry that did not answer gets no request again for so long: steps of one run follow each other."""


def with_identities(settings: Settings, progress: Progress) -> Settings:
    """The settings whose claims have the identities of images where manifests leave them to these.

    Only those of chosen components, and no request begins after `_RUN_SECONDS`.
    """
    if not any(claim.run_as_user is None for part in settings.components for claim in part.claims):
        return settings
    asking = _Asking(settings, progress)
    parts = {part.name: asking.with_claims(part) for part in settings.components}
    known = {name: parts.get(name, part) for name, part in settings.release.components.items()}
    return replace(
        settings,
        components=tuple(parts.values()),
        release=replace(settings.release, components=known),
    )


def describe(claim: Claim | None) -> Mapping[str, str]:
    """For the plan: as whom the consumer of a claim runs, and where that is from, or why it is not known."""
    if claim is None:
        return {"user": "unknown", "known_from": "no entry of the catalog has this claim"}
    numbers = {"uid": claim.run_as_user, "gid": claim.run_as_group, "fsGroup": claim.fs_group}
    words = [f"{name} {number}" for name, number in numbers.items() if number is not None]
    if claim.run_as_user is None:
        words.insert(0, "unknown")
    return {"user": " ".join(words), "known_from": claim.source or "the manifests"}


class _Asking:
    """The requests of one run: a registry that does not answer gets no further one."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        self._settings, self._progress = settings, progress
        self._rules = Rules(settings.mirror)
        self._deadline = Deadline(_RUN_SECONDS)
        self._silent: dict[str, str] = {}
        self._clients: dict[str, Registry] = {}

    def with_claims(self, part: Component) -> Component:
        """The component, with the users of its claims as far as they can be known."""
        if all(claim.run_as_user is not None for claim in part.claims):
            return part
        return replace(part, claims=tuple(self._claim(claim, part) for claim in part.claims))

    def _claim(self, claim: Claim, part: Component) -> Claim:
        if claim.run_as_user is not None:
            return claim
        changed = [entry for entry in self._settings.patches.get(part.name, ()) if entry.target.selects(claim.consumer)]
        images = {*part.images.get(claim.consumer, {}).values()}
        image = ImageName.parse(images.pop()) if len(images) == 1 else None
        if changed or image is None:
            why = "kubeflow_patches changes its consumer" if changed else "which of its images writes is not known"
            return replace(claim, source=why)
        decision = self._rules.decide(image)
        try:
            found = self._user(decision)
        except NotReadError as error:
            return replace(claim, source=f"the user of {decision.mirrored} could not be read: {error}")
        origin = f"{decision.mirrored}, {found.digest}"
        if found.numbers is None:
            return replace(claim, source=f"{origin} names its user {found.user!r:.80}, whose uid only it can tell")
        user, group = found.numbers
        group = claim.run_as_group if claim.run_as_group is not None else group
        return replace(claim, run_as_user=user, run_as_group=group, source=f"the image {origin}")

    def _user(self, decision: Decision) -> ImageUser:
        """From the cache, else from the bundle or archive, else from the registry. Raises NotReadError."""
        asked, cache = decision.mirrored, self._settings.cache_directory
        architectures = self._settings.plan.architectures
        # A digest is the same image wherever it is; a tag is one of its registry.
        name = asked.digest or str(asked)
        if asked.pinned and (found := kept_user(cache, name, architectures)):
            return found
        failed = kept_at(cache, " ".join([name, *sorted(architectures)]))
        _raise_again(failed)
        try:
            found = self._in_directories(decision) or self._in_registry(asked)
        except NotReadError as error:
            _remember(failed, {"why": str(error), "at": time.time()})
            raise
        keep_user(cache, [name], found, architectures)
        return found

    def _in_directories(self, decision: Decision) -> ImageUser | None:
        own = decision.override or decision.original
        own = replace(own, tag="" if own.digest else own.tag or "latest")
        bundle, archive = self._settings.bundle.directory, self._settings.registry.archive
        for directory in dict.fromkeys(filter(None, (bundle and bundle / IMAGES, archive))):
            place = place_of(directory, own)
            if place.is_dir():
                return image_user(InDirectory(place), self._settings.plan.architectures, own.digest)
        return None

    def _in_registry(self, asked: ImageName) -> ImageUser:
        if why := self._silent.get(asked.host) or ("the time for all images is over" if self._deadline.passed else ""):
            raise NotReadError(why)
        self._progress(f"asking {asked.host} for the user of {asked}, which its manifests leave to the image")
        try:
            return image_user(InRegistry(self._client(asked), asked), self._settings.plan.architectures, asked.digest)
        except NotReadError as error:
            if error.of_host:
                self._silent[asked.host] = str(error)
            raise
        except InvalidInput as error:  # files with credentials or certificates, which the roll-out judges
            raise NotReadError(error.problems[0].found) from error

    def _client(self, asked: ImageName) -> Registry:
        registry, settings = self._settings.registry, self._settings
        kind = "own" if registry.address and asked.host == registry.host else asked.host
        if kind not in self._clients:
            rate = rate_limit_for([str(asked)], settings.mirror.probe_per_minute)
            self._clients[kind] = (
                own_registry(settings, _REQUEST_SECONDS)
                if kind == "own"
                else mirror_registry(settings, rate, _REQUEST_SECONDS)
            )
        return self._clients[kind]


def _raise_again(kept: Path) -> None:
    """Raises NotReadError where nothing answered a moment ago."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        content: Any = read_json(kept.read_bytes())
        if 0 <= time.time() - content["at"] < _AGAIN_SECONDS:
            raise NotReadError(str(content["why"]))


def _remember(kept: Path, content: Mapping[str, Any]) -> None:
    with suppress(OSError):  # a cache that cannot be written costs the next run a question
        write_file(kept, json.dumps(content))
