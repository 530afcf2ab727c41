"""Which admission webhooks cannot be reached or trusted by the API server, and why."""

from __future__ import annotations

import base64
import binascii
import warnings
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.utils import CryptographyDeprecationWarning

from kubeflow_volcano.cluster.objects import Object, Ref
from validators import services
from validators.facts import Facts
from validators.model import Rule, Status
from validators.troubles import Trouble

__all__ = ["LISTS", "READS", "configurations", "decoded", "parsed", "service_of", "troubled"]

_GROUP = "admissionregistration.k8s.io"
RESOURCES = {
    "MutatingWebhookConfiguration": f"mutatingwebhookconfigurations.{_GROUP}",
    "ValidatingWebhookConfiguration": f"validatingwebhookconfigurations.{_GROUP}",
}
LISTS = (
    Rule("list", _GROUP, "mutatingwebhookconfigurations"),
    Rule("list", _GROUP, "validatingwebhookconfigurations"),
)
"""What `configurations` reads."""
READS = (*LISTS, *services.READS)
"""What `troubled` reads, but for certificates."""

_Found = tuple[str, str, str, tuple[str, ...]]  # reason, what is wrong, what to do, because


def configurations(facts: Facts) -> tuple[Object, ...]:
    """The expected webhook configurations that exist, and all that call a service of an expected namespace."""
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


def service_of(entry: Object) -> Ref | None:
    """The Service that one webhook calls; None when it calls an address outside the cluster."""
    service = entry["clientConfig"].get("service")
    return Ref("v1", "Service", service["namespace"], service["name"]) if service else None


def decoded(text: str) -> bytes:
    """Bytes of base64 text; empty where it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return b""


def troubled(facts: Facts) -> tuple[Trouble, ...]:
    """One trouble for each reason of each configuration, and one for each expected configuration that is absent.

    Serving certificates are judged as far as they are known.
    """
    live = {Ref.of(item): item for item in configurations(facts)}
    return (
        *(_absent(ref, facts) for ref in sorted(facts.expectations.webhooks) if ref not in live),
        *(trouble for ref in sorted(live) for trouble in _troubles(ref, live[ref], facts)),
    )


def _absent(ref: Ref, facts: Facts) -> Trouble:
    component = facts.expectations.webhooks[ref]
    message = f"{ref} of component {component} does not exist."
    return Trouble("B3", Status.FAIL, ref, "Missing", message, f"install component {component} again.")


def _troubles(ref: Ref, configuration: Object, facts: Facts) -> Iterator[Trouble]:
    grouped: dict[_Found, list[str]] = {}
    for entry in configuration.get("webhooks") or ():
        if found := next(_findings(entry, facts), None):
            grouped.setdefault(found, []).append(entry["name"])
    for (reason, wrong, todo, because), names in grouped.items():
        message = f"{ref}: webhook {', '.join(names)} {wrong}."
        yield Trouble("B3", Status.FAIL, ref, reason, message, todo, because)


def _findings(entry: Object, facts: Facts) -> Iterator[_Found]:
    """What is wrong with one webhook, the cause of the others first."""
    bundle = entry["clientConfig"].get("caBundle") or ""
    service = service_of(entry)
    authorities: list[x509.Certificate] = []
    if service and not bundle:
        todo = f"restart the Deployment behind {service}, which writes it at its start, or apply the component again."
        yield "EmptyCaBundle", "has an empty caBundle, so that the API server trusts no backend of it", todo, ()
    if bundle:
        try:
            authorities = parsed(decoded(bundle))
        except ValueError:
            yield "BadCaBundle", "has a caBundle that is not PEM", "apply the component again.", ()
    now = datetime.fromtimestamp(facts.taken, UTC)
    if authorities and all(item.not_valid_after_utc <= now for item in authorities):
        end = authorities[0].not_valid_after_utc
        yield "AuthorityExpired", f"has a caBundle that ended {end:%Y-%m-%d}", "renew the webhook's certificates.", ()
    if service:
        port = entry["clientConfig"]["service"].get("port", 443)
        yield from _backend(service, port, facts)
        yield from _certificate(service, authorities, now, facts)


def _backend(ref: Ref, port: int, facts: Facts) -> Iterator[_Found]:
    service = facts.get("services", ref.namespace, ref.name)
    if service is None:
        todo = "apply the component again, or remove the webhook."
        yield "NoService", f"calls {ref}, which does not exist", todo, ("B6",)
        return
    ports = [item["port"] for item in service["spec"].get("ports") or ()]
    if port not in ports:
        known = ", ".join(map(str, ports))
        yield "PortMismatch", f"calls port {port} of {ref}, which has {known}", "apply the component again.", ()
    if not services.ready_ports(ref, facts):
        because = services.behind(service, facts)
        yield "NoEndpoint", f"calls {ref}, which has no ready endpoint", "bring up its pods.", because


def _certificate(ref: Ref, authorities: Iterable[x509.Certificate], now: datetime, facts: Facts) -> Iterator[_Found]:
    pem = facts.certificates.get(ref)
    if not pem:
        return
    try:
        certificate = parsed(pem)[0]
    except ValueError:
        yield "BadCertificate", f"is served by {ref} with a certificate that is not PEM", "renew the Secret.", ()
        return
    renew = "delete the Secret and let the component make it again."
    if certificate.not_valid_after_utc <= now:
        end = certificate.not_valid_after_utc
        yield "CertificateExpired", f"is served by {ref} with a certificate that ended {end:%Y-%m-%d}", renew, ()
    if not any(_issued(certificate, item) for item in authorities):
        yield "UnknownAuthority", f"is served by {ref} with a certificate that the caBundle did not sign", renew, ()
    host = f"{ref.name}.{ref.namespace}.svc"
    if host not in _names(certificate):
        yield "WrongName", f"is served by {ref} with a certificate that is not for {host}", renew, ()


def parsed(pem: bytes) -> list[x509.Certificate]:
    """Certificates of a PEM text; a serial number of 0, which some operators' own authorities have, is nobody's harm.

    Raises:
        ValueError: there is none, or one cannot be read.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        return x509.load_pem_x509_certificates(pem)


def _issued(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return certificate == authority
    return True


def _names(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return names.get_values_for_type(x509.DNSName)
