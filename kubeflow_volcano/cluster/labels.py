"""Labels and annotations by which this project recognises objects on a cluster."""

from __future__ import annotations

__all__ = ["RUN_LABEL", "SIMULATED_NODE", "SIMULATED_POD"]

RUN_LABEL = "kfv.io/run"
"""Label of everything that an experiment creates; the value is the run id. Namespaces that carry it are not judged."""
SIMULATED_NODE = "kwok.x-k8s.io/node"
"""Annotation of a node that KWOK simulates."""
SIMULATED_POD = "rehearsal.kubeflow-volcano.io/simulated"
"""Label of a pod that the rehearsal cluster placed on a simulated node."""
