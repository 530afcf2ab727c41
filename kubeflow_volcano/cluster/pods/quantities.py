"""Amounts of resources as numbers: what a pod asks for, and how an amount is written for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from kubeflow_volcano.cluster.objects import Object

__all__ = ["Amounts", "amounts", "pod_requests", "quantity", "readable", "total"]

Amounts = Mapping[str, Decimal]
"""By resource name: CPU in cores, memory in bytes, others as they are counted."""

_BINARY = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


@lru_cache(maxsize=1024)  # ten thousand pods ask for a dozen different amounts
def quantity(text: Any) -> Decimal:
    """The number of a Kubernetes quantity.

    Raises:
        ValueError: it is none.
    """
    # The client takes 0.3 s to import; a process that only reads the settings, as most action plugins, does without.
    from kubernetes.utils.quantity import parse_quantity  # noqa: PLC0415

    return Decimal(parse_quantity(text))


def amounts(quantities: Mapping[str, Any] | None) -> dict[str, Decimal]:
    """A resource list as numbers; nothing of nothing."""
    return {name: quantity(text) for name, text in (quantities or {}).items()}


def total(several: Iterable[Amounts]) -> dict[str, Decimal]:
    """The sum, resource by resource."""
    result: dict[str, Decimal] = {}
    for item in several:
        for name, amount in item.items():
            result[name] = result.get(name, Decimal(0)) + amount
    return result


def pod_requests(spec: Object) -> dict[str, Decimal]:
    """What the scheduler counts for a pod of that spec (pkg/api/v1/resource/helpers.go, PodRequests).

    Containers and sidecars run beside each other; an init container runs beside the sidecars before it.
    """
    beside = total(_of_container(item) for item in spec.get("containers") or ())
    sidecars: dict[str, Decimal] = {}
    most: dict[str, Decimal] = {}
    for item in spec.get("initContainers") or ():
        if item.get("restartPolicy") == "Always":
            sidecars = total((sidecars, _of_container(item)))
        else:
            most = _larger(most, total((sidecars, _of_container(item))))
    running = _larger(total((beside, sidecars)), most)
    return total((running, amounts(spec.get("overhead"))))


def _of_container(container: Object) -> dict[str, Decimal]:
    """Its requests, which the API server sets to the limits where only those are given."""
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _larger(one: Amounts, other: Amounts) -> dict[str, Decimal]:
    zero = Decimal(0)
    return {name: max(one.get(name, zero), other.get(name, zero)) for name in {**one, **other}}


def readable(name: str, amount: Decimal) -> str:
    """The amount of a resource in few digits: '1.5', '500m', '12.3Gi'."""
    if name == "memory" or name.endswith("-storage") or name == "storage" or name.startswith("hugepages-"):
        for suffix, size in _BINARY:
            if abs(amount) >= size:
                return f"{_short(amount / size)}{suffix}"
        return _short(amount)
    if name == "cpu" and amount and abs(amount) < 1:
        return f"{_short(amount * 1000)}m"
    return _short(amount)


def _short(amount: Decimal) -> str:
    return f"{amount.quantize(Decimal('0.1')):f}".removesuffix(".0")
