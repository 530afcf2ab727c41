"""Admission webhooks: which of them the API server cannot reach or trust, and why."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from cryptography import x509

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Fact, Facts, Read
from kubeflow_volcano.validators.core.outcome import Cause, Status
from kubeflow_volcano.validators.core.resources import CERTIFICATES, PODS, SERVICES
from kubeflow_volcano.validators.core.rights import VOLCANO_HOME, Rule
from kubeflow_volcano.validators.subjects import renewal, services, trust
from kubeflow_volcano.validators.subjects.interception import LISTS, webhook_ref
from kubeflow_volcano.validators.subjects.issues import Issue
from kubeflow_volcano.validators.subjects.renewal import Remedy
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS

__all__ = [
    "LISTS",
    "READS",
    "RESOURCES",
    "SERVING_CERTIFICATES",
    "Fault",
    "certificates",
    "configurations",
    "decoded",
    "fault",
    "issues",
    "service_of",
]

RESOURCES = {item.kind: item for item in LISTS}
READS: tuple[Read, ...] = (*LISTS, CERTIFICATES, *services.READS)
"""What `issues` reads, but for certificates."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one webhook cannot answer: a stable reason, the rest of a sentence after its name, and a remedy."""

    reason: str
    wrong: str
    todo: str
    status: Status = Status.FAIL
    """A warning where it may answer all the same."""
    changes: tuple[str, ...] = ()


def configurations(facts: Facts) -> tuple[Object, ...]:
    """The expected webhook configurations that exist, and all that call a Service in an expected namespace."""
    return tuple(
        item
        for resource in RESOURCES.values()
        for item in facts.all(resource)
        if Ref.of(item) in facts.expectations.webhooks
        or any(
            (ref := service_of(entry)) and ref.namespace in facts.expectations.namespaces
            for entry in item.get("webhooks") or ()
        )
    )


def service_of(entry: Mapping[str, Any]) -> Ref | None:
    """The Service that one webhook calls; None if it calls a URL."""
    service = entry["clientConfig"].get("service")
    return Ref("v1", "Service", service["namespace"], service["name"]) if service else None


