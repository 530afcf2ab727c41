"""Devices that pods get by ResourceClaims (DRA), for the report of every run: what there is, and who has it.

API: resource.k8s.io of Kubernetes, v1beta1 (1.32) to v1 (1.34).
"""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.rights import Rule

GROUP = "resource.k8s.io"
VERSIONS = tuple(f"{GROUP}/{version}" for version in ("v1", "v1beta2", "v1beta1"))
"""The newest first. Kubernetes before 1.32 has alpha versions only, with other fields."""
CLAIMS, CLASSES, SLICES = f"resourceclaims.{GROUP}", f"deviceclasses.{GROUP}", f"resourceslices.{GROUP}"
_KINDS = {CLAIMS: "ResourceClaim", CLASSES: "DeviceClass", SLICES: "ResourceSlice"}


def _read(cluster: Cluster, _facts: Facts) -> Mapping[str, tuple[Object, ...]]:
    """The objects by resource; nothing where the API server has none of these versions, or no driver has any device.

    Raises:
        ApiError: one of them could not be read.
    """
    version = next((item for item in VERSIONS if _KINDS[SLICES] in cluster.kinds(item)), "")
    slices = cluster.list(version, _KINDS[SLICES]).items if version else ()
    if not slices:
        return {}
    return {SLICES: slices, **{name: cluster.list(version, _KINDS[name]).items for name in (CLAIMS, CLASSES)}}


DEVICES = Fact[Mapping[str, tuple[Object, ...]]](
    "devices",
    _read,
    {},
    needs=tuple(Rule("list", GROUP, name.partition(".")[0]) for name in _KINDS),
    enriches=True,
)
"""ResourceSlices, ResourceClaims and DeviceClasses, by resource."""
