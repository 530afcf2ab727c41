"""Labels, annotations and field managers by which this project recognizes objects."""

from __future__ import annotations

import re

__all__ = ["FIELD_MANAGER", "RUN_LABEL", "SIMULATED_NODE", "SIMULATED_POD", "may_be_overwritten"]

RUN_LABEL = "kfv.io/run"
"""Label of every object that an experiment creates; the value is the run id. Checks skip namespaces that carry it."""
SIMULATED_NODE = "kwok.x-k8s.io/node"
"""Annotation of a node that KWOK simulates."""
SIMULATED_POD = "rehearsal.kubeflow-volcano.io/simulated"
"""Label of a pod that the rehearsal cluster placed on a simulated node."""
FIELD_MANAGER = "kubeflow-volcano"
"""Field manager of every object that the roll-out applies."""

# kubectl's managers are "kubectl" and "kubectl-<verb>"; "before-first-apply" owns fields from the time before the API
# server tracked managers. Volcano's scheduler creates the queue default if it is missing, and never updates its spec
# (pkg/scheduler/cache/cache.go).
_MAY_BE_OVERWRITTEN = re.compile(rf"kubectl(-[a-z-]+)?|before-first-apply|vc-scheduler|{FIELD_MANAGER}.*")


def may_be_overwritten(manager: str) -> bool:
    """Whether a roll-out may reset fields of this manager: kubectl, this project, or one that never writes again."""
    return bool(_MAY_BE_OVERWRITTEN.fullmatch(manager))