def decoded(text: str) -> bytes:
    """Bytes of base64 text; empty if it is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return b""


_VOLCANOS, _KUBEFLOWS = "volcano-admission-secret", "kubeflow"
_SERVING: Mapping[str, tuple[str, ...]] = {
    "queues.scheduling.volcano.sh": (_VOLCANOS,),
    "experiments.kubeflow.org": ("katib-webhook-cert",),
    "inferenceservices.serving.kserve.io": ("kserve-webhook-server-cert",),
    "poddefaults.kubeflow.org": ("poddefaults-webhook-certs", "webhook-certs"),
    "pvcviewers.kubeflow.org": ("webhook-server-cert",),
    "scheduledworkflows.kubeflow.org": ("kfp-api-webhook-cert", "webhook-server-tls"),
}
"""By a CRD of their component, the Secrets with which webhooks are served and in which no authority's key is, as the
manifests of the releases name them. Those that the training operator, Trainer and JobSet write have one (ca.key;
open-policy-agent/cert-controller, pkg/rotator), and so have cert-manager's and Istio's: no check reads these."""


def _homes(facts: Facts) -> Mapping[str, frozenset[str]]:
    """Names of the Secrets that may be read, by namespace."""
    every = frozenset(name for names in _SERVING.values() for name in names)
    home = facts.expectations.scheduler.namespace
    return {_KUBEFLOWS: every - {_VOLCANOS}, home: frozenset({_VOLCANOS}) | (every if home == _KUBEFLOWS else set())}


def certificates(cluster: Cluster, facts: Facts) -> Mapping[Ref, tuple[bytes, ...]]:
    """Public certificates of webhook backends, from the Secrets of `_SERVING` that their pods mount. No key is kept."""
    simulated = {ref for item in facts.known(SIMULATED_WEBHOOKS) for ref in item.services}
    services_called = {
        ref
        for item in configurations(facts)
        for entry in item.get("webhooks") or ()
        if (ref := service_of(entry)) and ref not in simulated
    }
    served = {ref: tuple(_served_with(cluster, facts, ref)) for ref in sorted(services_called)}
    return {ref: texts for ref, texts in served.items() if texts}


def _served_with(cluster: Cluster, facts: Facts, ref: Ref) -> Iterator[bytes]:
    service = facts.get(SERVICES, ref.namespace, ref.name)
    selector = ((service or {}).get("spec", {}).get("selector") or {}).items()
    names = {
        volume["secret"]["secretName"]
        for pod in facts.all(PODS)
        if selector
        and pod["metadata"]["namespace"] == ref.namespace
        and selector <= (pod["metadata"].get("labels") or {}).items()
        for volume in pod["spec"].get("volumes") or ()
        if "secret" in volume
    }
    for name in sorted(names & _homes(facts).get(ref.namespace, frozenset())):
        secret = cluster.get(Ref("v1", "Secret", ref.namespace, name)) or {}
        if pem := decoded((secret.get("data") or {}).get("tls.crt", "")):
            yield pem


SERVING_CERTIFICATES = Fact[Mapping[Ref, tuple[bytes, ...]]](
    "certificates of webhooks",
    certificates,
    {},
    reads=(*LISTS, SERVICES, PODS, SIMULATED_WEBHOOKS),
    needs_with=tuple(
        (crd, Rule("get", "", "secrets", VOLCANO_HOME if _VOLCANOS in names else _KUBEFLOWS, names))
        for crd, names in _SERVING.items()
    ),
)
"""Public certificates (PEM) that backends of webhooks may serve, by Service."""


@lru_cache(maxsize=4)  # certificates are verified, and several checks ask
def issues(facts: Facts) -> tuple[Issue, ...]:
    """One issue for each reason in each configuration, and one for each expected configuration that is missing.

    Serving certificates are evaluated as far as they are known.
    """
    live = {Ref.of(item): item for item in configurations(facts)}
    return (
        *(_absent(ref, facts) for ref in sorted(facts.expectations.webhooks) if ref not in live),
        *(issue for ref in sorted(live) for issue in _issues_of(ref, live[ref], facts)),
    )


def _absent(ref: Ref, facts: Facts) -> Issue:
    component = facts.expectations.webhooks[ref]
    message = f"{ref} of component {component} does not exist."
    return Issue("B3", Status.FAIL, ref, "Missing", message, f"install component {component} again.")


def _issues_of(ref: Ref, configuration: Object, facts: Facts) -> Iterator[Issue]:
    grouped: dict[Fault, list[Object]] = {}
    for entry in configuration.get("webhooks") or ():
        if fault := next(_faults(entry, facts, ref), None):
            grouped.setdefault(fault, []).append(entry)
    for fault, entries in grouped.items():
        message = f"{ref}: webhook {', '.join(item['name'] for item in entries)} {fault.wrong}."
        because = _because(fault, entries[0], facts)
        broken = entries if fault.status is Status.FAIL else []
        breaks = tuple(webhook_ref(item["name"]) for item in broken)
        issue = Issue("B3", fault.status, ref, fault.reason, message, fault.todo, because)
        yield replace(issue, breaks=breaks, changes=fault.changes)


def _because(fault: Fault, entry: Object, facts: Facts) -> tuple[Cause, ...]:
    ref = service_of(entry)
    if fault.reason == "NoService":
        return ("B6",)
    if fault.reason == "NoEndpoint" and ref and (service := facts.get(SERVICES, ref.namespace, ref.name)):
        return services.behind(service, facts)
    return ()


def fault(entry: Mapping[str, Any], facts: Facts, owner: Ref) -> Fault | None:
    """The first fault that keeps a webhook of the configuration `owner` from answering; None if there is none."""
    return next((item for item in _faults(entry, facts, owner) if item.status is Status.FAIL), None)


def _faults(entry: Mapping[str, Any], facts: Facts, owner: Ref) -> Iterator[Fault]:
    bundle = entry["clientConfig"].get("caBundle") or ""
    service = service_of(entry)
    authorities: list[x509.Certificate] = []
    if service and not bundle:
        text = "has an empty caBundle, so the API server does not trust its backend"
        yield _faulty("EmptyCaBundle", text, renewal.authority(owner, service, facts))
    if bundle:
        try:
            authorities = trust.parsed(decoded(bundle))
        except ValueError:
            text = "has a caBundle without a readable certificate"
            remedy = renewal.authority(owner, service, facts) if service else Remedy("correct its caBundle.")
            yield _faulty("BadCaBundle", text, remedy)
    now = datetime.fromtimestamp(facts.taken, UTC)
    if authorities and all(item.not_valid_after_utc <= now for item in authorities):
        end = authorities[0].not_valid_after_utc
        text = f"has a caBundle that expired on {end:%Y-%m-%d}"
        remedy = renewal.certificate(service, facts) if service else Remedy("renew the certificate of its server.")
        yield _faulty("AuthorityExpired", text, remedy)
    if service:
        port = entry["clientConfig"]["service"].get("port", 443)
        yield from _backend(service, port, facts)
        yield from _certificate(service, authorities, facts)


def _backend(ref: Ref, port: int, facts: Facts) -> Iterator[Fault]:
    service = facts.get(SERVICES, ref.namespace, ref.name)
    if service is None:
        todo = "apply the component again, or delete the webhook configuration."
        yield Fault("NoService", f"calls {ref}, which does not exist", todo)
        return
    ports = [item["port"] for item in service["spec"].get("ports") or ()]
    if port not in ports:
        known = ", ".join(map(str, ports))
        yield Fault("PortMismatch", f"calls port {port} of {ref}, which has {known}", "apply the component again.")
    if not services.ready_ports(ref, facts):
        yield Fault("NoEndpoint", f"calls {ref}, which has no ready endpoint", "see why its pods are not ready.")


def _certificate(ref: Ref, authorities: Sequence[x509.Certificate], facts: Facts) -> Iterator[Fault]:
    """What is wrong with all certificates that the pods mount; one of them is what they serve."""
    faults = [_fault_of(pem, ref, authorities, facts) for pem in facts.known(SERVING_CERTIFICATES).get(ref, ())]
    if faults and all(faults):
        # A pod may have certificates for other purposes, which have other names.
        yield from sorted(filter(None, faults), key=lambda item: item.reason == "WrongName")


def _fault_of(pem: bytes, ref: Ref, authorities: Sequence[x509.Certificate], facts: Facts) -> Fault | None:
    try:
        served = trust.parsed(pem)
    except ValueError:
        text = f"is served by {ref} with a certificate that cannot be read"
        return _faulty("BadCertificate", text, renewal.certificate(ref, facts))
    reason = trust.distrust(
        served, authorities, f"{ref.name}.{ref.namespace}.svc", datetime.fromtimestamp(facts.taken, UTC)
    )
    if reason is None:
        return None
    text = f"is served by {ref} with a certificate that {reason.wrong}"
    if not reason.certain:
        todo = "see B4, which calls it: if it answers, the API server trusts the certificate."
        return Fault(reason.reason, text, todo, Status.WARN)
    return _faulty(reason.reason, text, renewal.certificate(ref, facts))


def _faulty(reason: str, text: str, remedy: Remedy) -> Fault:
    return Fault(reason, text, remedy.todo, changes=remedy.changes)
