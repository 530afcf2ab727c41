"""Where the directory behind a PersistentVolume is, as far as the volume says."""

from __future__ import annotations

from kubeflow_volcano.cluster.objects import Object

__all__ = ["HOSTNAME", "directory_of", "node_of"]

HOSTNAME = "kubernetes.io/hostname"
"""Label of a Node that volumes on its disk name; mostly the Node's own name."""


def directory_of(volume: Object) -> str:
    """Path of the directory on a node; empty for volumes of other kinds."""
    source = volume["spec"].get("hostPath") or volume["spec"].get("local") or {}
    path: str = source.get("path", "")
    return path


def node_of(volume: Object) -> str:
    """The one node that the volume's affinity names, empty when it names several or none."""
    terms = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    names = {
        value
        for term in terms
        for rule in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ()))
        if rule["key"] in {HOSTNAME, "metadata.name"} and rule["operator"] == "In"
        for value in rule["values"]
    }
    return names.pop() if len(names) == 1 else ""
