"""B1 and B3 on literal facts; the certificates are real ones."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.objects import Object
from tests.samples.facts import NOW, crd, deployment, facts, obj, pod, ref
from validators.checks.machinery.served import crds_served
from validators.checks.machinery.webhooks import webhooks_sound
from validators.core.expectations import Expectations
from validators.core.facts import Facts, Unread
from validators.core.outcome import CannotJudgeError, Status
from validators.subjects.crds import DISCOVERY
from validators.subjects.simulation import SIMULATED_WEBHOOKS, SimulatedWebhook
from validators.subjects.webhooks import SERVING_CERTIFICATES

NAME = "queues.scheduling.volcano.sh"
EXPECTED = {NAME: "volcano"}
SERVED = {"scheduling.volcano.sh/v1": frozenset({"queues"})}


def test_an_established_crd_in_discovery_passes() -> None:
    outcome = crds_served(facts(crd(NAME), crds=EXPECTED, known={DISCOVERY: SERVED}))
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, [NAME])


def not_accepted(reason: str) -> Object:
    refused = {"type": "NamesAccepted", "status": "False", "reason": reason, "message": "plural queues is taken"}
    return {"conditions": [refused]}


@pytest.mark.parametrize(
    ("objects", "discovery", "reason"),
    [
        ([], SERVED, "Missing"),
        ([crd(NAME)], {}, "NotInDiscovery"),
        ([crd(NAME, status={})], SERVED, "NotEstablished"),
        ([crd(NAME, status=not_accepted("PluralConflict"))], SERVED, "NamesConflict"),
        ([crd(NAME, metadata={"deletionTimestamp": "2027-01-01T00:00:00Z"})], SERVED, "Terminating"),
        ([crd(NAME, versions=())], SERVED, "NotServed"),
    ],
)
def test_a_crd_that_is_not_usable_fails_for_its_reason(
    objects: list[Object], discovery: dict[str, frozenset[str]], reason: str
) -> None:
    outcome = crds_served(facts(*objects, crds=EXPECTED, known={DISCOVERY: discovery}))
    assert (outcome.status, outcome.reason) == (Status.FAIL, reason)
    assert NAME in outcome.message


def test_no_expected_crd_is_no_pass() -> None:
    assert crds_served(facts()).status is Status.FAIL


CONFIGURATION = ref("MutatingWebhookConfiguration", "pods-mutate")
SERVICE = ref("Service", "volcano-system/admission")


@cache
def authority(name: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    return key, certificate(subject, subject, key, key)


def certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    *,
    host: str = "",
    days: int = 30,
) -> x509.Certificate:
    now = datetime.fromtimestamp(NOW, UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=days))
    )
    if host:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
    return builder.sign(signer, hashes.SHA256())


def serving(*, issuer: str = "one", host: str = "admission.volcano-system.svc", days: int = 30) -> bytes:
    key, ca = authority(issuer)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "admission")])
    return pem(certificate(subject, ca.subject, ec.generate_private_key(ec.SECP256R1()), key, host=host, days=days))


def pem(found: x509.Certificate) -> bytes:
    return found.public_bytes(serialization.Encoding.PEM)


def cluster(*, bundle: bytes | None = None, ready: bool = True, port: int = 443, **fields: Any) -> Facts:
    bundle = pem(authority("one")[1]) if bundle is None else bundle
    call = {"service": {"namespace": "volcano-system", "name": "admission", "port": port}}
    call["caBundle"] = base64.b64encode(bundle).decode()  # type: ignore[assignment]
    slice_labels = {"kubernetes.io/service-name": "admission"}
    objects = (
        obj("MutatingWebhookConfiguration", "pods-mutate", webhooks=[{"name": "m.volcano.sh", "clientConfig": call}]),
        obj("Service", "volcano-system/admission", spec={"ports": [{"port": 443}], "selector": {"app": "admission"}}),
        obj(
            "EndpointSlice",
            "volcano-system/admission-x",
            metadata={"labels": slice_labels},
            endpoints=[{"conditions": {"ready": ready}}],
        ),
        deployment("volcano-system/admission", available=int(ready)),
    )
    expected = Expectations(
        kubernetes=MinorRange("1.29", None),
        webhooks={CONFIGURATION: "volcano"},
        namespaces=frozenset({"volcano-system"}),
        workloads={ref("Deployment", "volcano-system/admission"): "volcano"},
    )
    more = fields.pop("more", ())
    left_out = fields.pop("without", "")
    kept = (item for item in objects if item["kind"] != left_out)
    return facts(*kept, *more, expected=expected, **({"known": {SERVING_CERTIFICATES: {SERVICE: serving()}}} | fields))


def test_a_sound_webhook_passes_and_is_named() -> None:
    outcome = webhooks_sound(cluster())
    assert (outcome.status, outcome.objects) == (Status.PASS, (CONFIGURATION,))


def test_a_webhook_that_the_rehearsal_answers_proves_nothing_about_its_backend_and_that_is_told() -> None:
    stub = SimulatedWebhook("MutatingWebhookConfiguration", "pods-mutate", ("m.volcano.sh",), (SERVICE,))
    outcome = webhooks_sound(cluster(known={SERVING_CERTIFICATES: {}, SIMULATED_WEBHOOKS: (stub,)}))
    assert outcome.status is Status.PASS
    assert "The rehearsal answers 1 of them" in outcome.message
    assert "is in no Secret" not in outcome.message
    assert "is in no Secret" in webhooks_sound(cluster(known={SERVING_CERTIFICATES: {}})).message
    unread = {SERVING_CERTIFICATES: {SERVICE: serving()}, SIMULATED_WEBHOOKS: Unread("Forbidden", "no", "ask")}
    assert "could not be read" in webhooks_sound(cluster(known=unread)).message


def expired() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "old")])
    return pem(certificate(subject, subject, key, key, days=-1))


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda: cluster(bundle=b""), "EmptyCaBundle"),
        (lambda: cluster(bundle=b"no certificate"), "BadCaBundle"),
        (lambda: cluster(bundle=expired()), "AuthorityExpired"),
        (lambda: cluster(port=8443), "PortMismatch"),
        (lambda: cluster(without="MutatingWebhookConfiguration"), "Missing"),
        (lambda: cluster(known={SERVING_CERTIFICATES: {SERVICE: serving(issuer="two")}}), "UnknownAuthority"),
        (lambda: cluster(known={SERVING_CERTIFICATES: {SERVICE: serving(host="other.svc")}}), "WrongName"),
        (lambda: cluster(known={SERVING_CERTIFICATES: {SERVICE: serving(days=-1)}}), "CertificateExpired"),
        (lambda: cluster(known={SERVING_CERTIFICATES: {SERVICE: b"text"}}), "BadCertificate"),
    ],
)
def test_an_unsound_webhook_fails_for_its_class(broken: Any, reason: str) -> None:
    outcome = webhooks_sound(broken())
    assert (outcome.status, outcome.reason, outcome.because) == (Status.FAIL, reason, ())
    assert "pods-mutate" in outcome.message


def test_a_webhook_whose_service_is_gone_follows_the_check_that_looks_at_all_of_them() -> None:
    outcome = webhooks_sound(cluster(without="Service"))
    assert (outcome.reason, outcome.because) == ("NoService", ("B6",))


def test_a_webhook_without_endpoints_follows_what_keeps_its_pods_down() -> None:
    bad = {"phase": "Pending", "containerStatuses": [{"name": "m", "state": {"waiting": {"reason": "ErrImagePull"}}}]}
    outcome = webhooks_sound(cluster(ready=False, more=[pod("volcano-system/a", owner="admission", status=bad)]))
    assert (outcome.reason, outcome.because) == ("NoEndpoint", ("A6",))


def test_a_secret_that_may_not_be_read_is_an_error_but_hides_no_failure() -> None:
    unread = {SERVING_CERTIFICATES: Unread("Forbidden", "secrets may not be read", "grant it")}
    with pytest.raises(CannotJudgeError, match="secrets"):
        webhooks_sound(cluster(known=unread))
    assert webhooks_sound(cluster(bundle=b"", known=unread)).reason == "EmptyCaBundle"


def test_a_certificate_in_no_secret_is_told() -> None:
    outcome = webhooks_sound(cluster(known={SERVING_CERTIFICATES: {}}))
    assert outcome.status is Status.PASS
    assert "was not checked" in outcome.message
