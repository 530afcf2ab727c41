"""The requests of the manifests' pods and claims, summed as the scheduler does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import pod_requests, quantity
from kubeflow_volcano.foreign import read_json

_NAMES = ("cpu", "memory")
_INJECT = "sidecar.istio.io/inject"
_REPLICATED = frozenset({"Deployment", "ReplicaSet", "StatefulSet"})
_ONCE = frozenset({"DaemonSet", "Job"})
"""Counted once: a DaemonSet has one pod per node, and a plan does not know the nodes."""


@dataclass(frozen=True, slots=True)
class Requests:
    """CPU in cores and memory in bytes. `sidecars` is the share of Istio's sidecars, which no pod template shows."""

    pods: int
    cpu: Decimal
    memory: Decimal
    sidecars: int
    sidecar_cpu: Decimal
    sidecar_memory: Decimal


@dataclass(frozen=True, slots=True)
class Claimed:
    """A PersistentVolumeClaim of the manifests, and its size in bytes."""

    ref: Ref
    size: Decimal


def requests_of(objects: Sequence[Object]) -> Requests:
    """The sum over all pods at their declared replicas, including the sidecars that Istio will inject."""
    proxy = _proxy(objects)
    injected = _injected(objects)
    pods = sidecars = 0
    sums = dict.fromkeys(_NAMES, Decimal(0))
    for obj in objects:
        count = _pods(obj)
        if not count:
            continue
        pods += count
        template = obj["spec"]["template"]
        asked = pod_requests(template["spec"])
        for name in _NAMES:
            sums[name] += count * asked.get(name, Decimal(0))
        if obj["metadata"].get("namespace") in injected and _wants_sidecar(template):
            sidecars += count
    extra = {name: sidecars * quantity(proxy.get(name) or 0) for name in _NAMES}
    return Requests(
        pods, sums["cpu"] + extra["cpu"], sums["memory"] + extra["memory"], sidecars, extra["cpu"], extra["memory"]
    )


def claims_of(objects: Iterable[Object]) -> tuple[Claimed, ...]:
    """Claims of the manifests, and those that StatefulSets create for each replica."""
    return tuple(claim for obj in objects for claim in _claims(obj))


def _claims(obj: Object) -> Iterator[Claimed]:
    if obj["kind"] == "PersistentVolumeClaim":
        yield Claimed(Ref.of(obj), _size(obj))
    elif obj["kind"] == "StatefulSet":
        for template in obj["spec"].get("volumeClaimTemplates") or ():
            for number in range(_pods(obj)):
                name = f"{template['metadata']['name']}-{obj['metadata']['name']}-{number}"
                ref = Ref("v1", "PersistentVolumeClaim", obj["metadata"].get("namespace", ""), name)
                yield Claimed(ref, _size(template))


def _size(claim: Object) -> Decimal:
    return quantity(claim["spec"]["resources"]["requests"]["storage"])


def _pods(obj: Object) -> int:
    if obj["kind"] in _REPLICATED:
        replicas = obj["spec"].get("replicas")
        return 1 if replicas is None else int(replicas)
    return int(obj["kind"] in _ONCE)


def _injected(objects: Iterable[Object]) -> frozenset[str]:
    return frozenset(
        obj["metadata"]["name"]
        for obj in objects
        if obj["kind"] == "Namespace" and (obj["metadata"].get("labels") or {}).get("istio-injection") == "enabled"
    )


def _wants_sidecar(template: Object) -> bool:
    meta = template.get("metadata") or {}
    marks = {**(meta.get("annotations") or {}), **(meta.get("labels") or {})}
    return str(marks.get(_INJECT, "true")).lower() == "true"


def _proxy(objects: Iterable[Object]) -> Mapping[str, Any]:
    """The requests of each sidecar that Istio's injector adds; empty without an injector."""
    for obj in objects:
        if obj["kind"] == "ConfigMap" and obj["metadata"]["name"].startswith("istio-sidecar-injector"):
            value: Any = read_json((obj.get("data") or {}).get("values") or "{}")
            for step in ("global", "proxy", "resources", "requests"):
                value = value.get(step) or {}
            return dict(value)
    return {}
