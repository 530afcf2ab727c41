"""What the catalog's data files become: frozen values without behaviour of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kubeflow_volcano.ref import Ref

__all__ = ["Claim", "Component", "MinorRange", "Release", "version_key"]


def version_key(version: str) -> tuple[int, ...]:
    """Order of a dotted version; a leading v and what follows - or + do not count ("v1.30.2-rc.0" is 1.30.2).

    Raises:
        ValueError: a part of it is no number.
    """
    numbers = version.removeprefix("v").partition("+")[0].partition("-")[0]
    return tuple(int(part) for part in numbers.split("."))


class MinorRange(NamedTuple):
    """Kubernetes minors ("1.29"), both ends included; `high` None is open."""

    low: str
    high: str | None

    def covers(self, version: str) -> bool:
        """Whether `version` ("v1.30.2", "1.30") lies inside."""
        minor = version_key(version)[:2]
        return version_key(self.low) <= minor and (self.high is None or minor <= version_key(self.high))

    def __str__(self) -> str:
        return f"{self.low} to {self.high}" if self.high else f"{self.low} and later"


@dataclass(frozen=True, slots=True)
class Claim:
    """A persistent volume claim and as whom its consumer runs; None is left to the image. `size` is a quantity."""

    namespace: str
    name: str
    size: str
    consumer: Ref
    run_as_user: int | None
    run_as_group: int | None
    fs_group: int | None


@dataclass(frozen=True, slots=True)
class Component:
    """One installable part. The fields are described in schemas/component.json."""

    name: str
    title: str
    version: str
    kubernetes: MinorRange | None
    manifests: str
    address: str | None
    path: str
    requires: tuple[str, ...]
    namespaces: tuple[str, ...]
    workloads: tuple[Ref, ...]
    crds: tuple[str, ...]
    webhooks: tuple[Ref, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """One Kubeflow distribution version. The fields are described in schemas/release.json."""

    version: str
    kubernetes: MinorRange
    kustomize_version: str
    operator_version: str
    volcano_versions: tuple[str, ...]
    profiles: Mapping[str, tuple[str, ...]]
    components: Mapping[str, Component]
