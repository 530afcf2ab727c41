"""Software of its own inside components, such as Argo Workflows inside Pipelines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kubeflow_volcano.catalog.data import load
from kubeflow_volcano.decode import decode
from kubeflow_volcano.ref import Ref

_CRD = "CustomResourceDefinition"


@dataclass(frozen=True, slots=True)
class Shared:
    """What others install without the component: its CRDs by group, its workloads and webhook configurations by name.

    `clash` says what is needed of it on one cluster, `beside` what to do about the other one on taking over.
    """

    title: str
    component: str
    clash: str
    beside: str
    groups: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()

    def has(self, ref: Ref) -> bool:
        """Whether this central object of the component is a part of that software."""
        if ref.kind == _CRD:
            return ref.name.partition(".")[2] in self.groups
        return ref.name in (self.workloads if ref.namespace else self.webhooks)


@cache
def shared_parts() -> tuple[Shared, ...]:
    """All of them."""
    return decode(tuple[Shared, ...], load("existing/shared")["shared"], "shared")


def shared_part(component: str, ref: Ref) -> Shared | None:
    """The software to which this central object of the component belongs; None for what is the component's own."""
    return next((item for item in shared_parts() if item.component == component and item.has(ref)), None)
