"""Label selectors, node selectors, taints: pure matching as the scheduler does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.objects import Object

__all__ = ["labels_match", "node_terms_match", "said", "untolerated"]


def labels_match(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """A LabelSelector; none selects nothing, an empty one everything."""
    if selector is None:
        return False
    exact: Mapping[str, str] = selector.get("matchLabels") or {}
    return exact.items() <= labels.items() and _all(selector.get("matchExpressions"), labels)


def node_terms_match(terms: Iterable[Object] | None, node: Object) -> bool:
    """Node selector terms, of which one must match; a term without expressions matches nothing."""
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and _all(term.get("matchExpressions"), labels)
        and _all(term.get("matchFields"), fields)
        for term in terms or ()
    )


def said(terms: Iterable[Object] | None) -> str:
    """Node selector terms in words."""
    return " or ".join(
        " and ".join(
            f"{item['key']} {item['operator']} {','.join(item.get('values') or ())}".rstrip()
            for item in [*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ())]
        )
        for term in terms or ()
    )


def untolerated(pod: Object, taints: Iterable[Object]) -> list[str]:
    """The taints that keep the pod off, as 'key=value:effect'; those that only prefer do not count."""
    tolerations = pod.get("tolerations") or ()
    return [
        f"{taint['key']}{'=' if taint.get('value') else ''}{taint.get('value') or ''}:{taint['effect']}"
        for taint in taints
        if taint["effect"] != "PreferNoSchedule" and not any(_tolerates(item, taint) for item in tolerations)
    ]


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in {None, "", taint["effect"]}:
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in {None, "", taint["key"]}
    return toleration.get("key") == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or "")


def _all(expressions: Iterable[Object] | None, values: Mapping[str, str]) -> bool:
    return all(
        _OPERATORS[item["operator"]](values.get(item["key"]), item.get("values") or ()) for item in expressions or ()
    )


def _number(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _beyond(value: str | None, limits: Iterable[str], sign: int) -> bool:
    found, limit = _number(value), _number(next(iter(limits), None))
    return found is not None and limit is not None and sign * found > sign * limit


_OPERATORS: Mapping[str, Callable[[str | None, Sequence[str]], bool]] = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _values: value is not None,
    "DoesNotExist": lambda value, _values: value is None,
    "Gt": lambda value, values: _beyond(value, values, 1),
    "Lt": lambda value, values: _beyond(value, values, -1),
}
