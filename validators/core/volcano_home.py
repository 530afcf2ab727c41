"""Volcano where others installed it: its chart names every part after a release, in a namespace of one's choice."""

from __future__ import annotations

from dataclasses import replace

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.validators.core.expectations import SCHEDULER, Expectations

_COMPONENT, _ROLE = "volcano", "-scheduler"


def with_volcano_at(expectations: Expectations, scheduler: Ref) -> Expectations:
    """The same expectations of a cluster on which this Deployment is Volcano's scheduler.

    Every part of Volcano is expected beside it, with the same beginning of its name (volcano-sh/volcano,
    installer/helm/chart/volcano/templates). Its Jobs are not: Helm may have removed them.
    """
    if scheduler == SCHEDULER or SCHEDULER not in expectations.workloads:
        return expectations
    release = scheduler.name.removesuffix(_ROLE)

    def renamed(name: str) -> str:
        return release + name.removeprefix(_COMPONENT) if name.startswith(_COMPONENT) else name

    def moved(ref: Ref) -> Ref:
        return ref._replace(namespace=scheduler.namespace if ref.namespace else "", name=renamed(ref.name))

    ours = {ref for ref, component in expectations.workloads.items() if component == _COMPONENT}
    left = frozenset(read.load_component(_COMPONENT, expectations.volcano_version).namespaces)
    return replace(
        expectations,
        scheduler=scheduler,
        workloads={
            moved(ref) if ref in ours else ref: component
            for ref, component in expectations.workloads.items()
            if not (ref in ours and ref.kind == "Job")
        },
        webhooks={
            moved(ref) if component == _COMPONENT else ref: component
            for ref, component in expectations.webhooks.items()
        },
        namespaces=expectations.namespaces - left | {scheduler.namespace},
        images={
            (moved(ref), renamed(container)) if ref in ours else (ref, container): image
            for (ref, container), image in expectations.images.items()
        },
    )
