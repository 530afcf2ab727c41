"""B1 and B3 on literal facts; the certificates are real ones."""

from __future__ import annotations

import base64
import copy
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.finalizers import CRD_CLEANUP
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.machinery.served import crds_served
from kubeflow_volcano.validators.checks.machinery.webhooks import webhooks_sound
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts, Unread
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status
from kubeflow_volcano.validators.subjects.crds import DISCOVERY, INSTANCES
from kubeflow_volcano.validators.subjects.finalizers import Terminating
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS, SimulatedWebhook
from kubeflow_volcano.validators.subjects.webhooks import SERVING_CERTIFICATES, configurations, fault
from tests.samples.certificates import CA, Signer, named, pem, signer
from tests.samples.facts import NOW, crd, deployment, facts, obj, pod, ref

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


def test_podgroups_whose_status_the_api_server_drops_fail() -> None:
    name = "podgroups.scheduling.volcano.sh"
    plain = crd(name)
    broken = copy.deepcopy(plain)
    broken["spec"]["versions"][0]["subresources"] = {"status": {}}
    served = {"scheduling.volcano.sh/v1": frozenset({"podgroups"})}

    def found(item: Object) -> tuple[Status, str]:
        outcome = crds_served(facts(item, crds={name: "volcano"}, known={DISCOVERY: served}))
        return outcome.status, outcome.reason

    assert found(plain)[0] is Status.PASS
    assert found(broken) == (Status.FAIL, "StatusDropped")


def deleted_crd(*finalizers: str) -> Object:
    return crd(NAME, metadata={"deletionTimestamp": "2027-01-01T00:00:00Z", "finalizers": [CRD_CLEANUP, *finalizers]})


@pytest.mark.parametrize(
    ("finalizer", "owner", "do"),
    [
        ("example.com/guard", "a controller of example.com that is not part of the release", "uninstalled for good"),
        ("volcano.sh/cleanup", "component volcano (Deployment volcano-system/c)", "start component volcano"),
        ("finalizers.x.volcano.sh", "component volcano (Deployment volcano-system/c)", "start component volcano"),
        ("bar.io/hold", "the controller of foo.bar.io", "start the controller of foo.bar.io"),
        ("foregroundDeletion", "the garbage collector", "see its log"),
        ("jobset.x-k8s.io/hold", "a controller of jobset.x-k8s.io that is", "uninstalled for good"),
    ],
)
def test_the_finalizer_of_a_crd_that_is_being_deleted_is_named_with_its_controller(
    finalizer: str, owner: str, do: str
) -> None:
    other = crd("foos.foo.bar.io")
    workloads = ["volcano Deployment volcano-system/c"]
    outcome = crds_served(facts(deleted_crd(finalizer), other, crds=EXPECTED, workloads=workloads))
    assert f"Held by finalizer {finalizer} of {owner}" in outcome.message
    assert do in outcome.todo
    assert outcome.todo.endswith("component volcano again.")


def test_objects_that_keep_their_crd_are_named_with_their_finalizers() -> None:
    left = Terminating(Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "q"), ("example.com/guard",))
    outcome = crds_served(facts(deleted_crd(), crds=EXPECTED, known={INSTANCES: {NAME: (left,)}}))
    assert "Queue q (finalizers example.com/guard)" in outcome.message
    assert outcome.message.count("example.com/guard") == 2, "of the object, and what holds it"


def test_a_crd_that_nothing_holds_is_waited_for() -> None:
    outcome = crds_served(facts(deleted_crd(), crds=EXPECTED))
    assert outcome.todo.startswith("wait ")
    assert outcome.todo.endswith("component volcano again.")


def test_objects_of_a_crd_that_is_being_deleted_are_listed(api: Any) -> None:
    kinds = [{"kind": "Queue", "name": "queues", "namespaced": False}]
    api.on("GET", "/apis/scheduling.volcano.sh/v1", api.reply(body={"resources": kinds}))
    item = {"metadata": {"name": "q", "finalizers": ["example.com/guard"]}}
    answer = api.reply(body={"metadata": {"resourceVersion": "1"}, "items": [item]})
    api.on("GET", "/apis/scheduling.volcano.sh/v1/queues", answer)
    going = deleted_crd()
    going["spec"]["names"]["kind"] = "Queue"
    found = INSTANCES.fetch(api.connect(), facts(going, crds=EXPECTED))
    assert [str(item) for item in found[NAME]] == ["Queue q (finalizers example.com/guard)"]


def test_no_expected_crd_is_no_pass() -> None:
    assert crds_served(facts()).status is Status.FAIL


CONFIGURATION = ref("MutatingWebhookConfiguration", "pods-mutate")
SERVICE = ref("Service", "volcano-system/admission")


AT = datetime.fromtimestamp(NOW, UTC)
HOST = "admission.volcano-system.svc"


