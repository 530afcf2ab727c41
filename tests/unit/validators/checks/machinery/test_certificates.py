"""B7 on literal facts; the certificates are real ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.machinery.certificates import TLS_SECRETS, TlsSecret, certificates_ready
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status
from tests.samples.facts import NOW, facts, instant, obj, pod

EXPECTED = Expectations(kubernetes=MinorRange("1.29", None), components=frozenset({"cert-manager"}))
SECRET = Ref("v1", "Secret", "kubeflow", "webhook-tls")
ALL_KEYS = frozenset({"ca.crt", "tls.crt", "tls.key"})


def pem(*, left: float = 80, life: float = 90) -> bytes:
    """A certificate of so many days, of which so many are left."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "webhook")])
    end = datetime.fromtimestamp(NOW, UTC) + timedelta(days=left)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(7)
        .not_valid_before(end - timedelta(days=life))
        .not_valid_after(end)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def ready(status: str = "True", generation: int = 1) -> Object:
    condition = {"type": "Ready", "status": status, "observedGeneration": generation, "message": "as it is"}
    return {"conditions": [condition]}


def issuer(status: str = "True") -> Object:
    return obj("Issuer", "kubeflow/own", spec={"selfSigned": {}}, status=ready(status))


def certificate(**rest: Any) -> Object:
    meta = {"generation": 1} | rest.pop("metadata", {})
    spec = {"secretName": SECRET.name, "issuerRef": {"name": "own", "kind": "Issuer"}}
    return obj("Certificate", "kubeflow/webhook", metadata=meta, **({"spec": spec, "status": ready()} | rest))


def known(*objects: Object, secret: TlsSecret | None = None, **fields: Any) -> Facts:
    secrets = {"known": {TLS_SECRETS: {SECRET: secret or TlsSecret(ALL_KEYS, pem())}}}
    return facts(*(objects or (certificate(), issuer())), expected=EXPECTED, **(secrets | fields))


def test_a_certificate_that_is_issued_and_kept_passes() -> None:
    outcome = certificates_ready(known())
    assert (outcome.status, [item.name for item in outcome.objects]) == (Status.PASS, ["webhook"])


def test_what_is_not_chosen_or_only_simulated_is_skipped() -> None:
    assert certificates_ready(facts()).reason == "NotExpected"
    simulated = {"rehearsal.kubeflow-volcano.io/simulated": ""}
    controller = pod("cert-manager/cert-manager-5d9-x", owner="cert-manager")
    controller["metadata"]["labels"] |= simulated
    assert certificates_ready(known(certificate(status={}), controller)).reason == "Simulated"


@pytest.mark.parametrize("status", [{}, ready("False"), ready(generation=0)], ids=["none", "false", "stale"])
def test_one_that_is_not_ready_as_it_is_now_fails(status: Object) -> None:
    outcome = certificates_ready(known(certificate(status=status), issuer()))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NotReady")


def test_one_that_is_young_may_still_come() -> None:
    young = certificate(status={}, metadata={"creationTimestamp": instant(5)})
    assert certificates_ready(known(young, issuer())).status is Status.WARN


@pytest.mark.parametrize(
    ("issuers", "words"),
    [([], "Issuer kubeflow/own does not exist"), ([issuer("False")], "Issuer kubeflow/own is not Ready: as it is")],
)
def test_the_issuer_is_asked_first(issuers: list[Object], words: str) -> None:
    outcome = certificates_ready(known(certificate(status=ready("False")), *issuers))
    assert (outcome.reason, words in outcome.message) == ("IssuerNotReady", True)


def test_an_issuer_of_other_software_is_not_looked_at() -> None:
    asked = {"name": "own", "kind": "AWSPCAIssuer", "group": "awspca.cert-manager.io"}
    foreign = certificate(spec={"secretName": SECRET.name, "issuerRef": asked}, status=ready("False"))
    assert certificates_ready(known(foreign)).reason == "NotReady"


@pytest.mark.parametrize(
    ("secret", "status", "reason"),
    [
        (TlsSecret(frozenset({"tls.crt", "tls.key"}), pem()), Status.FAIL, "KeysMissing"),
        (TlsSecret(frozenset({"ca.crt", "tls.crt"}), pem()), Status.FAIL, "KeysMissing"),
        (TlsSecret(ALL_KEYS, b"text"), Status.FAIL, "BadCertificate"),
        (TlsSecret(ALL_KEYS, pem(left=91, life=90)), Status.FAIL, "NotValidYet"),
        (TlsSecret(ALL_KEYS, pem(left=-1)), Status.FAIL, "Expired"),
        (TlsSecret(ALL_KEYS, pem(left=6)), Status.FAIL, "EndsSoon"),
        (TlsSecret(ALL_KEYS, pem(left=29)), Status.WARN, "EndsSoon"),
        (TlsSecret(ALL_KEYS, pem(left=31)), Status.PASS, "AsClaimed"),
        (TlsSecret(ALL_KEYS, pem(left=0.5, life=1)), Status.PASS, "AsClaimed"),
        (TlsSecret(ALL_KEYS, pem(left=0.2, life=1)), Status.WARN, "EndsSoon"),
    ],
)
def test_what_is_kept_is_looked_at(secret: TlsSecret, status: Status, reason: str) -> None:
    outcome = certificates_ready(known(secret=secret))
    assert (outcome.status, outcome.reason) == (status, reason)


def test_a_secret_that_is_gone_fails_and_one_that_may_not_be_read_is_no_pass() -> None:
    assert certificates_ready(known(known={TLS_SECRETS: {}})).reason == "NoSecret"
    unread = {TLS_SECRETS: Unread("Forbidden", "secrets may not be read", "grant it")}
    with pytest.raises(CannotJudgeError, match="secrets"):
        certificates_ready(known(known=unread))
    found = known(certificate(status=ready("False")), issuer("False"), known=unread)
    assert certificates_ready(found).reason == "IssuerNotReady"


def test_of_a_secret_only_names_and_the_public_part_are_kept(api: Any) -> None:
    api.on("GET", "/api/v1", api.reply(body={"resources": [{"kind": "Secret", "name": "secrets", "namespaced": True}]}))
    data = {"tls.crt": "cHVibGlj", "tls.key": "c2VjcmV0"}
    api.on("GET", "/api/v1/namespaces/kubeflow/secrets/webhook-tls", api.reply(body={"data": data}))
    found = TLS_SECRETS.fetch(api.connect(), known(known={TLS_SECRETS: {}}))
    assert found == {SECRET: TlsSecret(frozenset({"tls.crt", "tls.key"}), b"public")}
