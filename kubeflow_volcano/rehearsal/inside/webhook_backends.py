"""Which webhooks have simulated backends, how their configurations are patched, and what the stub answers. Pure.

The stub validates, defaults and injects nothing: it admits every request unchanged, and a conversion only changes the
apiVersion of an object.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

SIMULATED_WEBHOOK_LABEL = "rehearsal.kubeflow-volcano.io/simulated-webhook"
WRITTEN = "writtenBundles"
"""Key of an object whose caBundles no manifest declares: a program wrote them, such as an operator at its start."""
_DECLARING = re.compile(r"kubectl.*|helm.*")
"""Managers that update objects to what a manifest declares."""
_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"
_INJECTED = "cert-manager.io/inject-ca-from"
"""Annotation with the Certificate whose authority cert-manager writes into the webhooks of an object."""
_NAMES = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")

Object = Mapping[str, Any]
Name = tuple[str, str]
"""Namespace and name."""

_INJECTOR = "quay.io/jetstack/cert-manager-cainjector"
_ITS_WEBHOOK: Name = ("cert-manager", "cert-manager-webhook")


def simulated_services(slices: Iterable[Object], simulated_range: str) -> frozenset[Name]:
    """The Services all of whose endpoints (`discovery.k8s.io` EndpointSlices) are pods on simulated nodes."""
    network = ipaddress.ip_network(simulated_range)
    addresses: dict[Name, list[str]] = {}
    for item in slices:
        if name := item["metadata"].get("labels", {}).get("kubernetes.io/service-name"):
            known = addresses.setdefault((item["metadata"]["namespace"], name), [])
            known += [address for endpoint in item.get("endpoints") or () for address in endpoint["addresses"]]
    return frozenset(
        service
        for service, known in addresses.items()
        if known and all(ipaddress.ip_address(address) in network for address in known)
    )


def injects(images: Iterable[str], simulated: Collection[Name]) -> bool:
    """Whether authorities are injected by a cert-manager that runs for real, now or once it is installed.

    Its image is in the local store (`images`), and no cert-manager of another version is simulated.
    """
    return _ITS_WEBHOOK not in simulated and any(name.partition(":")[0] == _INJECTOR for name in images)


def certificates_of(objects: Iterable[Object], simulated: Collection[Name]) -> dict[str, Name]:
    """The Certificate that is issued to a simulated webhook, by the name that the API server calls it by.

    These are the webhooks whose authority cert-manager injects: their pods serve with the Certificate's Secret.
    """
    return {
        f"{service['name']}.{service['namespace']}.svc": certificate
        for obj in objects
        if (certificate := _injected(obj))
        for _, _, client in _clients(obj)
        if (service := client.get("service")) and (service["namespace"], service["name"]) in simulated
    }


def _injected(obj: Object) -> Name | None:
    """The Certificate whose authority cert-manager injects; None for placeholders that were left in, too."""
    value = (obj["metadata"].get("annotations") or {}).get(_INJECTED, "")
    namespace, _, name = value.partition("/")
    return (namespace, name) if _NAMES.fullmatch(value) else None


def patch(obj: Object, simulated: Collection[Name], bundle: str, *, injecting: bool = False) -> list[dict[str, Any]]:
    """JSON Patch that sets the stub's authority in the webhooks of `obj` that the stub answers, and labels `obj`.

    Empty when nothing is to be changed. A webhook with other certificates is left alone unless a program wrote them
    (`WRITTEN`): the one that served with them has been replaced by simulated pods, as an operator whose next version
    has no image here. An object that waits for a real cert-manager (`injecting`) is left alone, too. The patch fails
    when `obj` is out of date.
    """
    if injecting and _injected(obj):
        return []
    changes = [
        {"op": "add", "path": f"{path}/caBundle", "value": bundle}
        for path, _, client in _clients(obj)
        if _is_answered(obj, client, simulated, bundle) and client.get("caBundle") != bundle
    ]
    if not changes:
        return []
    labels = obj["metadata"].get("labels")
    key = SIMULATED_WEBHOOK_LABEL.replace("/", "~1")
    mark: dict[str, Any] = {"path": f"/metadata/labels/{key}", "value": "true"}
    if not labels:
        mark = {"path": "/metadata/labels", "value": {SIMULATED_WEBHOOK_LABEL: "true"}}
    version = obj["metadata"]["resourceVersion"]
    return [{"op": "test", "path": "/metadata/resourceVersion", "value": version}, *changes, {"op": "add", **mark}]


def answered(
    objects: Iterable[Object], simulated: Collection[Name], bundle: str, *, injecting: bool = False
) -> list[dict[str, Any]]:
    """The webhooks that the stub answers, per configuration or CustomResourceDefinition, sorted.

    Where a real cert-manager (`injecting`) injects the authority, the stub answers with a certificate from it.
    """
    answers = []
    for obj in objects:
        issued = injecting and _injected(obj) is not None
        ours = [
            (name, client)
            for _, name, client in _clients(obj)
            if _is_answered(obj, client if not issued else {**client, "caBundle": bundle}, simulated, bundle)
        ]
        if ours:
            services = {f"{client['service']['namespace']}/{client['service']['name']}" for _, client in ours}
            answers.append(
                {
                    "kind": obj["kind"],
                    "name": obj["metadata"]["name"],
                    "webhooks": [name for name, _ in ours],
                    "services": sorted(services),
                }
            )
    return sorted(answers, key=lambda entry: (entry["kind"], entry["name"]))


def _clients(obj: Object) -> Iterator[tuple[str, str, Object]]:
    """JSON path of each client configuration, the name of its webhook ("conversion" of a definition), and itself."""
    for number, webhook in enumerate(obj.get("webhooks") or ()):
        yield f"/webhooks/{number}/clientConfig", webhook["name"], webhook["clientConfig"]
    conversion = obj.get("spec", {}).get("conversion") or {}
    if client := (conversion.get("webhook") or {}).get("clientConfig"):
        yield "/spec/conversion/webhook/clientConfig", "conversion", client


def declares_bundles(obj: Object) -> bool:
    """Whether a manifest declares a caBundle of the object, by who owns such a field."""
    return any(
        "f:caBundle" in json.dumps(entry.get("fieldsV1") or {})
        for entry in obj["metadata"].get("managedFields") or ()
        if entry["operation"] == "Apply" or _DECLARING.fullmatch(entry["manager"])
    )


def _is_answered(obj: Object, client: Object, simulated: Collection[Name], bundle: str) -> bool:
    service = client.get("service") or {}
    if (service.get("namespace"), service.get("name")) not in simulated:
        return False
    current = client.get("caBundle") or ""
    return current == bundle or bool(obj.get(WRITTEN)) or not _holds_certificates(current)


def _holds_certificates(bundle: str) -> bool:
    try:
        return _CERTIFICATE in base64.b64decode(bundle)
    except binascii.Error:
        return False


def answer(review: dict[str, Any]) -> dict[str, Any]:
    """The answer to an AdmissionReview or a ConversionReview of any version, in that version.

    Sources: the types of admission.k8s.io and apiextensions.k8s.io, v1beta1 and v1.

    Raises:
        ValueError: it is neither.
        LookupError: it lacks a required field.
    """
    request = review["request"]
    if review["kind"] == "AdmissionReview":
        response: dict[str, Any] = {"uid": request["uid"], "allowed": True}
    elif review["kind"] == "ConversionReview":
        version = request["desiredAPIVersion"]
        response = {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": [{**item, "apiVersion": version} for item in request["objects"]],
        }
    else:
        message = f"{review['kind']} is not a review"
        raise ValueError(message)
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
