"""Settings of how images travel: onto the nodes beforehand, and into a registry of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.groups import MirrorRule

__all__ = ["PullSettings", "RegistrySettings", "pull_settings", "registry_settings", "strange_registry"]

_HOST = re.compile(r"[^/]*[.:]|localhost(?:/|$)")
"""Begins with what image references take for a host."""


@dataclass(frozen=True, slots=True)
class PullSettings:
    """`exclude` are patterns of repositories that nodes don't pull; one pull or copy may take `timeout_seconds`."""

    exclude: tuple[str, ...]
    timeout_seconds: int


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """The registry of one's own: `address` is host[:port] and perhaps a path, empty where there is none.

    It is filled from `preset` and `rules`. `step` is copy, export or import; the latter two with the directory
    `archive`. `images` are copied beside those of the release.
    """

    address: str
    ca: Path | None
    insecure: bool
    authfile: Path | None
    images: tuple[str, ...]
    step: str
    archive: Path | None
    preset: str
    rules: tuple[MirrorRule, ...]

    @property
    def host(self) -> str:
        """The registry itself, without a path."""
        return self.address.partition("/")[0]


def pull_settings(values: Mapping[str, Any]) -> PullSettings:
    """The settings of pulls of well-shaped values."""
    return PullSettings(
        exclude=tuple(values["image_mirror_pull_exclude"]),
        timeout_seconds=values["image_mirror_pull_timeout_seconds"],
    )


def registry_settings(values: Mapping[str, Any]) -> RegistrySettings:
    """The settings of the own registry of well-shaped values."""
    paths = {name: values[f"image_mirror_registry_{name}"] for name in ("ca", "authfile", "archive")}
    ca, authfile, archive = (Path(text).expanduser() if text else None for text in paths.values())
    return RegistrySettings(
        address=values["image_mirror_registry"],
        ca=ca,
        insecure=values["image_mirror_registry_insecure"],
        authfile=authfile,
        images=tuple(values["image_mirror_registry_images"]),
        step=values["image_mirror_registry_step"],
        archive=archive,
        preset=values["image_mirror_preset"],
        rules=tuple(MirrorRule(**rule) for rule in values["image_mirror_rules"]),
    )


def strange_registry(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What does not go together in the settings of the own registry."""
    registry, mode = registry_settings(values), values["image_mirror_mode"]
    if mode not in {"registry", "containerd"}:
        if registry.address:
            yield Problem(
                f"image_mirror_registry is {registry.address}, and image_mirror_mode is {mode}.",
                "a mode in which manifests (registry) or the nodes' containerd (containerd) name that registry.",
                "set image_mirror_mode: registry or containerd, or remove image_mirror_registry.",
            )
        return
    if not registry.address:
        if mode == "containerd":
            return
        yield Problem(
            "image_mirror_mode is registry, and image_mirror_registry is empty.",
            "the registry that is filled, such as registry.lan:5000.",
            "set image_mirror_registry, or choose another mode.",
        )
    elif ImageName.parse(f"{registry.address}/image") is None or not _HOST.match(registry.address):
        yield Problem(
            f"image_mirror_registry is {registry.address}.",
            "a registry as host, host:port or host:port/path, such as registry.lan:5000, without a scheme.",
            "correct image_mirror_registry.",
        )
    yield from _strange_source(registry)
    yield from _strange_archive(registry)
    if registry.ca and registry.insecure:
        yield Problem(
            "image_mirror_registry_ca is set, and image_mirror_registry_insecure is true.",
            "a certificate that is checked, or one that is not.",
            "remove one of the two variables.",
        )
    if values["image_mirror_probe"]:
        yield Problem(
            f"image_mirror_probe is true, and images come from {registry.address}.",
            "a mirror of somebody else; what is in your own registry is told by playbooks/registry.yml --check.",
            "remove image_mirror_probe.",
        )
    for text in registry.images:
        image = ImageName.parse(text)
        if image is None or not (image.tag or image.digest):
            yield Problem(
                f"image_mirror_registry_images has {text!r}.",
                "references with a tag or a digest, such as registry.k8s.io/pause:3.10.",
                "correct the entry.",
            )


def _strange_source(registry: RegistrySettings) -> Iterator[Problem]:
    for rule in registry.rules:
        target = rule.prefix or rule.host or rule.registry
        if registry.address and target.partition("/")[0] == registry.host:
            yield Problem(
                f"image_mirror_rules: {rule.source} is to come from {target}, which is image_mirror_registry itself.",
                "rules that say where the registry is filled from; that manifests name the registry needs no rule.",
                "remove the rule, or name the mirror to copy from.",
            )


def _strange_archive(registry: RegistrySettings) -> Iterator[Problem]:
    if (registry.step == "copy") == (registry.archive is not None):
        yield Problem(
            f"image_mirror_registry_step is {registry.step}, and image_mirror_registry_archive is "
            f"{registry.archive or 'empty'}.",
            "a directory for export and import, and none for copy.",
            "correct one of the two variables.",
        )
