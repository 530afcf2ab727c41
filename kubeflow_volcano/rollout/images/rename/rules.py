"""The name of an image: first the override of an image that is gone, in any mode; then the first matching rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from kubeflow_volcano.catalog.images import tables
from kubeflow_volcano.catalog.images.mirrors import Mirror, known_mirrors, load_mirror
from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.images import MirrorRule, MirrorSettings


@dataclass(frozen=True, slots=True)
class Decision:
    """The new name of `original`. `rule` is the number of the rule that matches, from 0; None if none does.

    `final` is the name in pods; `elsewhere` the mirror's name for it, if the container runtime translates it.
    """

    original: ImageName
    override: ImageName | None
    final: ImageName
    rule: int | None
    overridden_by: str = ""
    elsewhere: ImageName | None = None

    @property
    def mirrored(self) -> ImageName:
        """The name in requests to the mirror."""
        return self.elsewhere or self.final


class Rules:
    """The inventory's rules and overrides. Applying them to their own result changes nothing."""

    def __init__(self, mirror: MirrorSettings) -> None:
        self.active = mirror.mode != "none"
        self.renames = mirror.mode != "containerd"
        self._mirror = mirror
        self._known: dict[ImageName, Decision] = {}
        preset = load_mirror(mirror.preset) if mirror.preset and self.active else None
        self.own = mirror.rules if self.active else ()
        self.rules = (*self.own, *(_of_preset(preset) if preset else ()))

    @cached_property
    def overrides(self) -> tuple[tuple[str, ImageName, ImageName], ...]:
        """The inventory's overrides as written, old and new."""
        pairs = ((text, ImageName.parse(text), ImageName.parse(new)) for text, new in self._mirror.overrides.items())
        return tuple((text, old, new) for text, old, new in pairs if old and new)

    def decide(self, image: ImageName) -> Decision:
        """The new name of `image`."""
        if image not in self._known:
            self._known[image] = self._decide(image)
            if not self.renames:
                known = self._known[image]
                self._known[image] = replace(known, final=known.override or image, elsewhere=known.final)
        return self._known[image]

    def _decide(self, image: ImageName) -> Decision:
        for number, rule in enumerate(self.rules):
            if _is_target(rule, image):
                return Decision(_before(rule, image), None, image, number)
        override, by = self._override(image)
        wanted = override or image
        for number, rule in enumerate(self.rules):
            if _fits(rule, wanted):
                return Decision(image, override, _applied(rule, wanted), number, by)
        return Decision(image, override, wanted, None, by)

    def _override(self, image: ImageName) -> tuple[ImageName | None, str]:
        for text, old, new in self.overrides:
            if old.repository == image.repository and (
                (not old.tag and not old.digest) or (old.tag, old.digest) == (image.tag, image.digest)
            ):
                keeps = not new.tag and not new.digest
                return (ImageName(new.host, new.path, image.tag, image.digest) if keeps else new), text
        entry = tables.gone(image) if self._mirror.catalog_overrides else None
        return (entry.replaces(image), "the catalog") if entry else (None, "")


def renamed(text: str, mirror: MirrorSettings) -> str:
    """The new name of an image that no manifest names; the text itself if no rule applies."""
    image = ImageName.parse(text)
    final = Rules(mirror).decide(image).final if image else None
    return str(final) if final and final != image else text


def describe_rule(rule: MirrorRule) -> str:
    """A rule as text."""
    if rule.prefix:
        return f"{rule.source}: {rule.prefix}/ before the name"
    return f"{rule.source}: {rule.host or rule.registry} in place of the host"


def validate_rules(mirror: MirrorSettings) -> Iterator[Problem]:
    """Problems of the rules and overrides themselves, independent of images."""
    if mirror.mode == "none":
        named = {
            "image_mirror_preset": mirror.preset,
            "image_mirror_rules": mirror.rules,
            "image_mirror_allow_list": mirror.allow_list,
            "image_mirror_probe": mirror.probe,
        }
        for name in [name for name, value in named.items() if value]:
            yield Problem(
                f"{name} is set, and image_mirror_mode is {mirror.mode}.",
                "a mode in which images come from elsewhere.",
                f"set image_mirror_mode to rewrite or containerd, or remove {name}.",
            )
    for old, new in mirror.overrides.items():
        for text in (old, new):
            if ImageName.parse(text) is None:
                yield Problem(
                    f"image_mirror_overrides: {old}: {new}, of which {text!r} is no image reference.",
                    "an image to replace and its replacement, each as name, name:tag or name@sha256:digest.",
                    "correct the entry.",
                )
    seen: set[str] = set()
    for rule in mirror.rules:
        if rule.source in seen:
            yield Problem(
                f"image_mirror_rules has two rules for {rule.source}.",
                "one: only the first that matches is used.",
                "remove the second.",
            )
        seen.add(rule.source)
        yield from _wrong_host(rule)
        if mirror.mode == "containerd" and "/" in rule.source:
            yield Problem(
                f"image_mirror_rules has a rule for {rule.source}, and image_mirror_mode is containerd.",
                "rules for whole registries, as containerd's hosts.toml has no paths.",
                f"write source: {rule.source.partition('/')[0]}, or use the mode rewrite.",
            )


def _wrong_host(rule: MirrorRule) -> Iterator[Problem]:
    """A host that a known mirror does not use for that registry."""
    for known in map(load_mirror, known_mirrors()):
        domain = f".{known.prefix}"
        if rule.host.endswith(domain) and rule.source in known.hosts and known.hosts[rule.source] != rule.host:
            right = known.hosts[rule.source]
            advice = f"host: {right}" if right else f"prefix: {known.prefix}"
            yield Problem(
                f"image_mirror_rules: {rule.source} is to become {rule.host}, which {known.title} does not have.",
                f"the name that it gives to {rule.source}: {right or 'none, it serves it below its prefix only'}.",
                f"write source: {rule.source} with {advice}.",
            )


def _of_preset(mirror: Mirror) -> tuple[MirrorRule, ...]:
    return tuple(MirrorRule(host, prefix=mirror.prefix) for host in mirror.hosts)


def _fits(rule: MirrorRule, image: ImageName) -> bool:
    return rule.source == "*" or f"{image.repository}/".startswith(f"{_complete(rule.source)}/")


def _complete(source: str) -> str:
    """The source with the name of Docker Hub that images have."""
    return source.replace("index.docker.io", "docker.io", 1) if source.startswith("index.docker.io") else source


def _applied(rule: MirrorRule, image: ImageName) -> ImageName:
    if rule.prefix:
        return image.at(f"{rule.prefix}/{image.repository}")
    return image.at(f"{rule.host or rule.registry}/{image.path}")


def _is_target(rule: MirrorRule, image: ImageName) -> bool:
    """Whether the rule made that name."""
    if rule.host:
        return image.host == rule.host and rule.source != rule.host
    if not f"{image.repository}/".startswith(f"{rule.prefix or rule.registry}/"):
        return False
    return not rule.prefix or _fits(rule, _before(rule, image))


def _before(rule: MirrorRule, image: ImageName) -> ImageName:
    """The name before the rule was applied, if the new one contains it."""
    if not rule.prefix:
        return image
    return image.at(image.repository.removeprefix(f"{rule.prefix}/"))
