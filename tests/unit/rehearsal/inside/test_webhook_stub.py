"""What the stub answers, which webhooks it answers for, and that the API server may trust it."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.rehearsal.inside.review_server import ReviewServer
from kubeflow_volcano.rehearsal.inside.stub_api import Api, RefusedError
from kubeflow_volcano.rehearsal.inside.stub_certificates import Certificates
from kubeflow_volcano.rehearsal.inside.stub_secrets import IssuedPairs
from kubeflow_volcano.rehearsal.inside.webhook_backends import (
    SIMULATED_WEBHOOK_LABEL,
    WRITTEN,
    answer,
    answered,
    certificates_of,
    declares_bundles,
    injects,
    patch,
    simulated_services,
)
from kubeflow_volcano.rehearsal.inside.webhook_stub import Keeper
from kubeflow_volcano.rehearsal.node.pki import issue_all
from tests.serving import Handler, listen, serving

RANGE = "10.245.0.0/16"
SERVICE = ("kubeflow", "katib-controller")
OURS = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nours").decode()
FOREIGN = base64.b64encode(b"-----BEGIN CERTIFICATE-----\nforeign").decode()


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_every_request_is_admitted_as_it_is_in_its_own_version(version: str) -> None:
    review = {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "request": {"uid": "u-1", "object": {"a": 1}},
    }

    assert answer(review) == {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "response": {"uid": "u-1", "allowed": True},
    }


def test_a_conversion_changes_the_version_and_nothing_else() -> None:
    items = [{"apiVersion": "a.io/v1", "kind": "A", "metadata": {"name": name}, "spec": {"x": 1}} for name in "ab"]
    review = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "u-2", "desiredAPIVersion": "a.io/v2", "objects": items},
    }

    response = answer(review)["response"]

    assert response["uid"] == "u-2"
    assert response["result"] == {"status": "Success"}
    assert response["convertedObjects"] == [{**item, "apiVersion": "a.io/v2"} for item in items]
    assert items[0]["apiVersion"] == "a.io/v1"


def test_what_is_no_review_has_no_answer() -> None:
    with pytest.raises(ValueError, match="TokenReview"):
        answer({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "request": {}})


def endpoint_slice(*addresses: str, name: str = "s", service: str = SERVICE[1]) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "namespace": SERVICE[0],
            "labels": {"kubernetes.io/service-name": service},
            "resourceVersion": "1",
        },
        "endpoints": [{"addresses": [address]} for address in addresses],
    }


@pytest.mark.parametrize(
    ("slices", "simulated"),
    [
        ([endpoint_slice("10.245.0.7")], True),
        ([endpoint_slice("10.245.0.7"), endpoint_slice(name="empty")], True),
        ([endpoint_slice("10.244.0.7")], False),
        ([endpoint_slice("10.245.0.7"), endpoint_slice("10.244.0.7", name="real")], False),
        ([endpoint_slice()], False),
        ([], False),
    ],
    ids=["simulated", "two slices", "real", "mixed", "no pods", "no slice"],
)
def test_a_service_is_simulated_when_all_of_its_pods_are(slices: list[dict[str, Any]], *, simulated: bool) -> None:
    assert (SERVICE in simulated_services(slices, RANGE)) is simulated


CAINJECTOR = "quay.io/jetstack/cert-manager-cainjector:v1.14.5"


@pytest.mark.parametrize(
    ("images", "simulated", "expected"),
    [
        ({CAINJECTOR}, {SERVICE}, True),
        ({CAINJECTOR}, {("cert-manager", "cert-manager-webhook")}, False),
        ({CAINJECTOR.replace("cainjector", "controller")}, set(), False),
        (set(), set(), False),
    ],
    ids=["it runs, or will", "another version is simulated", "no cainjector", "no image"],
)
def test_a_real_cert_manager_injects(images: set[str], simulated: set[tuple[str, str]], *, expected: bool) -> None:
    assert injects(images, simulated) is expected


def client(bundle: str | None, service: str = SERVICE[1]) -> dict[str, Any]:
    declared = {} if bundle is None else {"caBundle": bundle}
    return {"service": {"namespace": SERVICE[0], "name": service, "path": "/x"}, **declared}


def configuration(*clients: dict[str, Any], labels: dict[str, str] | None = None) -> dict[str, Any]:
    return {
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "katib", "resourceVersion": "7", **({"labels": labels} if labels else {})},
        "webhooks": [{"name": f"w{number}", "clientConfig": item} for number, item in enumerate(clients)],
    }


def definition(bundle: str | None) -> dict[str, Any]:
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client(bundle)}}
    return {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "a.b", "resourceVersion": "7"},
        "spec": {"conversion": conversion},
    }


@pytest.mark.parametrize("placeholder", [None, "", "Cg==", "no base64"])
def test_a_webhook_without_an_authority_gets_ours_and_a_mark(placeholder: str | None) -> None:
    operations = patch(configuration(client(placeholder)), {SERVICE}, OURS)

    assert operations == [
        {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
        {"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": OURS},
        {"op": "add", "path": "/metadata/labels", "value": {SIMULATED_WEBHOOK_LABEL: "true"}},
    ]


def test_labels_of_others_stay() -> None:
    operations = patch(configuration(client(""), labels={"app": "katib"}), {SERVICE}, OURS)

    assert operations[-1] == {
        "op": "add",
        "path": "/metadata/labels/rehearsal.kubeflow-volcano.io~1simulated-webhook",
        "value": "true",
    }


def test_the_conversion_of_a_definition_is_a_webhook_too() -> None:
    operations = patch(definition("Cg=="), {SERVICE}, OURS)

    assert operations[1]["path"] == "/spec/conversion/webhook/clientConfig/caBundle"
    assert patch(definition(OURS), {SERVICE}, OURS) == []


@pytest.mark.parametrize(
    "left_alone",
    [
        client(FOREIGN),
        client("", service="training-operator"),
        {"url": "https://127.0.0.1:9443/", "caBundle": ""},
    ],
    ids=["somebody else's certificates", "a real backend", "a URL"],
)
def test_other_webhooks_are_neither_touched_nor_listed(left_alone: dict[str, Any]) -> None:
    obj = configuration(left_alone, client(""))

    paths = [item["path"] for item in patch(obj, {SERVICE}, OURS)]

    assert not [path for path in paths if path.startswith("/webhooks/0/")]
    assert patch(configuration(left_alone), {SERVICE}, OURS) == []
    assert answered([obj], {SERVICE}, OURS) == [
        {"kind": obj["kind"], "name": "katib", "webhooks": ["w1"], "services": ["kubeflow/katib-controller"]}
    ]


def managed(manager: str, operation: str) -> dict[str, Any]:
    fields: Any = {"f:webhooks": {'k:{"name":"w"}': {"f:clientConfig": {"f:caBundle": {}}}}}
    return {"manager": manager, "operation": operation, "fieldsV1": fields}


@pytest.mark.parametrize(
    ("entry", "declared"),
    [
        (managed("training-operator", "Update"), False),
        (managed("kubeflow-volcano", "Apply"), True),
        (managed("kubectl-client-side-apply", "Update"), True),
        (managed("helm", "Update"), True),
    ],
)
def test_what_a_manifest_declares_is_told_from_what_a_program_wrote(entry: dict[str, Any], *, declared: bool) -> None:
    obj = configuration(client(FOREIGN))
    obj["metadata"]["managedFields"] = [entry]
    assert declares_bundles(obj) is declared


def test_what_an_operator_wrote_that_simulated_pods_replaced_is_ours_from_then_on() -> None:
    """As the training operator of 1.9.1, which runs for real, and that of 1.10.2, whose image is not there."""
    obj = configuration(client(FOREIGN)) | {WRITTEN: True}
    assert {item["value"] for item in patch(obj, {SERVICE}, OURS) if item["path"].endswith("caBundle")} == {OURS}
    assert len(answered([obj], {SERVICE}, OURS)) == 1
    assert patch(obj, set(), OURS) == []
    assert patch({**obj, WRITTEN: False}, {SERVICE}, OURS) == []


def injected(bundle: str | None, source: str = "kubeflow/katib-webhook-cert") -> dict[str, Any]:
    obj = configuration(client(bundle))
    obj["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": source}
    return obj


@pytest.mark.parametrize("bundle", [None, "Cg==", FOREIGN], ids=["not injected yet", "placeholder", "injected"])
def test_where_a_real_cert_manager_injects_the_stub_touches_nothing_and_answers(bundle: str | None) -> None:
    obj = injected(bundle)

    assert patch(obj, {SERVICE}, OURS, injecting=True) == []
    (entry,) = answered([obj], {SERVICE}, OURS, injecting=True)
    assert entry["webhooks"] == ["w0"]
    assert answered([obj], set(), OURS, injecting=True) == []
    assert certificates_of([obj], {SERVICE}) == {
        "katib-controller.kubeflow.svc": ("kubeflow", "katib-webhook-cert"),
    }


def test_a_simulated_cert_manager_and_placeholders_that_it_would_ignore_change_nothing() -> None:
    unfilled = injected("", "CERTIFICATE_NAMESPACE/CERTIFICATE_NAME")

    assert patch(injected(""), {SERVICE}, OURS) != []
    assert answered([injected(FOREIGN)], {SERVICE}, OURS) == []
    assert patch(unfilled, {SERVICE}, OURS, injecting=True) != []
    assert certificates_of([unfilled, injected("")], set()) == {}
    assert certificates_of([unfilled], {SERVICE}) == {}


class Recorder:
    """In place of the API server: keeps what it is asked, and refuses the first requests to a path that contains it."""

    def __init__(self, refuse: str = "") -> None:
        self.requests: list[tuple[str, Any]] = []
        self.refuse = refuse

    def request(self, method: str, path: str, body: object = None, content_type: str = "") -> dict[str, Any]:
        assert method == "PATCH"
        assert content_type
        self.requests.append((path, body))
        if self.refuse and self.refuse in path:
            self.refuse = ""
            message = "409: the object has been modified"
            raise RefusedError(message)
        return {}


def keeper(api: Recorder, *news: tuple[str, str, list[dict[str, Any]]], images: tuple[str, ...] = ()) -> Keeper:
    kept = Keeper(api, OURS, RANGE, IssuedPairs(api, Path()), lambda: images)  # type: ignore[arg-type]
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "CustomResourceDefinition"):
        kept.news.put((kind, "RESET", []))
    for item in news:
        kept.news.put(item)
    kept.take(settled=True)
    return kept


def test_the_keeper_touches_what_is_simulated_and_publishes_the_list_once() -> None:
    api = Recorder()
    obj = configuration(client("Cg=="))
    kept = keeper(
        api,
        ("ValidatingWebhookConfiguration", "ADDED", [obj]),
        ("EndpointSlice", "RESET", [endpoint_slice("10.245.1.1")]),
    )

    assert kept.reconcile()

    (touched, _), (listed, register) = api.requests
    assert "/validatingwebhookconfigurations/katib?fieldManager=rehearsal-webhook-stub" in touched
    assert "/configmaps/rehearsal-simulated-webhooks" in listed
    assert [entry["name"] for entry in json.loads(register["data"]["webhooks.json"])] == ["katib"]

    ours = configuration(client(OURS))
    kept.news.put(("ValidatingWebhookConfiguration", "MODIFIED", [ours]))
    kept.take(settled=True)
    assert kept.reconcile()
    assert len(api.requests) == 2


def test_the_keeper_leaves_injecting_to_a_cert_manager_that_runs_for_real() -> None:
    api = Recorder()
    kept = keeper(
        api,
        ("ValidatingWebhookConfiguration", "ADDED", [injected("")]),
        ("EndpointSlice", "RESET", [endpoint_slice("10.245.1.1")]),
        images=(CAINJECTOR,),
    )

    assert kept.reconcile()

    ((listed, register),) = api.requests
    assert "/configmaps/rehearsal-simulated-webhooks" in listed
    assert [entry["name"] for entry in json.loads(register["data"]["webhooks.json"])] == ["katib"]
    assert kept.issued.certificates == {"katib-controller.kubeflow.svc": ("kubeflow", "katib-webhook-cert")}


def test_the_keeper_yields_to_a_program_that_writes_its_authority_again_and_again() -> None:
    api = Recorder()
    theirs = configuration(client(FOREIGN))
    kept = keeper(
        api,
        ("ValidatingWebhookConfiguration", "ADDED", [theirs]),
        ("EndpointSlice", "RESET", [endpoint_slice("10.245.1.1")]),
    )
    for _ in range(30):
        kept.reconcile()
    patched = [request for request in api.requests if "webhookconfigurations" in request[0]]
    assert 1 <= len(patched) <= 10


def test_what_was_refused_is_tried_again_and_what_is_gone_leaves_the_list() -> None:
    api = Recorder(refuse="validatingwebhookconfigurations")
    obj = configuration(client(""))
    kept = keeper(
        api,
        ("ValidatingWebhookConfiguration", "ADDED", [obj]),
        ("EndpointSlice", "RESET", [endpoint_slice("10.245.1.1")]),
    )

    assert not kept.reconcile()
    assert kept.reconcile()
    kept.news.put(("EndpointSlice", "DELETED", [endpoint_slice("10.245.1.1")]))
    kept.take(settled=True)
    assert kept.reconcile()

    assert api.requests[-1][1]["data"]["webhooks.json"] == "[]"


def test_news_that_never_cease_do_not_keep_it_from_acting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubeflow_volcano.rehearsal.inside.webhook_stub._LONGEST_SECONDS", 0.0)

    kept = keeper(Recorder(), ("EndpointSlice", "RESET", []))

    assert set(kept.known) == {"MutatingWebhookConfiguration"}
    assert kept.news.qsize() == 3


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pki")
    issue_all(directory, node_name="n", node_address="127.0.0.1", service_address="10.96.0.1")
    return directory


def ask(port: int, authority: Path, name: str | None) -> dict[str, Any]:
    """Post a review as the API server does: verified, for the Service's name."""
    context = ssl.create_default_context(cafile=str(authority))
    context.check_hostname = name is not None
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    plain = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    plain.connect()
    assert plain.sock
    with plain.sock, context.wrap_socket(plain.sock, server_hostname=name) as connection.sock:
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u"}}
        connection.request("POST", "/validate?timeout=10s", json.dumps(review))
        found: dict[str, Any] = json.loads(connection.getresponse().read())
        return found


