"""In what order a JobSet makes its jobs: what training runtimes are templates of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["made_later"]


def made_later(spec: Mapping[str, Any]) -> frozenset[str]:
    """Names of the replicated jobs in the spec of a JobSet that are made when others are ready or have ended.

    Rule: dependsOn, and startupPolicy InOrder, in pkg/controllers of JobSet v0.10.1.
    """
    jobs = spec.get("replicatedJobs") or ()
    if (spec.get("startupPolicy") or {}).get("startupPolicyOrder") == "InOrder":
        return frozenset(item["name"] for item in jobs[1:])
    return frozenset(item["name"] for item in jobs if item.get("dependsOn"))
