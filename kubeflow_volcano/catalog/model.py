"""What the catalog's data files become: frozen values without behaviour of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubeflow_volcano.ref import Ref

__all__ = [
    "Claim",
    "Component",
    "Defect",
    "JointValue",
    "Marker",
    "MinorRange",
    "Operator",
    "Release",
    "RemoteBase",
    "Source",
    "version_key",
]


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
        return version_key(self.low) <= version_key(version)[:2] and not self.exceeded_by(version)

    def exceeded_by(self, version: str) -> bool:
        """Whether `version` lies above the upper end."""
        return self.high is not None and version_key(version)[:2] > version_key(self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"{self.low} and later"
        return self.low if self.low == self.high else f"{self.low} to {self.high}"


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

    @property
    def owner(self) -> str:
        """What `chown` needs so that the consumer may write; empty where nothing says who it is."""
        group = self.run_as_group if self.run_as_group is not None else self.fs_group
        if self.run_as_user is None and group is None:
            return ""
        return f"{self.run_as_user or 0}:{group or 0}"


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
    example: bool
    objects: int
    requires: tuple[str, ...]
    namespaces: tuple[str, ...]
    workloads: tuple[Ref, ...]
    crds: tuple[str, ...]
    webhooks: tuple[Ref, ...]
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Marker:
    """A file of an archive whose sum tells releases apart."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """An archive of upstream. `content_sha256` is over its files, as a forge does not promise the bytes around them."""

    name: str
    title: str
    address: str
    content_sha256: str
    marker: Marker | None


@dataclass(frozen=True, slots=True)
class RemoteBase:
    """What a `resources:` entry on another machine begins with, and where the same files are: `path` in `source`.

    `images` holds the names of images that differ: as in `source`, to as in the entry; tags are the same.
    """

    prefix: str
    source: str
    path: str
    images: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JointValue:
    """An annotation of `crd` that `component` leaves a `placeholder`; a build with `provider` fills in `value`."""

    component: str
    crd: str
    annotation: str
    placeholder: str
    provider: str
    value: str


@dataclass(frozen=True, slots=True)
class Defect:
    """Something known to be wrong with a release, the components that it touches, and what is done about it here.

    `handled` says that nothing is left for a person to do, or with which values of variables that is so.
    """

    id: str
    title: str
    applies_to: tuple[str, ...]
    consequence: str
    handling: str
    handled: bool | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Operator:
    """Who runs training jobs in a release by default; `kind` is training-operator or trainer."""

    component: str
    version: str
    kind: str


@dataclass(frozen=True, slots=True)
class Release:
    """One Kubeflow distribution version. The fields are described in schemas/release.json."""

    version: str
    source: Source
    remote_sources: tuple[Source, ...]
    remote_bases: tuple[RemoteBase, ...]
    kubernetes: MinorRange
    kubernetes_targeted: str
    kubernetes_tested: str
    replaced_apis: Mapping[str, str]
    joint_values: tuple[JointValue, ...]
    kustomize_version: str
    operator: Operator
    volcano_versions: tuple[str, ...]
    local_path_version: str
    profiles: Mapping[str, tuple[str, ...]]
    components: Mapping[str, Component]
    defects: tuple[Defect, ...]
    refused: Mapping[str, str]

    @property
    def operator_version(self) -> str:
        """Version of the release's own training operator or Trainer."""
        return self.operator.version
