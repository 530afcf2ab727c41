"""Settings that one part of the project reads together: the first user, the image mirror, volumes, the plan."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Component, Release
from kubeflow_volcano.problems import Problem

__all__ = [
    "PUBLISHED_PASSWORD",
    "ContainerdSettings",
    "MirrorRule",
    "MirrorSettings",
    "PlanSettings",
    "PodWebhookSettings",
    "StorageSettings",
    "UserSettings",
    "mirror_settings",
    "plan_settings",
    "pod_webhook_settings",
    "storage_settings",
    "strange_passwords",
    "strange_static",
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
class ContainerdSettings:
    """How the nodes' containerd finds the mirror. `ca` is a file on the controller, or None.

    `existing` says what becomes of a hosts.toml that somebody else wrote: refuse or extend. Times in seconds.
    """

    upstream: bool
    ca: Path | None
    plain_http: tuple[str, ...]
    registries: tuple[str, ...]
    config_path: str
    existing: str
    test_image: str
    ready_seconds: int
    node_seconds: int


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """Where images come from. `mode` is none, rewrite, containerd or registry; `allow_list` None takes the preset's.

    After so many `refusals` nobody is asked any more.
    """

    mode: str
    preset: str
    rules: tuple[MirrorRule, ...]
    overrides: Mapping[str, str]
    catalog_overrides: bool
    allow_list: Path | None
    probe: bool
    probe_per_minute: int
    probe_parallel: int
    containerd: ContainerdSettings
    refusals: int


@dataclass(frozen=True, slots=True)
class StorageSettings:
    """Who provides volumes (local_path, existing or static), and in which directory of which node.

    `node_paths` holds the nodes whose directory is not `base_directory`; `static_nodes` the claims, as
    namespace/name, whose volume is not on `static_node`.
    """

    mode: str
    base_directory: str
    node_paths: Mapping[str, str]
    static_node: str
    static_nodes: Mapping[str, str]

    def directory_on(self, node: str) -> str:
        """The base directory of that node."""
        return self.node_paths.get(node, self.base_directory)


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
    preset, rules = values["image_mirror_preset"], values["image_mirror_rules"]
    if values["image_mirror_registry"]:  # both say where that is filled from; see transport.py
        preset, rules = "", [{"source": "*", "prefix": values["image_mirror_registry"]}]
    return MirrorSettings(
        mode=values["image_mirror_mode"],
        preset=preset,
        rules=tuple(MirrorRule(**rule) for rule in rules),
        refusals=values["image_mirror_refusals"],
        overrides=dict(values["image_mirror_overrides"]),
        catalog_overrides=values["image_mirror_catalog_overrides"],
        allow_list=Path(allow_list).expanduser() if allow_list else None,
        probe=values["image_mirror_probe"],
        probe_per_minute=values["image_mirror_probe_per_minute"],
        probe_parallel=values["image_mirror_probe_parallel"],
        containerd=_containerd_settings(values),
    )


def _containerd_settings(values: Mapping[str, Any]) -> ContainerdSettings:
    ca = values["image_mirror_containerd_ca"] or values["image_mirror_registry_ca"]
    return ContainerdSettings(
        upstream=values["image_mirror_containerd_upstream"],
        ca=Path(ca).expanduser() if ca else None,
        plain_http=tuple(values["image_mirror_containerd_plain_http"]),
        registries=tuple(values["image_mirror_containerd_registries"]),
        config_path=values["image_mirror_containerd_config_path"],
        existing=values["image_mirror_containerd_existing"],
        test_image=values["image_mirror_containerd_test_image"],
        ready_seconds=values["image_mirror_containerd_ready_seconds"],
        node_seconds=values["image_mirror_containerd_node_seconds"],
    )


def storage_settings(values: Mapping[str, Any]) -> StorageSettings:
    """The settings of volumes of well-shaped values."""
    base = values["local_path_base_directory"]
    return StorageSettings(
        mode=values["local_path_storage_mode"],
        base_directory=base,
        node_paths={node: path for node, path in values["local_path_node_paths"].items() if path != base},
        static_node=values["local_path_static_node"],
        static_nodes=dict(values["local_path_static_nodes"]),
    )


def strange_static(storage: StorageSettings, parts: Iterable[Component]) -> Iterator[Problem]:
    """What is wrong with volumes that are to be made in advance."""
    if storage.mode != "static":
        return
    claims = [f"{claim.namespace}/{claim.name}" for part in parts for claim in part.claims]
    if not claims:
        yield Problem(
            "local_path_storage_mode is static, and no chosen component claims a volume.",
            "components with claims, such as those of the profile full.",
            "set local_path_storage_mode: local_path, or choose more components.",
        )
    for name in storage.static_nodes:
        if name not in claims:
            yield Problem(
                f"local_path_static_nodes.{name}, which no chosen component claims.{read.nearest(name, claims)}",
                f"one of: {', '.join(claims)}.",
                "correct the name, or remove the entry.",
            )
    if without := [name for name in claims if not storage.static_nodes.get(name, storage.static_node)]:
        yield Problem(
            f"no node for the volumes of {', '.join(without)}.",
            "the node on whose disk each of them is, as local_path_storage_mode is static.",
            "set local_path_static_node to the name of a Node, or local_path_static_nodes for single claims.",
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


@dataclass(frozen=True, slots=True)
class PodWebhookSettings:
    """What new pods get while the admission is silent, and in namespaces with which labels it is asked; none: all."""

    failure_policy: str = "Ignore"
    namespaces: Mapping[str, str] = field(default_factory=dict)


def pod_webhook_settings(values: Mapping[str, Any]) -> PodWebhookSettings:
    """From well-shaped variables."""
    return PodWebhookSettings(
        values["volcano_pod_webhook_failure_policy"], dict(values["volcano_pod_webhook_namespace_labels"])
    )
