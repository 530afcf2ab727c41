"""What stays while custom resources are held by finalizers: the controllers that have to act, and what these need."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kubeflow_volcano.apply.graph import closure
from kubeflow_volcano.apply.removing.order import Wave
from kubeflow_volcano.catalog.model import Component
from kubeflow_volcano.cluster.objects import Ref


def waiting_for(
    wave: Wave,
    held: Collection[Ref],
    later: Collection[Ref],
    component: Mapping[Ref, str],
    brought: Mapping[str, Component],
) -> set[Ref]:
    """Those of `later` that belong to the components of the held objects and of their kinds, or to required ones.

    `component` has that of each object, empty where it is not recorded: such an object stays, too. Nothing waits for
    other objects than custom resources.
    """
    if wave is not Wave.CUSTOM:
        return set()
    groups = {ref.group for ref in held}
    needed = {component[ref] for ref in held}
    needed |= {name for name, part in brought.items() if groups & {crd.partition(".")[2] for crd in part.crds}}
    requires = {name: part.requires for name, part in brought.items()}
    stay = {"", *(name for part in needed for name in closure(part, requires))}
    return {ref for ref in later if component[ref] in stay}
