"""Where images come from: mirrors, pulls on nodes in advance, and a registry of your own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.decode import SAME, Key
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.redaction import without_logins
from kubeflow_volcano.rollout.bundle.contents import IMAGES
from kubeflow_volcano.rollout.settings.variables import OptionalPath

_HOST = re.compile(r"[^/]*[.:]|localhost(?:/|$)")
"""A prefix that image references read as a host."""


@dataclass(frozen=True, slots=True)
class MirrorRule:
    """How images of `source` (* is any) are renamed: exactly one of the other fields is set."""

    source: str
    prefix: str = ""
    host: str = ""
    registry: str = ""

    @property
    def target(self) -> str:
        """The host that replaces the source, perhaps with a path, from the field that is set."""
        return self.prefix or self.host or self.registry


@dataclass(frozen=True, slots=True)
class ContainerdSettings:
    """How containerd on the nodes uses the mirror. `ca` is a file on the controller.

    `existing`, refuse or extend, is for a hosts.toml that this project did not write. Times are in seconds.
    """

    upstream: Annotated[bool, Key("image_mirror_containerd_upstream")]
    ca: Annotated[OptionalPath, Key("image_mirror_containerd_ca")]
    plain_http: Annotated[tuple[str, ...], Key("image_mirror_containerd_plain_http")]
    registries: Annotated[tuple[str, ...], Key("image_mirror_containerd_registries")]
    config_path: Annotated[str, Key("image_mirror_containerd_config_path")]
    existing: Annotated[str, Key("image_mirror_containerd_existing")]
    test_image: Annotated[str, Key("image_mirror_containerd_test_image")]
    ready_seconds: Annotated[int, Key("image_mirror_containerd_ready_seconds")]
    node_seconds: Annotated[int, Key("image_mirror_containerd_node_seconds")]


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """How image names become names on a mirror. `mode` is none, rewrite, containerd or registry.

    With `allow_gone`, images that are gone without replacement are warned of instead of refused. `allow_list` None uses
    the list of the preset. Pulls and copies stop after that many `refusals`.
    """

    mode: Annotated[str, Key("image_mirror_mode")]
    preset: Annotated[str, Key("image_mirror_preset")]
    rules: Annotated[tuple[MirrorRule, ...], Key("image_mirror_rules")]
    overrides: Annotated[Mapping[str, str], Key("image_mirror_overrides")]
    catalog_overrides: Annotated[bool, Key("image_mirror_catalog_overrides")]
    allow_gone: Annotated[bool, Key("image_mirror_allow_gone")]
    allow_list: Annotated[OptionalPath, Key("image_mirror_allow_list")]
    probe: Annotated[bool, Key("image_mirror_probe")]
    probe_per_minute: Annotated[int, Key("image_mirror_probe_per_minute")]
    probe_parallel: Annotated[int, Key("image_mirror_probe_parallel")]
    containerd: Annotated[ContainerdSettings, SAME]
    refusals: Annotated[int, Key("image_mirror_refusals")]


@dataclass(frozen=True, slots=True)
class PullSettings:
    """`exclude` has patterns of repositories that nodes do not pull; one pull or copy takes at most that long."""

    exclude: Annotated[tuple[str, ...], Key("image_mirror_pull_exclude")]
    timeout_seconds: Annotated[int, Key("image_mirror_pull_timeout_seconds")]


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """A registry of your own: `address` is host[:port][/path], empty where there is none.

    Images are copied into it from where `preset` and `rules` say, the listed `images` in addition to those of the
    release. `step` is copy, export or import; the latter two use the directory `archive`.
    """

    address: Annotated[str, Key("image_mirror_registry")]
    ca: Annotated[OptionalPath, Key("image_mirror_registry_ca")]
    insecure: Annotated[bool, Key("image_mirror_registry_insecure")]
    authfile: Annotated[OptionalPath, Key("image_mirror_registry_authfile")]
    images: Annotated[tuple[str, ...], Key("image_mirror_registry_images")]
    step: Annotated[str, Key("image_mirror_registry_step")]
    archive: Annotated[OptionalPath, Key("image_mirror_registry_archive")]
    preset: Annotated[str, Key("image_mirror_preset")]
    rules: Annotated[tuple[MirrorRule, ...], Key("image_mirror_rules")]

    @property
    def host(self) -> str:
        """The address without its path."""
        return self.address.partition("/")[0]


def from_registry(mirror: MirrorSettings, registry: RegistrySettings) -> MirrorSettings:
    """`mirror` with every image from `registry`, if there is one: preset and rules then say what to copy into it."""
    mirror = replace(mirror, containerd=replace(mirror.containerd, ca=mirror.containerd.ca or registry.ca))
    if not registry.address:
        return mirror
    return replace(mirror, preset="", rules=(MirrorRule("*", prefix=registry.address),))


def from_bundle(registry: RegistrySettings, bundle: Path | None) -> RegistrySettings:
    """`registry`, filled from the images of the `bundle` if there is one and no other step is chosen."""
    if bundle is None or not registry.address or registry.step != "copy":
        return registry
    return replace(registry, step="import", archive=bundle / IMAGES)


def validate_registry(registry: RegistrySettings, mirror: MirrorSettings) -> Iterator[Problem]:
    """Contradictions in the variables of a registry of your own."""
    if mirror.mode not in {"registry", "containerd"}:
        if registry.address:
            yield Problem(
                f"image_mirror_registry is {without_logins(registry.address)}, and image_mirror_mode is {mirror.mode}.",
                "a mode that uses the registry: registry rewrites manifests, containerd configures the nodes.",
                "set image_mirror_mode: registry or containerd, or remove image_mirror_registry.",
            )
        return
    if not registry.address:
        if mirror.mode == "containerd":
            return
        yield Problem(
            "image_mirror_mode is registry, and image_mirror_registry is empty.",
            "the registry to copy images into, such as registry.lan:5000.",
            "set image_mirror_registry, or choose another mode.",
        )
    elif ImageName.parse(f"{registry.address}/image") is None or not _HOST.match(registry.address):
        yield Problem(
            f"image_mirror_registry is {without_logins(registry.address)}.",
            "a registry as host, host:port or host:port/path, such as registry.lan:5000, without a scheme.",
            "correct image_mirror_registry.",
        )
    if mirror.probe:
        yield Problem(
            f"image_mirror_probe is true, and images come from {without_logins(registry.address)}.",
            "a public mirror to probe; playbooks/registry.yml --check lists the images in your own registry.",
            "remove image_mirror_probe.",
        )
    yield from _validate_copying(registry)


def _validate_copying(registry: RegistrySettings) -> Iterator[Problem]:
    for rule in registry.rules:
        if registry.address and rule.target.partition("/")[0] == registry.host:
            yield Problem(
                f"image_mirror_rules: the target of {rule.source} is {rule.target}, which is image_mirror_registry "
                "itself.",
                "rules with the mirror to copy from; manifests use image_mirror_registry without a rule.",
                "remove the rule, or name the mirror to copy from.",
            )
    if (registry.step == "copy") == (registry.archive is not None):
        yield Problem(
            f"image_mirror_registry_step is {registry.step}, and image_mirror_registry_archive is "
            f"{registry.archive or 'empty'}.",
            "a directory for export and import, and none for copy.",
            "correct one of the two variables.",
        )
    if registry.ca and registry.insecure:
        yield Problem(
            "image_mirror_registry_ca is set, and image_mirror_registry_insecure is true.",
            "either a certificate to verify, or no verification.",
            "remove one of the two variables.",
        )
    for text in registry.images:
        image = ImageName.parse(text)
        if image is None or not (image.tag or image.digest):
            yield Problem(
                f"image_mirror_registry_images has {text!r}.",
                "references with a tag or a digest, such as registry.k8s.io/pause:3.10.",
                "correct the entry.",
            )
