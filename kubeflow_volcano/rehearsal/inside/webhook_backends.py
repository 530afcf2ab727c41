"""Which webhooks have simulated backends, and what their configurations need. Standard library only, and pure."""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

__all__ = ["SIMULATED_WEBHOOK_LABEL", "answered", "patch", "simulated_services"]

SIMULATED_WEBHOOK_LABEL = "rehearsal.kubeflow-volcano.io/simulated-webhook"
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"

Object = Mapping[str, Any]
Service = tuple[str, str]
"""Namespace and name."""


def simulated_services(slices: Iterable[Object], simulated_range: str) -> frozenset[Service]:
    """The Services that have endpoints, all of them pods on simulated nodes (`discovery.k8s.io` EndpointSlices)."""
    network = ipaddress.ip_network(simulated_range)
    addresses: dict[Service, list[str]] = {}
    for item in slices:
        if name := item["metadata"].get("labels", {}).get("kubernetes.io/service-name"):
            known = addresses.setdefault((item["metadata"]["namespace"], name), [])
            known += [address for endpoint in item.get("endpoints") or () for address in endpoint["addresses"]]
    return frozenset(
        service
        for service, known in addresses.items()
        if known and all(ipaddress.ip_address(address) in network for address in known)
    )


def patch(obj: Object, simulated: Collection[Service], bundle: str) -> list[dict[str, Any]]:
    """JSON Patch that gives the webhooks of `obj` that the stub answers its authority, and says so; empty when done.

    A webhook that brings certificates of somebody else is left alone. The patch fails when `obj` is out of date.
    """
    wanting = [
        {"op": "add", "path": f"{path}/caBundle", "value": bundle}
        for path, _, client in _clients(obj)
        if _is_answered(client, simulated, bundle) and client.get("caBundle") != bundle
    ]
    if not wanting:
        return []
    labels = obj["metadata"].get("labels")
    key = SIMULATED_WEBHOOK_LABEL.replace("/", "~1")
    mark: dict[str, Any] = {"path": f"/metadata/labels/{key}", "value": "true"}
    if not labels:
        mark = {"path": "/metadata/labels", "value": {SIMULATED_WEBHOOK_LABEL: "true"}}
    version = obj["metadata"]["resourceVersion"]
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, *wanting, {"op": "add", **mark}]


def answered(objects: Iterable[Object], simulated: Collection[Service], bundle: str) -> list[dict[str, Any]]:
    """The webhooks that the stub answers, per configuration or CustomResourceDefinition, sorted."""
    found = []
    for obj in objects:
        ours = [(name, client) for _, name, client in _clients(obj) if _is_answered(client, simulated, bundle)]
        if ours:
            services = {f"{client['service']['namespace']}/{client['service']['name']}" for _, client in ours}
            found.append(
                {
                    "kind": obj["kind"],
                    "name": obj["metadata"]["name"],
                    "webhooks": [name for name, _ in ours],
                    "services": sorted(services),
                }
            )
    return sorted(found, key=lambda entry: (entry["kind"], entry["name"]))


def _clients(obj: Object) -> Iterator[tuple[str, str, Object]]:
    """Where a client configuration lies, the name of its webhook ("conversion" of a definition), and itself."""
    for number, webhook in enumerate(obj.get("webhooks") or ()):
        yield f"/webhooks/{number}/clientConfig", webhook["name"], webhook["clientConfig"]
    conversion = obj.get("spec", {}).get("conversion") or {}
    if client := (conversion.get("webhook") or {}).get("clientConfig"):
        yield "/spec/conversion/webhook/clientConfig", "conversion", client


def _is_answered(client: Object, simulated: Collection[Service], bundle: str) -> bool:
    service = client.get("service") or {}
    if (service.get("namespace"), service.get("name")) not in simulated:
        return False
    current = client.get("caBundle") or ""
    return current == bundle or not _holds_certificates(current)


def _holds_certificates(bundle: str) -> bool:
    try:
        return _CERTIFICATE in base64.b64decode(bundle)
    except binascii.Error:
        return False
