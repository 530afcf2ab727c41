"""Who else writes the workloads that other software may have installed as well."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from validators.core.facts import Facts
from validators.subjects import owners

__all__ = ["managers", "writers"]


def managers(cluster: Cluster, facts: Facts) -> Mapping[Ref, frozenset[str]]:
    """Field managers of the pod templates of shared workloads, by workload. The snapshot keeps no managedFields.

    Raises:
        ApiError: they may not be read.
    """
    found: dict[Ref, frozenset[str]] = {}
    for ref in owners.shared_workloads(facts):
        fields = f"metadata.name={ref.name}"
        for live in cluster.list(ref.api_version, ref.kind, namespace=ref.namespace, fields=fields, brief=True).items:
            found[ref] = writers(live)
    return found


def writers(live: Object) -> frozenset[str]:
    """Managers that own a part of the object's pod template; status and scale are not written as a whole."""
    return frozenset(
        entry.get("manager", "")
        for entry in live["metadata"].get("managedFields") or ()
        if "f:template" in (entry.get("fieldsV1") or {}).get("f:spec", {})
    )
