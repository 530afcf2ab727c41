"""Leaders: the Lease that a program needs before it works, and one whose holder is gone.

A candidate waits until the Lease has not been renewed for its leaseDurationSeconds, counted from when the candidate saw
it first: a restart begins the wait again (tryAcquireOrRenew of client-go). Deleted, it is made again within seconds.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from kubeflow_volcano.catalog.images.names import ImageName
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.go_flags import read_flags
from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS, PODS
from kubeflow_volcano.validators.core.rights import VOLCANO_HOME, Rule

_API, _KIND = "coordination.k8s.io/v1", "Lease"
_HOME = "volcano-system"
"""defaultLockObjectNamespace of Volcano, wherever it runs (cmd/*/app/options, v1.8.0 to v1.15.1)."""
_VOLCANO = {"vc-scheduler": "volcano", "vc-controller-manager": "vc-controller-manager"}
"""Name of the Lease by program, which elects a leader unless its arguments say otherwise."""
_OPERATOR, _OPERATORS_LEASE = "training-operator", "1ca428e5.training-operator.kubeflow.org"
"""cmd/training-operator.v1/main.go, v1.5.0 to v1.9: only with --leader-elect, in the namespace of the operator."""
_BY_CONFIGURATION = {"trainer-controller-manager": "trainer.kubeflow.org", "jobset": "6d4f6a47.jobset.x-k8s.io"}
"""Likewise by the configuration files of Trainer (v2.1.0, v2.2.0) and JobSet (v0.10.1, v0.11.0), where they are."""
_SILENT_SECONDS = 20.0
"""Leaders renew every 2 to 5 s: one that has not for so long is no longer at work."""
_HOMES = ("kubeflow", "kubeflow-system")
"""Namespaces of the operators in the releases."""
_LABEL = 63
"""Longest host name of a pod."""


@dataclass(frozen=True, slots=True)
class Abandoned:
    """A Lease whose holder is gone, and until when it keeps others waiting."""

    ref: Ref
    holder: str
    until: datetime

    @property
    def found(self) -> str:
        """What is wrong, as part of a sentence."""
        return f"{self.ref} is held by {self.holder}, which runs nowhere, until {self.until:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def change(self) -> str:
        """The command that frees it."""
        return f"kubectl -n {self.ref.namespace} delete lease {self.ref.name}"


def lease_of(deployment: Object) -> Ref | None:
    """The Lease without which no replica of the Deployment works; None where it elects no leader, or is not known."""
    for container in deployment["spec"]["template"]["spec"]["containers"]:
        image = ImageName.parse(container["image"])
        flags = read_flags(
            [
                word
                for item in (*(container.get("command") or ()), *(container.get("args") or ()))
                for word in item.split()
            ]
        )
        elects = flags.get("--leader-elect", "").lower()
        if image and image.name in _VOLCANO and elects not in {"false", "f", "0"}:
            namespace = flags.get("--lock-object-namespace") or flags.get("--leader-elect-resource-namespace") or _HOME
            name = flags.get("--leader-elect-resource-name") or _VOLCANO[image.name]
            return Ref(_API, _KIND, namespace, name)
        if image and image.name.startswith(_OPERATOR) and elects in {"true", "t", "1"}:
            name = flags.get("--leader-election-id") or _OPERATORS_LEASE
            return Ref(_API, _KIND, deployment["metadata"]["namespace"], name)
        if image and image.name in _BY_CONFIGURATION:
            return Ref(_API, _KIND, deployment["metadata"]["namespace"], _BY_CONFIGURATION[image.name])
    return None


def leases_of(cluster: Cluster, deployments: Iterable[Object]) -> Mapping[Ref, Object]:
    """The Lease of each Deployment that elects a leader; one that does not exist, or may not be read, is left out."""
    leases: dict[Ref, Object] = {}
    for deployment in deployments:
        with contextlib.suppress(ApiError):
            if (ref := lease_of(deployment)) and (lease := cluster.get(ref)):
                leases[Ref.of(deployment)] = lease
    return leases


LEASES = Fact[Mapping[Ref, Object]](
    "leases of leaders",
    lambda cluster, facts: leases_of(cluster, facts.all(DEPLOYMENTS)),
    {},
    reads=(DEPLOYMENTS, PODS),
    needs=tuple(Rule("get", "coordination.k8s.io", "leases", place) for place in (VOLCANO_HOME, *_HOMES)),
    enriches=True,
)
"""The Lease of each Deployment of Volcano, the training operator, Trainer and JobSet that elects a leader."""


def abandoned(facts: Facts, deployment: Ref) -> Abandoned | None:
    """The Lease that keeps the Deployment from working because its holder is gone.

    The holder is named after the host name of its pod, of which none runs, and has not renewed the Lease for a while.
    An expired one is taken over without help.
    """
    lease = facts.known(LEASES).get(deployment)
    spec = (lease or {}).get("spec") or {}
    holder, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    if lease is None or not holder or not renewed:
        return None
    last, now = datetime.fromisoformat(renewed), datetime.fromtimestamp(facts.taken, UTC)
    until = last + timedelta(seconds=spec.get("leaseDurationSeconds") or 0)
    if until <= now or (now - last).total_seconds() < _SILENT_SECONDS:
        return None
    host = holder.rpartition("_")[0] or holder
    if any(_runs_as(pod, host) for pod in facts.all(PODS)):
        return None
    return Abandoned(Ref.of(lease), holder, until)


def _runs_as(pod: Object, host: str) -> bool:
    """Whether a pod has this host name and has not ended."""
    spec = pod["spec"]
    own = spec.get("nodeName") if spec.get("hostNetwork") else spec.get("hostname") or pod["metadata"]["name"][:_LABEL]
    return host == own and not has_ended(pod)
