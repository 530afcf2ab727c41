"""The records of the catalog's data files. Their fields are described in the schemas of the same name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias

from kubeflow_volcano.decode import Parsed
from kubeflow_volcano.ref import Ref

_API_VERSIONS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "AuthorizationPolicy": "security.istio.io/v1beta1",
    "RequestAuthentication": "security.istio.io/v1beta1",
    "Gateway": "networking.istio.io/v1beta1",
    "EnvoyFilter": "networking.istio.io/v1alpha3",
}


def _ref(text: str) -> Ref:
    """The object of "Deployment kubeflow/minio" or "MutatingWebhookConfiguration katib.kubeflow.org"."""
    kind, _, place = text.partition(" ")
    namespace, _, name = place.rpartition("/")
    return Ref(_API_VERSIONS.get(kind, "admissionregistration.k8s.io/v1"), kind, namespace, name)


ObjectName: TypeAlias = Annotated[Ref, Parsed(_ref)]
"""An object, written as its kind, its namespace if it has one, and its name."""


def version_key(version: str) -> tuple[int, ...]:
    """Sort key of a dotted version. A leading v and a suffix after - or + do not count ("v1.30.2-rc.0" is 1.30.2).

    Raises:
        ValueError: a part of it is not a number.
    """
    numbers = version.removeprefix("v").partition("+")[0].partition("-")[0]
    return tuple(int(part) for part in numbers.split("."))


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Versions from `lowest` to `highest`, both included; `highest` None is open."""

    lowest: str
    highest: str | None

    def covers(self, version: str) -> bool:
        """Whether `version` is in the range."""
        key = version_key(version)
        return version_key(self.lowest) <= key and (self.highest is None or key <= version_key(self.highest))


@dataclass(frozen=True, slots=True)
class MinorRange:
    """Kubernetes minors ("1.29") from `lowest` to `highest`, both included; `highest` None is open."""

    lowest: str
    highest: str | None

    def covers(self, version: str) -> bool:
        """Whether `version` ("v1.30.2", "1.30") is in the range."""
        return version_key(self.lowest) <= version_key(version)[:2] and not self.is_exceeded_by(version)

    def is_exceeded_by(self, version: str) -> bool:
        """Whether `version` is above the upper end."""
        return self.highest is not None and version_key(version)[:2] > version_key(self.highest)

    def __str__(self) -> str:
        if self.highest is None:
            return f"{self.lowest} and later"
        return self.lowest if self.lowest == self.highest else f"{self.lowest} to {self.highest}"


@dataclass(frozen=True, slots=True)
class Claim:
    """A PersistentVolumeClaim and the identity of the workload that mounts it; None: the image decides.

    `source` is empty where the manifests say it; else it is the image that names the user, or why that is not known.
    """

    namespace: str
    name: str
    size: str
    consumer: ObjectName
    run_as_user: int | None
    run_as_group: int | None
    fs_group: int | None
    fs_group_change_policy: str = ""
    source: str = ""

    @property
    def mode(self) -> int:
        """The permissions that its directory needs.

        A consumer that starts as root may continue as another user in a directory that it creates below (katib-mysql up
        to Kubeflow 1.9): that user needs to traverse this one, but not to read it.
        """
        return 0o771 if self.run_as_user == 0 else 0o770

    @property
    def owner(self) -> str:
        """The argument of `chown` that lets the consumer write, such as "999:999"; empty where nothing says it."""
        group = self.run_as_group if self.run_as_group is not None else self.fs_group
        if self.run_as_user is None and group is None:
            return ""
        return f"{self.run_as_user or 0}:{group or 0}"


