"""Which Services the cluster's name service must know, and under which addresses."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.objects import Object
from validators.core.facts import Facts
from validators.core.rights import Rule
from validators.subjects.troubles import GRACE_SECONDS, age, judged

__all__ = ["FIRST", "READS", "expected"]

FIRST = "kubernetes.default"
"""What every cluster has; where it is not found, nothing is."""

READS = (
    Rule("list", "", "services"),
    Rule("list", "", "namespaces"),
    Rule("list", "discovery.k8s.io", "endpointslices"),
)
"""What `expected` reads."""

_SLICES = "endpointslices.discovery.k8s.io"


def expected(facts: Facts) -> Mapping[str, frozenset[str]]:
    """Cluster addresses by name, as service.namespace: `FIRST`, and the Services in the release's namespaces.

    A Service without a cluster address (headless) has a name as long as a pod behind it is ready, and then no address
    of its own; one that stands for a name outside, and one that was made a moment ago, are left out.

    Raises:
        CannotJudgeError: what is needed could not be read.
    """
    found = {_name(item): _addresses(item) for item in judged(facts, "services") if _must_resolve(item, facts)}
    first = facts.get("services", "default", "kubernetes")
    return {FIRST: _addresses(first) if first else frozenset(), **found}


def _name(service: Object) -> str:
    meta = service["metadata"]
    return f"{meta['name']}.{meta['namespace']}"


def _addresses(service: Object) -> frozenset[str]:
    spec = service["spec"]
    return frozenset(
        text for text in (spec.get("clusterIPs") or [spec.get("clusterIP", "")]) if text not in {"", "None"}
    )


def _must_resolve(service: Object, facts: Facts) -> bool:
    spec = service["spec"]
    if service["metadata"]["namespace"] not in facts.expectations.namespaces or age(service, facts) < GRACE_SECONDS:
        return False
    if spec.get("type") == "ExternalName":
        return False
    return bool(_addresses(service)) or _has_ready_endpoint(service, facts)


def _has_ready_endpoint(service: Object, facts: Facts) -> bool:
    meta = service["metadata"]
    return any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for item in facts.all(_SLICES)
        if item["metadata"]["namespace"] == meta["namespace"]
        and (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == meta["name"]
        for endpoint in item.get("endpoints") or ()
    )
