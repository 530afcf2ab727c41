"""B7 on literal facts; the certificates are real ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.checks.machinery.certificates import certificates_ready
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from tests.samples.facts import NOW, facts, instant, obj, pod

EXPECTED = Expectations(kubernetes=MinorRange("1.29", None), components=frozenset({"cert-manager"}))


def days(number: float) -> str:
    """The moment in so many days, as cert-manager writes it."""
    return f"{datetime.fromtimestamp(NOW, UTC) + timedelta(days=number):%Y-%m-%dT%H:%M:%SZ}"


def ready(status: str = "True", generation: int = 1, *, left: float = 80, life: float = 90) -> Object:
    """Of a certificate of so many days, of which so many are left."""
    condition = {"type": "Ready", "status": status, "observedGeneration": generation, "message": "as it is"}
    return {"conditions": [condition], "notBefore": days(left - life), "notAfter": days(left)}


def issuer(status: str = "True") -> Object:
    return obj("Issuer", "kubeflow/own", spec={"selfSigned": {}}, status=ready(status))


def certificate(**rest: Any) -> Object:
    meta = {"generation": 1} | rest.pop("metadata", {})
    spec = {"secretName": "webhook-tls", "issuerRef": {"name": "own", "kind": "Issuer"}}
    return obj("Certificate", "kubeflow/webhook", metadata=meta, **({"spec": spec, "status": ready()} | rest))


def known(*objects: Object, **fields: Any) -> Facts:
    return facts(*(objects or (certificate(), issuer())), expected=EXPECTED, **fields)


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
    foreign = certificate(spec={"secretName": "webhook-tls", "issuerRef": asked}, status=ready("False"))
    assert certificates_ready(known(foreign)).reason == "NotReady"


@pytest.mark.parametrize(
    ("left", "life", "status", "reason"),
    [
        (91, 90, Status.FAIL, "NotValidYet"),
        (-1, 90, Status.FAIL, "Expired"),
        (6, 90, Status.FAIL, "EndsSoon"),
        (29, 90, Status.WARN, "EndsSoon"),
        (31, 90, Status.PASS, "AsClaimed"),
        (0.5, 1, Status.PASS, "AsClaimed"),
        (0.2, 1, Status.WARN, "EndsSoon"),
    ],
)
def test_its_time_is_what_cert_manager_says_of_it(left: float, life: float, status: Status, reason: str) -> None:
    outcome = certificates_ready(known(certificate(status=ready(left=left, life=life)), issuer()))
    assert (outcome.status, outcome.reason) == (status, reason)


def test_one_without_an_end_is_no_pass() -> None:
    endless = ready() | {"notAfter": None}
    outcome = certificates_ready(known(certificate(status=endless), issuer()))
    assert (outcome.status, outcome.reason) == (Status.WARN, "EndUnknown")


def test_no_secret_is_read() -> None:
    assert not [rule for rule in certificates_ready.rules if rule.resource == "secrets"]
