"""In which order objects are removed: what stops others first, controllers only after what they must clean up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import IntEnum

from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS
from kubeflow_volcano.cluster.objects import Ref

__all__ = ["Wave", "waves"]

_WORKLOADS = frozenset({"CronJob", "DaemonSet", "Deployment", "HorizontalPodAutoscaler", "Job", "StatefulSet"})
_INTERCEPTING = frozenset(
    {*WEBHOOK_KINDS, "APIService", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
)


class Wave(IntEnum):
    """One step of a removal. The next begins when the objects of this one are gone."""

    INTERCEPTING = 0
    """Webhooks and APIServices: without their backend they would refuse, or hold up, what follows."""
    CUSTOM = 1
    """Custom resources, while the controllers live that act on their finalizers."""
    WORKLOADS = 2
    OTHERS = 3
    """Services, RBAC, configuration: workloads need them until they have ended."""
    CRDS = 4
    NAMESPACES = 5


def waves(refs: Iterable[Ref], custom_groups: Collection[str]) -> Sequence[Sequence[Ref]]:
    """`refs` by wave, sorted; empty waves are left out. `custom_groups` are the API groups of CRDs."""
    found: dict[Wave, list[Ref]] = {wave: [] for wave in Wave}
    for ref in sorted(refs):
        found[_wave(ref, custom_groups)].append(ref)
    return [members for members in found.values() if members]


def _wave(ref: Ref, custom_groups: Collection[str]) -> Wave:
    if ref.kind in _INTERCEPTING and ref.group.endswith(".k8s.io"):
        return Wave.INTERCEPTING
    if ref.kind == CRD_KIND:
        return Wave.CRDS
    if ref.kind == "Namespace":
        return Wave.NAMESPACES
    if ref.group in custom_groups:
        return Wave.CUSTOM
    return Wave.WORKLOADS if ref.kind in _WORKLOADS else Wave.OTHERS
