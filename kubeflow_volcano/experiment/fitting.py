"""Fit probe objects into the LimitRanges of their namespace, and let their pods tolerate the taints of nodes."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kubeflow_volcano.cluster.objects import Object, conditions, mappings_in, pod_specs
from kubeflow_volcano.cluster.pods.quantities import quantity
from kubeflow_volcano.cluster.pods.taints import Setter, blocking, setter_of

__all__ = ["Bounds", "bounds", "fitted", "pod_specs", "tolerations"]

_Amounts = dict[str, Decimal]
_LEAST_CPU = Decimal("0.01")
"""CPU requested, in cores, where 0 is refused: little, so that a quota holds several pods."""
# Taints of nodes that are not ready or not initialized; no probe pod tolerates them.
_NODE_TROUBLE = frozenset({Setter.KUBERNETES, Setter.CLOUD, Setter.CONTROLLER})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What LimitRanges require of requests and limits: CPU in cores, memory and storage in bytes."""

    least: Mapping[str, Decimal] = field(default_factory=dict)
    most: Mapping[str, Decimal] = field(default_factory=dict)
    ratio: Mapping[str, Decimal] = field(default_factory=dict)
    """The highest ratio of a limit to its request."""


def bounds(limit_ranges: Iterable[Object]) -> Bounds:
    """The strictest of all items. Those for pods apply to containers, as a probe pod has only one.

    Defaults do not matter: probe containers have requests and limits.
    """
    least: _Amounts = {}
    most: _Amounts = {}
    ratio: _Amounts = {}
    for item in (item for found in limit_ranges for item in found["spec"].get("limits") or ()):
        _take(least, item.get("min"), max)
        _take(most, item.get("max"), min)
        _take(ratio, item.get("maxLimitRequestRatio"), min)
    return Bounds(least, most, ratio)


def _take(into: _Amounts, amounts: Mapping[str, Any] | None, stricter: Callable[[Decimal, Decimal], Decimal]) -> None:
    for name, text in (amounts or {}).items():
        amount = quantity(text)
        into[name] = stricter(into.get(name, amount), amount)


def fitted(obj: Object, within: Bounds, tolerated: Iterable[Mapping[str, str]] = ()) -> Object:
    """The object with requests and limits within bounds, and with tolerations.

    Pods with a nodeName keep their own tolerations. Templates in jobs count as pods.
    """
    tolerated = list(tolerated)
    if not (within.least or within.most or within.ratio or tolerated):
        return obj
    obj = copy.deepcopy(obj)
    for spec in pod_specs(obj):
        if tolerated and "nodeName" not in spec:
            spec["tolerations"] = [*(spec.get("tolerations") or ()), *tolerated]
    for resources in _resources(obj):
        _fit(resources, within)
    return obj


def _resources(obj: Object) -> Iterator[dict[str, Any]]:
    """Everything with requests: containers, claims, the nodes of a TrainJob."""
    return (item for item in mappings_in(obj) if isinstance(item.get("requests"), dict))


def _fit(resources: dict[str, Any], within: Bounds) -> None:
    """Raise requests to the minimum, and lower limits to the maximum and the ratio."""
    requests, limits = dict(resources["requests"]), dict(resources.get("limits") or {})
    for name, text in resources["requests"].items():
        request = max(quantity(text), within.least.get(name, Decimal(0)))
        limit = max(quantity(limits[name]), request) if name in limits else None
        if name in within.most:
            request = min(request, within.most[name])
            limit = min(limit, within.most[name]) if limit is not None else None
        if name in within.ratio and limit is not None:
            # Admission refuses a request of 0 where there is a ratio. Of CPU alone probes request 0.
            request = request or min(limit / max(within.ratio[name], Decimal(1)), _LEAST_CPU)
            limit = max(request, min(limit, request * within.ratio[name]))
        requests[name] = _text(name, request, math.ceil)
        if limit is not None:
            limits[name] = _text(name, limit, math.floor)
    resources["requests"] = requests
    if limits:
        resources["limits"] = limits


def _text(name: str, amount: Decimal, whole: Callable[[Decimal], int]) -> str:
    return f"{whole(amount * 1000)}m" if name == "cpu" else str(whole(amount))


def tolerations(nodes: Iterable[Object]) -> tuple[Mapping[str, str], ...]:
    """The tolerations of probe pods: none if a usable node has no taints.

    Otherwise the taints of usable nodes, those of the control plane only where there are no other nodes. Taints that
    report a problem of their node are never tolerated.
    """
    well = [item for item in nodes if _takes_pods(item)]
    workers = [item for item in well if Setter.CONTROL_PLANE not in _setters(item)]
    chosen = workers or well
    if any(not blocking(item) for item in chosen):
        return ()
    taints = {(taint["key"], taint.get("value", ""), taint["effect"]) for item in chosen for taint in blocking(item)}
    return tuple(
        {"key": key, "effect": effect} | ({"operator": "Equal", "value": value} if value else {"operator": "Exists"})
        for key, value, effect in sorted(taints)
    )


def _setters(node: Object) -> set[Setter]:
    return {setter_of(item["key"]) for item in blocking(node)}


def _takes_pods(node: Object) -> bool:
    ready = conditions(node).get("Ready", {}).get("status") == "True"
    return ready and not _NODE_TROUBLE & _setters(node) and not node["spec"].get("unschedulable")
