"""Settings that one part of the project reads together: the first user, the image mirror, the plan."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubeflow_volcano.catalog.model import Release
from kubeflow_volcano.problems import Problem

__all__ = [
    "PUBLISHED_PASSWORD",
    "MirrorRule",
    "MirrorSettings",
    "PlanSettings",
    "UserSettings",
    "mirror_settings",
    "plan_settings",
    "strange_passwords",
    "user_settings",
]

UPSTREAM_NAMESPACE = "kubeflow-user-example-com"
"""Namespace of the profile in common/user-namespace of every release."""

PUBLISHED_PASSWORD = "12341234"  # noqa: S105  stands in upstream's README for everybody to read
_BCRYPT_BYTES = 72


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The first user. An empty `password` asks for a random one; `published_password` for upstream's."""

    email: str
    password: str = field(repr=False)
    namespace: str
    published_password: bool
    credentials_directory: Path


@dataclass(frozen=True, slots=True)
class MirrorRule:
    """For images of `source` (* is any): one of the others is set, and says what becomes of the name."""

    source: str
    prefix: str = ""
    host: str = ""
    registry: str = ""


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """How images are renamed. `mode` is none or rewrite; `allow_list` None takes the preset's."""

    mode: str
    preset: str
    rules: tuple[MirrorRule, ...]
    overrides: Mapping[str, str]
    catalog_overrides: bool
    allow_list: Path | None
    probe: bool
    probe_per_minute: int
    probe_parallel: int


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """What the static plan is held against. Memory and storage in GB (1000^3 bytes)."""

    kubernetes: str
    architectures: tuple[str, ...]
    directory: Path
    minimum_cpu: int
    minimum_memory_gb: int
    minimum_storage_gb: int


def user_settings(values: Mapping[str, Any]) -> UserSettings:
    """The first user's settings of well-shaped values."""
    home = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config") / "kubeflow-volcano"
    return UserSettings(
        email=values["kubeflow_user_email"],
        password=values["kubeflow_user_password"],
        namespace=values["kubeflow_user_namespace"] or UPSTREAM_NAMESPACE,
        published_password=values["kubeflow_published_password"],
        credentials_directory=Path(values["kubeflow_credentials_directory"] or home).expanduser(),
    )


def strange_passwords(values: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with the password of the first user; never repeats it."""
    password, published = values["kubeflow_user_password"], values["kubeflow_published_password"]
    if password and published:
        yield Problem(
            "kubeflow_user_password is set, and kubeflow_published_password is true.",
            "one password: your own, or the one that upstream publishes.",
            "remove one of the two variables.",
        )
    elif password == PUBLISHED_PASSWORD:
        yield Problem(
            "kubeflow_user_password is the password that upstream publishes, which everybody knows.",
            "a password of your own; empty makes a random one.",
            "change kubeflow_user_password; where the published one is meant, set kubeflow_published_password: true.",
        )
    elif len(password.encode()) > _BCRYPT_BYTES:
        yield Problem(
            f"kubeflow_user_password has {len(password.encode())} bytes.",
            f"at most {_BCRYPT_BYTES}, as bcrypt reads no more.",
            "shorten kubeflow_user_password.",
        )


def mirror_settings(values: Mapping[str, Any]) -> MirrorSettings:
    """The image mirror's settings of well-shaped values."""
    allow_list = values["image_mirror_allow_list"]
    return MirrorSettings(
        mode=values["image_mirror_mode"],
        preset=values["image_mirror_preset"],
        rules=tuple(MirrorRule(**rule) for rule in values["image_mirror_rules"]),
        overrides=dict(values["image_mirror_overrides"]),
        catalog_overrides=values["image_mirror_catalog_overrides"],
        allow_list=Path(allow_list).expanduser() if allow_list else None,
        probe=values["image_mirror_probe"],
        probe_per_minute=values["image_mirror_probe_per_minute"],
        probe_parallel=values["image_mirror_probe_parallel"],
    )


def plan_settings(values: Mapping[str, Any], release: Release) -> PlanSettings:
    """The plan's settings of well-shaped values."""
    return PlanSettings(
        kubernetes=values["plan_kubernetes"] or release.kubernetes_tested,
        architectures=tuple(values["plan_architectures"]),
        directory=Path(values["plan_directory"]).expanduser(),
        minimum_cpu=values["plan_minimum_cpu"],
        minimum_memory_gb=values["plan_minimum_memory_gb"],
        minimum_storage_gb=values["plan_minimum_storage_gb"],
    )
