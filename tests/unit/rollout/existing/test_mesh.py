"""An Istio of others fits only with the labels, the guards and the injector that the release's own has."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from kubeflow_volcano.cluster.mesh import Mesh
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.rollout.existing.mesh import Found, unfit_mesh

BOTH = {"app": "istio-ingressgateway", "istio": "ingressgateway"}


def obj(kind: str, name: str, namespace: str = "", **more: Any) -> Object:
    return new_object("v1", kind, name, namespace, **more)


def workload(name: str, namespace: str, labels: Mapping[str, str], **spec: Any) -> Object:
    template = {"metadata": {"labels": dict(labels)}, "spec": {"containers": [], **spec}}
    return obj("Deployment", name, namespace, spec={"template": template})


def pod(name: str, namespace: str, labels: Mapping[str, str], phase: str = "Running") -> Object:
    found = obj("Pod", name, namespace, spec={"containers": []}, status={"phase": phase})
    found["metadata"]["labels"] = dict(labels)
    return found


def policy(action: str, name: str = "sign-in", **labels: str) -> Object:
    return obj(
        "AuthorizationPolicy", name, "istio-system", spec={"action": action, "selector": {"matchLabels": labels}}
    )


def injector(**labels: str) -> Object:
    hook = {
        "name": "namespace.sidecar-injector.istio.io",
        "clientConfig": {},
        "namespaceSelector": {"matchLabels": labels},
    }
    return obj("MutatingWebhookConfiguration", "istio-sidecar-injector", webhooks=[hook])


GATEWAY = obj("Gateway", "kubeflow-gateway", "kubeflow", spec={"selector": {"istio": "ingressgateway"}})
SIGN_IN = policy("CUSTOM", app="istio-ingressgateway")
DASHBOARD = workload("centraldashboard", "kubeflow", {"app": "centraldashboard"})
SPACE = obj("Namespace", "kubeflow")
SPACE["metadata"]["labels"] = {"istio-injection": "enabled"}
MANIFESTS = [workload("istio-ingressgateway", "istio-system", BOTH)]
OBJECTS = [GATEWAY, SIGN_IN, DASHBOARD]
INJECTOR = injector(**{"istio-injection": "enabled"})


def unfit(
    *live: Object,
    objects: Sequence[Object] = OBJECTS,
    configurations: Iterable[Object] = (INJECTOR,),
    mesh: Mesh = Mesh(),  # noqa: B008  it is frozen
) -> list[str]:
    found = Found(live, [*configurations], mesh, {"kubeflow": SPACE})
    return [str(problem) for problem in unfit_mesh(objects, MANIFESTS, found)]


def test_an_istio_as_the_releases_own_fits() -> None:
    assert unfit(pod("gateway-1", "istio-system", BOTH)) == []
    assert unfit(workload("gateway", "istio-system", BOTH)) == []  # it may have no pod just now


def test_a_gateway_of_the_chart_has_neither_label() -> None:
    problems = unfit(pod("gateway-1", "istio-ingress", {"istio": "ingress"}))
    assert [text for text in problems if "app: istio-ingressgateway" in text and "without a login" in text]
    assert [
        text for text in problems if "istio: ingressgateway" in text and "Gateway kubeflow/kubeflow-gateway" in text
    ]


def test_a_gateway_with_the_label_of_the_gateway_alone_is_open() -> None:
    (problem,) = unfit(pod("gateway-1", "edge", {"istio": "ingressgateway"}))
    assert "AuthorizationPolicy istio-system/sign-in" in problem
    assert "without a login" in problem


def test_a_second_gateway_that_the_sign_in_does_not_select_is_open() -> None:
    live = pod("one", "istio-system", BOTH), pod("two", "edge", {"istio": "ingressgateway"})
    (problem,) = unfit(*live)
    assert "two in edge" in problem
    assert "Pod one" not in problem


def test_the_sign_in_on_pods_that_serve_nothing_of_kubeflow_guards_nothing() -> None:
    live = pod("one", "istio-system", {"app": "istio-ingressgateway"}), pod("two", "edge", {"istio": "ingressgateway"})
    (problem,) = unfit(*live)
    assert "two in edge" in problem


def test_what_an_allowing_policy_does_not_select_is_not_open() -> None:
    live = pod("one", "istio-system", BOTH), pod("two", "edge", {"istio": "ingressgateway"})
    assert unfit(*live, objects=[GATEWAY, policy("ALLOW", app="istio-ingressgateway")]) == []


def test_policies_of_another_root_namespace_reach_their_own_namespace_alone() -> None:
    outside = pod("gateway-1", "edge", BOTH)
    assert unfit(outside) == []
    (problem,) = unfit(outside, mesh=Mesh(root="istio-config"))
    assert "in namespace istio-system" in problem


def test_pods_that_have_ended_serve_nothing() -> None:
    assert len(unfit(pod("gateway-1", "istio-system", BOTH, "Failed"))) == 2


def test_an_injector_of_a_revision_does_not_choose_the_namespaces_of_the_release() -> None:
    gateway = pod("gateway-1", "istio-system", BOTH)
    (problem,) = unfit(gateway, configurations=[injector(**{"istio.io/rev": "1-24"})])
    assert "Deployment kubeflow/centraldashboard" in problem
    assert "tag set default --revision 1-24" in problem
    (problem,) = unfit(gateway, configurations=[])
    assert "Its webhooks: none" in problem


@pytest.mark.parametrize("more", [{"labels": {"sidecar.istio.io/inject": "false"}}, {"hostNetwork": True}])
def test_workloads_that_ask_for_no_sidecar_need_no_injector(more: dict[str, Any]) -> None:
    out = copy.deepcopy(DASHBOARD)
    template = out["spec"]["template"]
    template["metadata"]["labels"] |= more.get("labels", {})
    template["spec"] |= {key: value for key, value in more.items() if key != "labels"}
    assert unfit(pod("gateway-1", "istio-system", BOTH), objects=[out], configurations=[]) == []
