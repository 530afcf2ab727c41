"""Evidence for the gang-scheduling requirement of Kubernetes AI conformance, for a self-assessment.

The requirement has the id gang_scheduling in the checklists of cncf/k8s-ai-conformance (a MUST since v1.33). KAR-0053
of kubernetes-sigs/ai-conformance describes its tests: a gang that fits, one that does not fit, and the clean-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kubeflow_volcano.validators.core.outcome import Status

_SOURCE = "https://github.com/kubernetes-sigs/ai-conformance/tree/main/kars/0053-gang-scheduling"
_TITLE = "A gang scheduler is installed and works: the pods of a distributed job are placed all together or not at all"
_CASES = (
    (
        "positive",
        "a gang that fits is placed completely as soon as possible, and its job completes",
        ("H1", "H3", "G6"),
    ),
    (
        "negative",
        "while one member fits no node, no pod is placed, although the others would fit",
        ("H2", "H4"),
    ),
    ("clean-up", "everything that the test created is deleted", ("H8",)),
)
_SHOWN, _PARTLY, _NOT = "shown", "partly shown", "not shown"


def conformance(checks: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Requirements with their cases, the checks of each case, and its status; empty without such a check.

    A case is shown if all of its checks hold, not shown if one fails, and partly shown if one has no verdict.
    """
    verdicts = {item["id"]: item["status"] for item in checks}
    cases: list[dict[str, Any]] = [
        {
            "case": name,
            "claim": claim,
            "status": _status(verdicts.get(id_) for id_ in ids),
            "checks": [{"id": id_, "status": verdicts[id_]} for id_ in ids if id_ in verdicts],
        }
        for name, claim, ids in _CASES
    ]
    if not any(item["id"].startswith("H") for case in cases for item in case["checks"]):
        return []
    statuses = {case["status"] for case in cases}
    whole = next(status for status in (_NOT, _PARTLY, _SHOWN) if status in statuses)
    return [{"id": "gang_scheduling", "title": _TITLE, "source": _SOURCE, "status": whole, "cases": cases}]


def _status(verdicts: Iterable[str | None]) -> str:
    statuses = set(verdicts)
    if Status.FAIL in statuses:
        return _NOT
    return _SHOWN if statuses <= {Status.PASS, Status.WARN} else _PARTLY