@pytest.mark.programs
def test_the_stub_has_a_verifiable_certificate_for_every_service_and_for_nothing_else(
    pki: Path, tmp_path: Path
) -> None:
    certificates = Certificates(tmp_path, pki / "webhook-stub-ca")
    authority = pki / "webhook-stub-ca.crt"
    server = ReviewServer(("127.0.0.1", 0), certificates.context(), answer)

    with serving(server) as port:
        for name in ("webhook.cert-manager.svc", f"{'a' * 63}.{'b' * 63}.svc", "webhook.cert-manager.svc"):
            assert ask(port, authority, name)["response"]["allowed"] is True
        for refused in ("example.org", None):
            with pytest.raises(ssl.SSLError):
                ask(port, authority, refused)
        with pytest.raises(ssl.SSLCertVerificationError):
            ask(port, pki / "ca.crt", "webhook.cert-manager.svc")


class Store:
    """In place of the API server: a Certificate of katib, and the Secret that `pair` (a path) was issued in."""

    def __init__(self, pair: Path) -> None:
        self.pair: Path | None = pair
        self.version = 1

    def request(self, method: str, path: str) -> dict[str, Any]:
        assert method == "GET"
        if path == "/apis/cert-manager.io/v1/namespaces/kubeflow/certificates/katib-webhook-cert":
            return {"spec": {"secretName": "katib-tls"}}
        assert path == "/api/v1/namespaces/kubeflow/secrets/katib-tls"
        if self.pair is None:
            message = "404: not found"
            raise RefusedError(message)
        files = {"tls.crt": self.pair.with_suffix(".crt"), "tls.key": self.pair.with_suffix(".key")}
        data = {key: base64.b64encode(file.read_bytes()).decode() for key, file in files.items()}
        return {"metadata": {"uid": "u", "resourceVersion": str(self.version)}, "data": data}


