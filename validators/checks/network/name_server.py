"""The name server of pods, as the cluster's objects show it: its Service, and what is behind that."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, failed
from kubeflow_volcano.validators.core.resources import SERVICES
from kubeflow_volcano.validators.subjects import services

READS = services.READS
"""What `outage` reads."""


def name_service(server: str, facts: Facts) -> Object | None:
    """The Service whose address the server has, else the one of the cluster's DNS; None if there is neither."""
    every = facts.all(SERVICES)
    exact = (item for item in every if server in _addresses(item))
    labelled = (item for item in every if services.is_of_dns(item))
    return next(exact, None) or next(labelled, None)


def outage(server: str, facts: Facts, observed: Mapping[str, Any]) -> Outcome | None:
    """Why nothing can answer at this address; None where the Service has it and every port a ready endpoint."""
    service = name_service(server, facts)
    if service is None:
        return failed(
            "NoDnsService",
            f"no Service has {server}, the nameserver of pods.",
            expected="a Service of the cluster's DNS with this address",
            observed=observed,
            todo="create the Service kube-dns again with this clusterIP, or correct clusterDNS of the kubelets.",
        )
    ref = Ref.of(service)
    addresses = _addresses(service)
    if server not in addresses and not _is_of_a_node(server):
        return failed(
            "OtherDnsServer",
            f"the nameserver of pods is {server}, but {ref} has the address {', '.join(sorted(addresses)) or 'None'}.",
            expected="the Service's address as clusterDNS of every kubelet",
            observed=observed,
            objects=(ref,),
            todo="correct clusterDNS in the kubelets' configuration, or give the Service this clusterIP.",
        )
    if services.backed(service, facts):
        return None
    off = services.scaled_to_zero(service, facts)
    if off:
        return failed(
            "ScaledToZero",
            f"no pod answers for {ref}: {few([str(item) for item in off])} is scaled to 0 replicas.",
            expected="a ready pod behind the Service",
            observed=observed,
            objects=(ref, *off),
            todo="scale it up.",
            changes=services.scale_up(off),
        )
    return failed(
        "NoReadyPod",
        f"no ready pod answers for {ref}.",
        expected="a ready pod behind the Service",
        observed=observed,
        objects=(ref,),
        todo="see why its pods are missing or not ready.",
        commands=(f"kubectl -n {ref.namespace} get pods -o wide -l {_selector(service)}",),
        because=services.behind(service, facts),
    )


def _addresses(service: Object) -> set[str]:
    spec = service["spec"]
    return {text for text in (spec.get("clusterIPs") or [spec.get("clusterIP")]) if text and text != "None"}


def _is_of_a_node(server: str) -> bool:
    """Whether the address is link-local, as that of NodeLocal DNSCache: a pod on the node asks the Service."""
    try:
        return ip_address(server).is_link_local
    except ValueError:
        return False


def _selector(service: Object) -> str:
    return ",".join(f"{key}={value}" for key, value in (service["spec"].get("selector") or {}).items())
