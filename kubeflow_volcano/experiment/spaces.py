"""Namespaces of probes: a small quota, a Pod Security level, no sidecars; and waiting until they are usable."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from enum import StrEnum

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline

USABLE_SECONDS = 24.0
"""How long kube-controller-manager may take to prepare a namespace for its first pod."""

_COUNTED_SECONDS = 4.0
_TICK = 0.2
_PODGROUP = ("scheduling.volcano.sh/v1beta1", "PodGroup")
_GROUPS = "count/podgroups.scheduling.volcano.sh"
_HARD = {"pods": "12", "requests.cpu": "200m", "requests.memory": "400Mi"}


class Level(StrEnum):
    """Pod Security level of a namespace."""

    RESTRICTED = "restricted"
    BASELINE = "baseline"
    PRIVILEGED = "privileged"


def space(cluster: Cluster, run: str, level: Level, hard: Mapping[str, str] | None = None) -> tuple[Object, Object]:
    """The namespace of a run that admits pods of this level, and its quota; by default that of a few small pods."""
    name = f"kfv-smoke-{run}" + ("" if level is Level.RESTRICTED else f"-{level}")
    labels = {"pod-security.kubernetes.io/enforce": str(level), "istio-injection": "disabled"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    limits = dict(_HARD if hard is None else hard)
    if hard is None:
        with contextlib.suppress(NotServed):
            cluster.resource(*_PODGROUP)
            limits[_GROUPS] = "4"
    return namespace, new_object("v1", "ResourceQuota", "kfv", name, spec={"hard": limits})


def wait_usable(cluster: Cluster, name: str, stopped: Callable[[], bool]) -> bool:
    """Wait for the ServiceAccount and the quota that pods need; False at the deadline, or if the run is ending.

    The quota controller discovers new kinds every 30 s; until it counts a limited kind, none can be created. After a
    while the limit of PodGroups is removed: probes never have more than 4 at a time.

    Raises:
        ApiError: the API server does not allow watching the namespace.
    """
    if _usable(cluster, name, _COUNTED_SECONDS, stopped):
        return True
    cluster.patch(Ref("v1", "ResourceQuota", name, "kfv"), {"spec": {"hard": {_GROUPS: None}}})
    return _usable(cluster, name, USABLE_SECONDS - _COUNTED_SECONDS, stopped)


def _usable(cluster: Cluster, name: str, seconds: float, stopped: Callable[[], bool]) -> bool:
    missing = {"ServiceAccount", "ResourceQuota"}
    subjects = [
        Subject("v1", "ServiceAccount", name, fields="metadata.name=default"),
        Subject("v1", "ResourceQuota", name, fields="metadata.name=kfv"),
    ]
    with Observer(cluster, subjects, Deadline(seconds)) as observer:
        for change in observer.changes(_TICK):
            if stopped():
                return False
            for obj in change.objects if change else ():
                if change and (change.subject.kind == "ServiceAccount" or _counted(obj)):
                    missing.discard(change.subject.kind)
            if not missing:
                return True
    return False


def _counted(quota: Object) -> bool:
    hard, status = quota["spec"].get("hard", {}), quota.get("status", {})
    return hard == status.get("hard") and set(hard) <= set(status.get("used", {}))