@pytest.mark.programs
def test_the_stub_serves_with_what_cert_manager_issued_as_soon_as_it_is_there(
    pki: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(pki / "placement")
    issued = IssuedPairs(store, tmp_path)  # type: ignore[arg-type]
    issued.certificates = {"katib-controller.kubeflow.svc": ("kubeflow", "katib-webhook-cert")}

    first = issued.context("katib-controller.kubeflow.svc")
    assert first is not None
    assert issued.context("katib-controller.kubeflow.svc") is first
    store.version = 2
    assert issued.context("katib-controller.kubeflow.svc") not in {first, None}
    assert issued.context("other.kubeflow.svc") is None
    store.pair = None
    assert issued.context("katib-controller.kubeflow.svc") is None
    assert "from kubeflow/katib-webhook-cert" in capsys.readouterr().out
    assert [*tmp_path.iterdir()] == []  # no private key is left there

    store.pair = pki / "placement"
    certificates = Certificates(tmp_path / "own", pki / "webhook-stub-ca", issued.context)
    server = ReviewServer(("127.0.0.1", 0), certificates.context(), answer)
    with serving(server) as port:
        with pytest.raises(ssl.SSLCertVerificationError):  # not the stub's own
            ask(port, pki / "webhook-stub-ca.crt", "katib-controller.kubeflow.svc")
        assert ask(port, pki / "webhook-stub-ca.crt", "other.kubeflow.svc")["response"]["allowed"] is True


class EnoughError(Exception):
    """Ends what would go on for ever."""


class _ApiServer(Handler):
    """A collection of one object, whose watch ends: first regularly, then because its version is too old."""

    def do_GET(self) -> None:
        if "watch=1" not in self.path:
            self._say({"items": [{"metadata": {"name": "a"}}], "metadata": {"resourceVersion": "5"}})
            return
        changed = {"type": "MODIFIED", "object": {"metadata": {"name": "a", "resourceVersion": "6"}}}
        gone = {"type": "ERROR", "object": {"code": 410}}
        self._say(changed if "resourceVersion=5" in self.path else gone)

    def do_PATCH(self) -> None:
        self.send_error(403, "not allowed")

    def _say(self, content: object) -> None:
        self.answer(json.dumps(content).encode() + b"\n")


def test_a_collection_is_followed_over_the_ends_of_watches(pki: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
    server = listen(_ApiServer, context)
    seen: list[tuple[str, str]] = []

    def see(what: str, objects: list[dict[str, Any]]) -> None:
        seen.append((what, objects[0]["metadata"]["name"]))
        if len(seen) == 4:
            raise EnoughError

    with serving(server) as port:
        api = Api(f"https://127.0.0.1:{port}", pki, "webhook-stub")
        with pytest.raises(EnoughError):
            api.follow("/x", see)
        with pytest.raises(RefusedError, match="403"):
            api.request("PATCH", "/x", [])

    assert seen == [("RESET", "a"), ("MODIFIED", "a"), ("RESET", "a"), ("MODIFIED", "a")]
