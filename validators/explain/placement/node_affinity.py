"""Which nodes nodeSelector and nodeAffinity select (pkg/scheduler/framework/plugins/nodeaffinity of Kubernetes)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.objects import Object


def selects_node(pod: Object, node: Object) -> bool:
    """Whether a pod with this spec may go to the node by its nodeSelector and required nodeAffinity."""
    terms = required_terms(pod)
    return not missing_labels(pod, node) and (terms is None or terms_match(terms, node))


def missing_labels(pod: Object, node: Object) -> list[str]:
    """Each label of nodeSelector that the node lacks, as key=value."""
    wanted: Mapping[str, str] = pod.get("nodeSelector") or {}
    labels = node["metadata"].get("labels") or {}
    return [f"{key}={value}" for key, value in wanted.items() if labels.get(key) != value]


def required_terms(pod: Object) -> Sequence[Object] | None:
    """Node selector terms of the required nodeAffinity; None without one."""
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return (required.get("nodeSelectorTerms") or ()) if required else None


def terms_match(terms: Iterable[Object] | None, node: Object) -> bool:
    """Whether one of the node selector terms matches; a term without expressions matches nothing."""
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and _all_hold(term.get("matchExpressions"), labels)
        and _all_hold(term.get("matchFields"), fields)
        for term in terms or ()
    )


def terms_text(terms: Iterable[Object] | None) -> str:
    """Node selector terms in words, such as `zone In a,b`."""
    return " or ".join(
        " and ".join(
            f"{item['key']} {item['operator']} {','.join(item.get('values') or ())}".rstrip()
            for item in [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        )
        for term in terms or ()
    )


def _all_hold(expressions: Iterable[Object] | None, values: Mapping[str, str]) -> bool:
    return all(
        _OPERATORS[item["operator"]](values.get(item["key"]), item.get("values") or ()) for item in expressions or ()
    )


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _is_beyond(value: str | None, limits: Iterable[str], sign: int) -> bool:
    found, limit = _number(value), _number(next(iter(limits), None))
    return found is not None and limit is not None and sign * found > sign * limit


_OPERATORS: Mapping[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _values: value is not None,
    "DoesNotExist": lambda value, _values: value is None,
    "Gt": lambda value, values: _is_beyond(value, values, 1),
    "Lt": lambda value, values: _is_beyond(value, values, -1),
}
