"""Which pods Istio's objects select, and which pods get a sidecar."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.mesh import (
    Mesh,
    has_sidecar,
    injectors,
    is_injected,
    is_selected,
    mesh_of,
    opts_out,
    selector_of,
)
from kubeflow_volcano.cluster.objects import Object, Ref, new_object

LABELS = {"app": "istio-ingressgateway", "istio": "ingressgateway"}


def policy(kind: str = "AuthorizationPolicy", namespace: str = "istio-system", **spec: Any) -> Object:
    return {"kind": kind, "metadata": {"namespace": namespace, "name": "a"}, "spec": spec}


def by(**labels: str) -> Object:
    return policy(selector={"matchLabels": labels})


def istiod(namespace: str = "istio-system", env: dict[str, str] | None = None, **labels: str) -> Object:
    container = {"name": "discovery", "env": [{"name": key, "value": value} for key, value in (env or {}).items()]}
    template = {"metadata": {"labels": {"app": "istiod"}}, "spec": {"containers": [container]}}
    return {"metadata": {"namespace": namespace, "name": "istiod", "labels": labels}, "spec": {"template": template}}


def test_a_policy_in_the_root_namespace_selects_pods_of_all_namespaces() -> None:
    assert is_selected(by(app="istio-ingressgateway"), "edge", LABELS, Mesh())
    assert not is_selected(by(app="istio-ingressgateway"), "edge", LABELS, Mesh(root="istio-config"))
    assert is_selected(by(app="istio-ingressgateway"), "istio-system", LABELS, Mesh(root="istio-config"))


def test_a_policy_elsewhere_selects_pods_of_its_own_namespace() -> None:
    own = policy(namespace="kubeflow", selector={"matchLabels": {"app": "istio-ingressgateway"}})
    assert not is_selected(own, "istio-system", LABELS, Mesh())
    assert is_selected(own, "kubeflow", LABELS, Mesh())


def test_all_labels_of_a_selector_must_be_there() -> None:
    assert not is_selected(by(app="istio-ingressgateway", istio="ingress"), "istio-system", LABELS, Mesh())


def test_a_gateway_selects_pods_of_all_namespaces_unless_istiod_scopes_it() -> None:
    gateway = policy("Gateway", "kubeflow", selector={"istio": "ingressgateway"})
    assert is_selected(gateway, "istio-system", LABELS, Mesh())
    assert not is_selected(gateway, "istio-system", LABELS, Mesh(scoped=True))


@pytest.mark.parametrize(
    ("obj", "labels"),
    [
        (by(app="a"), {"app": "a"}),
        (policy("EnvoyFilter", workloadSelector={"labels": {"istio": "a"}}), {"istio": "a"}),
        (policy("Gateway", selector={"istio": "a"}), {"istio": "a"}),
        (policy("RequestAuthentication", selector={"matchLabels": {"app": "a"}}), {"app": "a"}),
        (policy(), {}),
        (policy(selector={"matchLabels": {"app": "a"}}, targetRefs=[{"kind": "Gateway", "name": "g"}]), {}),
    ],
)
def test_each_kind_has_its_selector_elsewhere_and_targets_stand_in_for_it(obj: Object, labels: dict[str, str]) -> None:
    assert selector_of(obj) == labels


def test_the_mesh_is_read_from_the_configuration_of_its_revision() -> None:
    config = {
        Ref("v1", "ConfigMap", "mesh", "istio-1-24"): {"data": {"mesh": yaml.safe_dump({"rootNamespace": "policies"})}}
    }
    plane = istiod("mesh", {"PILOT_SCOPE_GATEWAY_TO_NAMESPACE": "true"}, **{"istio.io/rev": "1-24"})
    assert mesh_of([plane], config.get) == Mesh("policies", scoped=True)


@pytest.mark.parametrize("text", ["", "{", "- a", "rootNamespace: 1"])
def test_a_configuration_that_says_nothing_leaves_the_defaults(text: str) -> None:
    assert mesh_of([istiod()], lambda _: {"data": {"mesh": text}}) == Mesh()


def hook(name: str, namespaces: Object, objects: Object | None = None) -> Object:
    found = {"name": name, "clientConfig": {}, "namespaceSelector": namespaces, "objectSelector": objects or {}}
    kind = "MutatingWebhookConfiguration"
    return new_object("admissionregistration.k8s.io/v1", kind, "istio-sidecar-injector", webhooks=[found])


def space(**labels: str) -> Object:
    return {"metadata": {"name": "kubeflow", "labels": labels}}


def test_an_injector_chooses_namespaces_as_its_selectors_say() -> None:
    by_revision = injectors(
        [hook("rev.namespace.sidecar-injector.istio.io", {"matchLabels": {"istio.io/rev": "1-24"}})]
    )
    by_label = injectors([hook("namespace.sidecar-injector.istio.io", {"matchLabels": {"istio-injection": "enabled"}})])
    enabled = space(**{"istio-injection": "enabled"})
    assert not is_injected({}, enabled, by_revision)
    assert is_injected({}, enabled, by_label)
    assert injectors([hook("webhook.cert-manager.io", {})]) == ()


@pytest.mark.parametrize(
    ("meta", "spec", "out"),
    [
        ({}, {}, False),
        ({"labels": {"sidecar.istio.io/inject": "false"}}, {}, True),
        ({"annotations": {"sidecar.istio.io/inject": "False"}}, {}, True),
        (
            {"labels": {"sidecar.istio.io/inject": "true"}, "annotations": {"sidecar.istio.io/inject": "false"}},
            {},
            False,
        ),
        ({"labels": None}, {"hostNetwork": True}, True),
    ],
)
def test_a_pod_opts_out_by_label_before_annotation_or_by_the_network_of_its_host(
    meta: Any, spec: Any, *, out: bool
) -> None:
    assert opts_out(meta, spec) is out


def test_a_native_sidecar_is_one() -> None:
    assert has_sidecar({"containers": [{"name": "a"}], "initContainers": [{"name": "istio-proxy"}]})
    assert not has_sidecar({"containers": [{"name": "a"}], "initContainers": None})
