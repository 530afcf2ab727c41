"""Who owns fields of objects: this project's own name, and the names of those who may be overruled."""

from __future__ import annotations

import re

__all__ = ["MANAGER", "may_be_taken_back"]

MANAGER = "kubeflow-volcano"
"""Field manager of everything that the roll-out declares."""

# kubectl's names are "kubectl" and "kubectl-<verb>"; the other is what the API server calls fields from a time before
# it tracked managers. Volcano's scheduler makes the queue default when it is missing and leaves its spec alone then
# (pkg/scheduler/cache/cache.go).
_MAY_BE_TAKEN_BACK = re.compile(rf"kubectl(-[a-z-]+)?|before-first-apply|vc-scheduler|{MANAGER}.*")


def may_be_taken_back(manager: str) -> bool:
    """Whether fields of this manager are set back without asking: a person at kubectl, this project, or nobody.

    Volcano's scheduler counts as nobody: it writes a queue's spec once.
    """
    return bool(_MAY_BE_TAKEN_BACK.fullmatch(manager))
