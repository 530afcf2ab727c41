"""In which order objects are removed: what stops others first, controllers only after what they must clean up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import Enum

from kubeflow_volcano.apply.graph import CRD_KIND, WEBHOOK_KINDS
from kubeflow_volcano.cluster.objects import Ref

_WORKLOADS = frozenset({"CronJob", "DaemonSet", "Deployment", "HorizontalPodAutoscaler", "Job", "StatefulSet"})
_INTERCEPTING = frozenset(
    {
        *(*WEBHOOK_KINDS, "APIService"),
        *(f"{what}AdmissionPolicy{item}" for what in ("Mutating", "Validating") for item in ("", "Binding")),
    }
)


class Wave(Enum):
    """One step of a removal, by its title. The next begins when the objects of this one are gone."""

    INTERCEPTING = "webhooks and APIServices"
    """Without their backend they would refuse, or hold up, what follows."""
    CUSTOM = "custom resources"
    """While the controllers live that act on their finalizers."""
    WORKLOADS = "workloads"
    OTHERS = "Services, RBAC, configuration"
    """Workloads need them until they have ended."""
    CRDS = "CRDs"
    NAMESPACES = "namespaces"


PRUNING = tuple(Wave)
"""Webhooks first: the backend of a stale one is often gone already, or in a version that does not serve it."""

UNINSTALLING = (Wave.CUSTOM, *(wave for wave in Wave if wave is not Wave.CUSTOM))
"""Custom resources first: all controllers and the backends of all webhooks live."""


def waves(
    refs: Iterable[Ref], custom_groups: Collection[str], order: Sequence[Wave] = PRUNING
) -> Sequence[tuple[Wave, Sequence[Ref]]]:
    """`refs` by wave, sorted; empty waves are left out. `custom_groups` are the API groups of CRDs."""
    by_wave: dict[Wave, list[Ref]] = {wave: [] for wave in order}
    for ref in sorted(refs):
        by_wave[_wave(ref, custom_groups)].append(ref)
    return [(wave, members) for wave, members in by_wave.items() if members]


def _wave(ref: Ref, custom_groups: Collection[str]) -> Wave:
    if ref.kind in _INTERCEPTING and ref.group.endswith(".k8s.io"):
        return Wave.INTERCEPTING
    if ref.kind == CRD_KIND:
        return Wave.CRDS
    if (ref.group, ref.kind) == ("", "Namespace"):
        return Wave.NAMESPACES
    if ref.group in custom_groups:
        return Wave.CUSTOM
    return Wave.WORKLOADS if ref.kind in _WORKLOADS else Wave.OTHERS