@cache
def authority(name: str) -> Signer:
    return signer(name, CA, now=AT)


def serving(*, issuer: str = "one", host: str = HOST, days: int = 30) -> bytes:
    return pem(authority(issuer).signs("admission", named(host), now=AT, days=days).certificate)


def cluster(*, bundle: bytes | None = None, ready: bool = True, port: int = 443, **fields: Any) -> Facts:
    bundle = pem(authority("one").certificate) if bundle is None else bundle
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
    return facts(
        *kept, *more, expected=expected, **({"known": {SERVING_CERTIFICATES: {SERVICE: (serving(),)}}} | fields)
    )


def test_a_sound_webhook_passes_and_is_named() -> None:
    outcome = webhooks_sound(cluster())
    assert (outcome.status, outcome.objects) == (Status.PASS, (CONFIGURATION,))


def test_a_webhook_that_the_rehearsal_answers_proves_nothing_about_its_backend_and_that_is_told() -> None:
    stub = SimulatedWebhook("MutatingWebhookConfiguration", "pods-mutate", ("m.volcano.sh",), (SERVICE,))
    outcome = webhooks_sound(cluster(known={SERVING_CERTIFICATES: {}, SIMULATED_WEBHOOKS: (stub,)}))
    assert outcome.status is Status.PASS
    assert "1 of them" in outcome.message
    assert "no Secret" not in outcome.message
    assert "no Secret" in webhooks_sound(cluster(known={SERVING_CERTIFICATES: {}})).message
    unread = {SERVING_CERTIFICATES: {SERVICE: (serving(),)}, SIMULATED_WEBHOOKS: Unread("Forbidden", "no", "ask")}
    assert "not be read" in webhooks_sound(cluster(known=unread)).message


def expired() -> bytes:
    return pem(signer("old", CA, now=AT, days=-1).certificate)


def served(*texts: bytes) -> Facts:
    return cluster(known={SERVING_CERTIFICATES: {SERVICE: texts}})


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (lambda: cluster(bundle=b""), "EmptyCaBundle"),
        (lambda: cluster(bundle=b"no certificate"), "BadCaBundle"),
        (lambda: cluster(bundle=expired()), "AuthorityExpired"),
        (lambda: cluster(port=8443), "PortMismatch"),
        (lambda: cluster(without="MutatingWebhookConfiguration"), "Missing"),
        (lambda: served(serving(issuer="two")), "UnknownAuthority"),
        (lambda: served(serving(host="other.svc")), "WrongName"),
        (lambda: served(serving(days=-1)), "CertificateExpired"),
        (lambda: served(b"text"), "BadCertificate"),
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


def test_a_certificate_through_an_intermediate_for_a_wildcard_passes() -> None:
    middle = authority("one").signs("middle", CA, now=AT)
    leaf = middle.signs("admission", named("*.volcano-system.svc"), now=AT)
    assert webhooks_sound(served(pem(leaf.certificate, middle.certificate))).status is Status.PASS
    assert webhooks_sound(served(pem(leaf.certificate))).reason == "UnknownAuthority"


def test_what_cannot_be_verified_is_a_warning_with_the_reason_and_breaks_nothing() -> None:
    edwards = signer("edwards", CA, now=AT, key=ed25519.Ed25519PrivateKey.generate())
    leaf = edwards.signs("admission", named(HOST), now=AT)
    doubtful = cluster(
        bundle=pem(edwards.certificate), known={SERVING_CERTIFICATES: {SERVICE: (pem(leaf.certificate),)}}
    )
    outcome = webhooks_sound(doubtful)
    assert (outcome.status, outcome.reason, outcome.breaks) == (Status.WARN, "NotVerified", ())
    assert "public key algorithm" in outcome.message
    (configuration,) = configurations(doubtful)
    assert fault(configuration["webhooks"][0], doubtful, CONFIGURATION) is None


def test_of_several_certificates_that_pods_mount_one_has_to_be_right() -> None:
    other = serving(host="metrics.volcano-system.svc")
    assert webhooks_sound(served(other, serving())).status is Status.PASS
    assert webhooks_sound(served(other, serving(days=-1))).reason == "CertificateExpired"


def test_a_secret_that_may_not_be_read_is_an_error_but_hides_no_failure() -> None:
    unread = {SERVING_CERTIFICATES: Unread("Forbidden", "secrets may not be read", "grant it")}
    with pytest.raises(CannotJudgeError, match="secrets"):
        webhooks_sound(cluster(known=unread))
    assert webhooks_sound(cluster(bundle=b"", known=unread)).reason == "EmptyCaBundle"


def test_a_certificate_in_no_secret_is_told() -> None:
    outcome = webhooks_sound(cluster(known={SERVING_CERTIFICATES: {}}))
    assert outcome.status is Status.PASS
    assert "was not checked" in outcome.message