@dataclass(frozen=True, slots=True)
class Component:
    """One installable part.

    `crds` have the versions that they serve, `stored` the one in which objects are stored where several are served.
    `images` are those of containers by workload, `labels` the versions in the labels of workloads, `selectors` what
    workloads select their pods by, `intercepts` the resources of each of the `webhooks`. `queue_fields` are those that
    the CRD of Volcano's queues has below spec, `scheduler_actions` and `scheduler_plugins` those of the configuration
    that its manifest brings. `entry` is the file of the user that describes it; empty for components of the catalog.
    """

    name: str
    title: str
    version: str
    manifests: str
    path: str
    objects: int
    address: str | None = None
    kubernetes: MinorRange | None = None
    example: bool = True
    requires: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    workloads: tuple[ObjectName, ...] = ()
    crds: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    stored: Mapping[str, str] = field(default_factory=dict, hash=False)
    webhooks: tuple[ObjectName, ...] = ()
    intercepts: Mapping[ObjectName, tuple[str, ...]] = field(default_factory=dict, hash=False)
    injected: tuple[str, ...] = ()
    policies: tuple[ObjectName, ...] = ()
    claims: tuple[Claim, ...] = ()
    images: Mapping[ObjectName, Mapping[str, str]] = field(default_factory=dict, hash=False)
    selectors: Mapping[ObjectName, str] = field(default_factory=dict, hash=False)
    labels: Mapping[ObjectName, str] = field(default_factory=dict, hash=False)
    queue_fields: tuple[str, ...] = ()
    scheduler_actions: tuple[str, ...] = ()
    scheduler_plugins: tuple[str, ...] = ()
    entry: str = ""

    @property
    def central(self) -> tuple[Ref, ...]:
        """Its workloads, webhook configurations and CRDs."""
        crds = (Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name) for name in self.crds)
        return *self.workloads, *self.webhooks, *crds


@dataclass(frozen=True, slots=True)
class Marker:
    """A file in an archive whose sum identifies the release."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Source:
    """An upstream archive. `content_sha256` is the sum of its files: forges do not promise stable archive bytes."""

    name: str
    title: str
    address: str
    content_sha256: str
    marker: Marker | None = None


@dataclass(frozen=True, slots=True)
class RemoteBase:
    """A remote `resources:` entry that begins with `prefix`; `path` in `source` has the same files.

    `images` maps image names in `source` to those in the entry, where they differ; tags are the same.
    """

    prefix: str
    source: str
    path: str
    images: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JointValue:
    """An annotation of `crd`: a `placeholder` in `component` alone, `value` in a build together with `provider`."""

    component: str
    crd: str
    annotation: str
    placeholder: str
    provider: str
    value: str


@dataclass(frozen=True, slots=True)
class Defect:
    """A known defect of a release, the components that it affects, and how this project handles it.

    `handled` is True where the user has nothing left to do, or the values of variables with which that is so.
    """

    id: str
    title: str
    consequence: str
    handling: str
    handled: bool | Mapping[str, Any]
    applies_to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Operator:
    """The component that runs training jobs by default; `kind` is training-operator or trainer."""

    component: str
    version: str
    kind: str


@dataclass(frozen=True, slots=True)
class Release:
    """One version of the Kubeflow distribution. `entry` is as in `Component`."""

    version: str
    source: Source
    kubernetes: MinorRange
    kubernetes_targeted: str
    kubernetes_tested: str
    kustomize_version: str
    operator: Operator
    volcano_versions: tuple[str, ...]
    local_path_version: str
    profiles: Mapping[str, tuple[str, ...]]
    components: Mapping[str, Component]
    remote_sources: tuple[Source, ...] = ()
    remote_bases: tuple[RemoteBase, ...] = ()
    replaced_apis: Mapping[str, str] = field(default_factory=dict)
    joint_values: tuple[JointValue, ...] = ()
    defects: tuple[Defect, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    upgrades_from: tuple[str, ...] = ()
    entry: str = ""

    @property
    def operator_version(self) -> str:
        """Version of the release's own training operator or Trainer."""
        return self.operator.version

    @property
    def kubernetes_range_tested(self) -> MinorRange:
        """From the minor that upstream targets to the newest that its tests ran on."""
        return MinorRange(self.kubernetes_targeted, self.kubernetes_tested)
