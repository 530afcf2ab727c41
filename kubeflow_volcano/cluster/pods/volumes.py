"""Volumes of pods: where the directory of a PersistentVolume is, and as which user a container accesses it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.objects import Object

HOSTNAME = "kubernetes.io/hostname"
"""Label of a Node in the affinity of its local volumes; usually the Node's own name."""


def directory_of(volume: Object) -> str:
    """Path of a hostPath or local volume on its node; empty for other volumes."""
    source = volume["spec"].get("hostPath") or volume["spec"].get("local") or {}
    path: str = source.get("path", "")
    return path


def node_of(volume: Object) -> str:
    """The node in the volume's affinity; empty if there are several or none."""
    terms = ((volume["spec"].get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    names = {
        value
        for term in terms
        for rule in (*(term.get("matchExpressions") or ()), *(term.get("matchFields") or ()))
        if rule["key"] in {HOSTNAME, "metadata.name"} and rule["operator"] == "In"
        for value in rule["values"]
    }
    return names.pop() if len(names) == 1 else ""


@dataclass(frozen=True, slots=True)
class RunsAs:
    """User and groups of a container; None leaves them to the image. `not_root` is runAsNonRoot."""

    user: int | None
    group: int | None
    fs_group: int | None
    not_root: bool


def runs_as(spec: Mapping[str, Any], container: Mapping[str, Any], status: Mapping[str, Any] | None = None) -> RunsAs:
    """User and groups of a container, from its own security context and that of its pod `spec`.

    `status` is the pod's: newer kubelets report the user of the first process there (KEP-3619).
    """
    shared, own = spec.get("securityContext") or {}, container.get("securityContext") or {}
    merged = {**shared, **{key: value for key, value in own.items() if value is not None}}
    actual = started_as(status or {}, container["name"])
    return RunsAs(
        user=merged.get("runAsUser", actual.get("uid")),
        group=merged.get("runAsGroup", actual.get("gid") if "runAsUser" not in merged else None),
        fs_group=shared.get("fsGroup"),
        not_root=bool(merged.get("runAsNonRoot")),
    )


def started_as(status: Mapping[str, Any], container: str) -> Mapping[str, Any]:
    """The uid, gid and supplementalGroups of the container's first process; empty where its kubelet reports none.

    Kubelets do since 1.33, and since 1.31 with the feature gate SupplementalGroupsPolicy, if the runtime says it.
    """
    for item in status.get("containerStatuses") or ():
        if item["name"] == container:
            user: Mapping[str, Any] = (item.get("user") or {}).get("linux") or {}
            return user
    return {}
