"""What objects use of a component of others by name and by setting."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.rollout.existing.uses import missing_uses, wrong_modes
from tests.samples.stored import Stored

RELEASE = read.load_release("1.9.1")
SERVICE = Ref("v1", "Service", "istio-system", "istio-ingressgateway")
GATEWAY = Ref("networking.istio.io/v1beta1", "Gateway", "knative-serving", "knative-local-gateway")
ACCOUNT = Ref("v1", "ServiceAccount", "istio-system", "istio-ingressgateway-service-account")
ISSUER = Ref("cert-manager.io/v1", "ClusterIssuer", "", "kubeflow-self-signing-issuer")


def obj(ref: Ref, **more: Any) -> Object:
    return new_object(ref.api_version, ref.kind, ref.name, ref.namespace, **more)


def config(text: str, key: str = "a", name: str = "c", namespace: str = "kubeflow") -> Object:
    return obj(Ref("v1", "ConfigMap", namespace, name), data={key: text})


def missing(ref: Ref, *objects: Object, live: Sequence[Object] = (), accounts: Sequence[tuple[str, str]] = ()) -> bool:
    cluster: Any = Stored(*live)
    part = RELEASE.components["istio"]
    found = [*missing_uses(cluster, part, [obj(ref)], objects, frozenset(accounts))]
    assert all(str(ref) in problem.found for problem in found)
    return bool(found)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (SERVICE, "gateway: istio-ingressgateway.istio-system.svc.cluster.local"),
        (SERVICE, "http://istio-ingressgateway.istio-system:80/"),
        (SERVICE, "line\nistio-ingressgateway.istio-system"),
        (GATEWAY, '{"localGateway": "knative-serving/knative-local-gateway"}'),
        (ACCOUNT, "cluster.local/ns/istio-system/sa/istio-ingressgateway-service-account"),
    ],
)
def test_what_objects_name_must_be_there(ref: Ref, text: str) -> None:
    assert missing(ref, config(text))
    accounts = [(ref.namespace, ref.name)] if ref.kind == "ServiceAccount" else []
    assert not missing(ref, config(text), live=[obj(ref)], accounts=accounts)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        (SERVICE, "other-istio-ingressgateway.istio-system.svc"),
        (SERVICE, "istio-ingressgateway.istio-system.example.com"),
        (GATEWAY, "knative-serving/knative-local-gateway-2"),
        (ACCOUNT, "/ns/istio-system/sa/istio-ingressgateway-service-account-2"),
    ],
)
def test_other_names_are_no_use(ref: Ref, text: str) -> None:
    assert not missing(ref, config(text))


def test_what_only_documents_a_setting_is_no_use() -> None:
    assert not missing(SERVICE, config("istio-ingressgateway.istio-system.svc", "_example"))


def test_a_certificate_names_its_issuer() -> None:
    place = Ref("cert-manager.io/v1", "Certificate", "kubeflow", "katib")
    assert missing(ISSUER, obj(place, spec={"issuerRef": {"kind": "ClusterIssuer", "name": ISSUER.name}}))
    assert not missing(ISSUER, obj(place, spec={"issuerRef": {"name": ISSUER.name}}))


def modes(live: Sequence[Object], deploy: str = '{"defaultDeploymentMode": "Serverless"}') -> list[str]:
    cluster: Any = Stored(*live)
    parts = {"kserve": (config(deploy, "deploy", "inferenceservice-config"),)}
    return [str(problem) for problem in wrong_modes(cluster, [RELEASE.components["knative-serving"]], parts)]


def network(**data: str) -> list[Object]:
    return [obj(Ref("v1", "ConfigMap", "knative-serving", "config-network"), data=data)]


def test_a_knative_with_another_ingress_class_does_not_fit_kserve() -> None:
    (problem,) = modes(network(**{"ingress-class": "kourier.ingress.networking.knative.dev"}))
    assert "kourier.ingress.networking.knative.dev" in problem
    assert modes(network(**{"ingress.class": "kourier.ingress.networking.knative.dev"}))


@pytest.mark.parametrize("data", [{}, {"ingress-class": "istio.ingress.networking.knative.dev"}])
def test_a_knative_with_istio_fits(data: dict[str, str]) -> None:
    assert modes(network(**data)) == []


def test_kserve_without_knative_needs_no_ingress_class() -> None:
    other = network(**{"ingress-class": "kourier.ingress.networking.knative.dev"})
    assert modes(other, json.dumps({"defaultDeploymentMode": "RawDeployment"})) == []
    assert modes(other, "no json") != []
