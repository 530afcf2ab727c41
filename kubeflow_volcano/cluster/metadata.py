"""Labels, annotations and field managers by which this project recognizes objects."""

from __future__ import annotations

import re

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
_FOR_US = re.compile(rf"vc-scheduler|{FIELD_MANAGER}.*")
_BY_HAND = re.compile(r"kubectl(-[a-z-]+)?|before-first-apply")


def may_be_overwritten(manager: str) -> bool:
    """Whether a roll-out may reset fields of this manager: kubectl, this project, or one that never writes again."""
    return bool(_BY_HAND.fullmatch(manager)) or writes_for_us(manager)


def writes_for_us(manager: str) -> bool:
    """Whether this manager is this project, or a program of it that wrote before the roll-out could."""
    return bool(_FOR_US.fullmatch(manager))
