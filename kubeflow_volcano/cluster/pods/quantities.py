"""Resource quantities: parsed, summed, requested by pods, and formatted for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from functools import lru_cache
from typing import Any

from kubeflow_volcano.cluster.objects import Object

Amounts = Mapping[str, Decimal]
"""Amounts by resource name: CPU in cores, memory in bytes, others in their own unit."""

QUANTITY_FIELDS = frozenset(
    {
        *("capacity", "default", "defaultRequest", "divisor", "hard"),
        *("limits", "max", "min", "requests", "sizeLimit"),
    }
)
"""Fields of many kinds whose values, or the values below whose names, are quantities."""

_BINARY = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


@lru_cache(maxsize=1024)  # ten thousand pods request a dozen different amounts
def quantity(text: Any) -> Decimal:
    """A Kubernetes quantity as a number: '100m' is 0.1, '1Ki' is 1024.

    Raises:
        ValueError: the text is not a quantity.
    """
    # The client takes 0.3 s to import; a process that only reads the settings, as most action plugins, does without.
    from kubernetes.utils.quantity import parse_quantity  # noqa: PLC0415

    return Decimal(parse_quantity(text))


def is_positive(text: Any) -> bool:
    """Whether the text is a quantity above 0."""
    try:
        return quantity(text) > 0
    except ValueError:
        return False


def amounts(quantities: Mapping[str, Any] | None) -> dict[str, Decimal]:
    """A resource list (`requests`, `capacity`) as numbers; empty for None."""
    return {name: quantity(text) for name, text in (quantities or {}).items()}


def total(several: Iterable[Amounts]) -> dict[str, Decimal]:
    """The sum per resource."""
    result: dict[str, Decimal] = {}
    for item in several:
        for name, amount in item.items():
            result[name] = result.get(name, Decimal(0)) + amount
    return result


def pod_requests(spec: Object) -> dict[str, Decimal]:
    """What the scheduler counts as requests of a pod with this spec (pkg/api/v1/resource/helpers.go, PodRequests).

    Containers and sidecars run at the same time; an init container runs with the sidecars before it.
    """
    containers = total(_of_container(item) for item in spec.get("containers") or ())
    sidecars: dict[str, Decimal] = {}
    most: dict[str, Decimal] = {}
    for item in spec.get("initContainers") or ():
        if item.get("restartPolicy") == "Always":
            sidecars = total((sidecars, _of_container(item)))
        else:
            most = _larger(most, total((sidecars, _of_container(item))))
    running = _larger(total((containers, sidecars)), most)
    return total((running, amounts(spec.get("overhead"))))


def _of_container(container: Object) -> dict[str, Decimal]:
    """Its requests; the API server defaults them to the limits."""
    resources = container.get("resources") or {}
    return amounts({**(resources.get("limits") or {}), **(resources.get("requests") or {})})


def _larger(one: Amounts, other: Amounts) -> dict[str, Decimal]:
    zero = Decimal(0)
    return {name: max(one.get(name, zero), other.get(name, zero)) for name in {**one, **other}}


def readable(name: str, amount: Decimal, *, at_most: bool = False) -> str:
    """The amount of a resource with at most one decimal: '1.5', '500m', '12.3Gi'; rounded down for `at_most`."""
    rounding = ROUND_FLOOR if at_most else ROUND_HALF_EVEN
    if name == "memory" or name.endswith("-storage") or name == "storage" or name.startswith("hugepages-"):
        for suffix, size in _BINARY:
            if abs(amount) >= size:
                return f"{_short(amount / size, rounding)}{suffix}"
        return _short(amount, rounding)
    if name == "cpu" and amount and abs(amount) < 1:
        return f"{_short(amount * 1000, rounding)}m"
    return _short(amount, rounding)


def _short(amount: Decimal, rounding: str) -> str:
    return f"{amount.quantize(Decimal('0.1'), rounding):f}".removesuffix(".0")
