"""What a cluster is expected to hold, by release, profile and settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import Claim, MinorRange
from kubeflow_volcano.catalog.operator import version_of_image
from kubeflow_volcano.cluster.objects import Ref

__all__ = ["Expectations", "expect", "release_of"]


@dataclass(frozen=True)
class Expectations:
    """The catalog's answer for one release and profile, flattened to what the checks ask."""

    release: str = ""
    kubernetes: MinorRange = MinorRange("0.0", None)  # noqa: RUF009  an immutable tuple
    """Kubernetes minors that the release was tested with."""
    volcano_version: str = ""
    volcano_kubernetes: Mapping[str, MinorRange] = field(default_factory=dict)
    """Kubernetes minors that each known version of Volcano was tested with."""
    operator_version: str = ""
    """As the caller says; asked only where the operator's image does not tell."""
    gang_scheduler: str = "volcano"
    """Or 'none'."""
    workloads: Mapping[Ref, str] = field(default_factory=dict)
    """Workloads that must come up, each with the name of its component."""
    crds: Mapping[str, str] = field(default_factory=dict)
    """Names of CRDs that must be served, each with the name of its component."""
    webhooks: Mapping[Ref, str] = field(default_factory=dict)
    namespaces: frozenset[str] = frozenset()
    claims: tuple[Claim, ...] = ()
    ignored_namespaces: frozenset[str] = frozenset()


def expect(
    release: str,
    profile: str | Sequence[str] = "training",
    *,
    volcano_version: str = "",
    local_path_version: str = "",
    operator_version: str = "",
    gang_scheduler: str = "volcano",
    ignored_namespaces: Iterable[str] = (),
) -> Expectations:
    """What the catalog expects of a release; a version that is not given is the one that goes best with it.

    Raises:
        InvalidInput: an unknown release, profile, component or version.
    """
    found = read.load_release(release)
    volcano_version = volcano_version or found.volcano_versions[0]
    local_path_version = local_path_version or found.local_path_version
    chosen = read.components(found, profile, volcano_version, local_path_version)
    ranges = {version: read.load_volcano(version).kubernetes for version in read.volcano_versions()}
    return Expectations(
        release=found.version,
        kubernetes=found.kubernetes,
        volcano_version=volcano_version,
        volcano_kubernetes={version: bounds for version, bounds in ranges.items() if bounds},
        operator_version=operator_version,
        gang_scheduler=gang_scheduler,
        workloads={ref: item.name for item in chosen for ref in item.workloads},
        crds={name: item.name for item in chosen for name in item.crds},
        webhooks={ref: item.name for item in chosen for ref in item.webhooks},
        namespaces=frozenset({"kube-system", *(name for item in chosen for name in item.namespaces)}),
        claims=tuple(claim for item in chosen for claim in item.claims),
        ignored_namespaces=frozenset(ignored_namespaces),
    )


def release_of(operator_image: str) -> str:
    """The newest release whose training operator is of that image; empty where none is."""
    version = version_of_image(operator_image)
    matching = [name for name in read.releases() if read.load_release(name).operator_version == version]
    return matching[-1] if matching else ""
