"""E10 and E11 on literal facts: selectors that find no pod, an unguarded gateway, pods without a sidecar."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.cluster.mesh import Mesh
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.network.mesh import ANNOUNCING, MESH, policies_select_pods, sidecars_injected
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Status
from tests.samples.facts import facts, obj, pod

SIGN_IN = Ref("security.istio.io/v1beta1", "AuthorizationPolicy", "istio-system", "sign-in")
GATEWAY = Ref("networking.istio.io/v1beta1", "Gateway", "kubeflow", "kubeflow-gateway")
OTHER = Ref("security.istio.io/v1beta1", "AuthorizationPolicy", "kubeflow", "katib-ui")
DASHBOARD = Ref("apps/v1", "Deployment", "kubeflow", "centraldashboard")
BOTH = {"app": "istio-ingressgateway", "istio": "ingressgateway"}
HALF = {"istio": "ingressgateway"}
EXPECTED = Expectations(
    components=frozenset({"istio", "istio-crds"}),
    policies={SIGN_IN: "oauth2-proxy", GATEWAY: "kubeflow-istio-resources", OTHER: "katib"},
    injected=frozenset({"kubeflow"}),
    namespaces=frozenset({"kubeflow", "istio-system"}),
    workloads={DASHBOARD: "centraldashboard"},
)


def policy(ref: Ref = SIGN_IN, action: str = "CUSTOM", **labels: str) -> Object:
    spec = {"action": action, "selector": {"matchLabels": labels or {"app": "istio-ingressgateway"}}}
    return obj(ref.kind, f"{ref.namespace}/{ref.name}", spec=spec)


def gateway() -> Object:
    return obj("Gateway", f"{GATEWAY.namespace}/{GATEWAY.name}", spec={"selector": HALF})


def proxy(name: str, labels: dict[str, str], **more: Any) -> Object:
    return pod(name, metadata={"labels": labels}, spec={"containers": [{"name": "istio-proxy"}]}, **more)


def asked(*objects: Object, mesh: Mesh = Mesh(), **expected: Any) -> Outcome:  # noqa: B008  it is frozen
    found = replace(facts(*objects), expectations=replace(EXPECTED, **expected))
    return policies_select_pods(replace(found, found={**found.found, MESH: mesh}))


def test_a_gateway_with_both_labels_is_guarded() -> None:
    outcome = asked(gateway(), policy(), proxy("istio-system/gw", BOTH))
    assert outcome.status is Status.PASS
    assert set(outcome.objects) == {SIGN_IN, GATEWAY}


def test_a_gateway_with_the_label_of_the_gateway_alone_is_open() -> None:
    outcome = asked(gateway(), policy(), proxy("edge/gw", HALF))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "SelectsNothing")
    assert outcome.objects == (SIGN_IN,)
    assert "without a login" in outcome.message


def test_a_second_gateway_is_open() -> None:
    outcome = asked(gateway(), policy(), proxy("istio-system/gw", BOTH), proxy("edge/gw", HALF))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "GatewayUnguarded")
    assert "Pod edge/gw" in outcome.message


@pytest.mark.parametrize(
    ("host", "gateways", "open_"),
    [
        ("centraldashboard.kubeflow.svc.cluster.local", ["edge/public"], True),
        ("centraldashboard", ["public"], False),
        ("grafana.kubeflow", ["edge/public"], False),
        ("centraldashboard.kubeflow", ["mesh"], False),
    ],
)
def test_another_gateway_that_a_route_to_the_dashboard_names_is_guarded_too(
    host: str,
    gateways: list[str],
    open_: bool,  # noqa: FBT001  a row of the table
) -> None:
    destination = {"http": [{"route": [{"destination": {"host": host}}]}]}
    route = {"metadata": {"namespace": "kubeflow"}, "spec": {"gateways": gateways, **destination}}
    cluster: Any = SimpleNamespace(list=lambda *_: SimpleNamespace(items=(route, {"metadata": {"namespace": "odd"}})))
    public = obj("Gateway", "edge/public", spec={"selector": {"istio": "public"}})
    objects = (gateway(), public, policy(), proxy("istio-system/gw", BOTH), proxy("edge/gw", {"istio": "public"}))
    found = replace(facts(*objects), expectations=EXPECTED)
    names = ANNOUNCING.fetch(cluster, found)
    outcome = policies_select_pods(replace(found, found={**found.found, MESH: Mesh(), ANNOUNCING: names}))
    assert (outcome.reason == "GatewayUnguarded") is open_
    assert outcome.status is (Status.FAIL if open_ else Status.PASS)


def test_a_policy_without_selector_guards_its_namespace_alone_unless_that_is_the_root() -> None:
    whole = {**policy(), "spec": {"action": "CUSTOM"}}
    outside = (gateway(), whole, proxy("edge/gw", BOTH))
    assert asked(*outside).status is Status.PASS
    assert asked(*outside, mesh=Mesh(root="istio-config")).reason == "GatewayUnguarded"


def test_a_sign_in_that_is_gone_is_open() -> None:
    serving = (gateway(), proxy("istio-system/gw", BOTH))
    assert asked(*serving).reason == "Missing"
    assert asked(*serving, existing=frozenset({"oauth2-proxy"})).status is Status.PASS


def test_the_root_namespace_decides_which_namespaces_a_policy_reaches() -> None:
    outside = (gateway(), policy(), proxy("edge/gw", BOTH))
    assert asked(*outside).status is Status.PASS
    assert asked(*outside, mesh=Mesh(root="istio-config")).reason == "SelectsNothing"


def test_an_allowing_policy_without_pods_is_a_warning() -> None:
    idle = policy(OTHER, "ALLOW", app="katib-ui")
    outcome = asked(gateway(), policy(), proxy("istio-system/gw", BOTH), idle)
    assert (outcome.status, outcome.reason) == (Status.WARN, "SelectsNothing")


def test_a_policy_that_names_its_targets_is_not_judged_by_labels() -> None:
    named = policy()
    named["spec"] = {"action": "CUSTOM", "targetRefs": [{"kind": "Gateway", "name": "g"}]}
    assert asked(gateway(), named, proxy("edge/gw", HALF)).status is Status.PASS


def test_pods_that_have_ended_count_for_nothing() -> None:
    outcome = asked(gateway(), policy(), proxy("istio-system/gw", BOTH, status={"phase": "Failed"}))
    assert outcome.reason == "SelectsNothing"


def test_without_istio_there_is_nothing_to_judge() -> None:
    assert asked(components=frozenset({"volcano"})).reason == "NotExpected"
    assert asked().reason == "NotInstalled"


def injector(**labels: str) -> Object:
    hook = {"name": "namespace.sidecar-injector.istio.io", "clientConfig": {}}
    hook |= {"namespaceSelector": {"matchLabels": labels}}
    return obj("MutatingWebhookConfiguration", "istio-sidecar-injector", webhooks=[hook])


def space(name: str = "kubeflow", **labels: str) -> Object:
    return obj("Namespace", name, metadata={"labels": labels})


def dashboard(**meta: Any) -> Object:
    return obj("Deployment", "kubeflow/centraldashboard", spec={"template": {"metadata": meta, "spec": {}}})


def its_pod(*names: str) -> Object:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "centraldashboard-1", "controller": True}
    meta = {"ownerReferences": [owner], "labels": {"pod-template-hash": "1"}}
    return pod("kubeflow/centraldashboard-1-a", metadata=meta, spec={"containers": [{"name": item} for item in names]})


ENABLED = {"istio-injection": "enabled"}


def judge(*objects: Object, **expected: Any) -> Outcome:
    found: Facts = replace(facts(*objects), expectations=replace(EXPECTED, **expected))
    return sidecars_injected(found)


def test_a_namespace_that_injects_and_a_pod_with_a_sidecar_pass() -> None:
    outcome = judge(injector(**ENABLED), space(**ENABLED), dashboard(), its_pod("a", "istio-proxy"))
    assert (outcome.status, outcome.objects) == (Status.PASS, (DASHBOARD,))


@pytest.mark.parametrize("labels", [{}, {"istio-injection": "disabled"}])
def test_a_namespace_that_lost_its_label_fails_while_its_pods_still_have_sidecars(labels: dict[str, str]) -> None:
    outcome = judge(injector(**ENABLED), space(**labels), dashboard(), its_pod("a", "istio-proxy"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NotInjected")
    assert outcome.changes == ("kubectl label namespace kubeflow istio-injection=enabled --overwrite",)


def test_an_injector_that_does_not_choose_the_namespace_fails() -> None:
    outcome = judge(injector(**{"istio.io/rev": "1-24"}), space(**ENABLED), dashboard(), its_pod("istio-proxy"))
    assert (outcome.status, outcome.reason, outcome.changes) == (Status.FAIL, "NotChosen", ())


def test_a_pod_without_a_sidecar_has_to_be_created_again() -> None:
    outcome = judge(injector(**ENABLED), space(**ENABLED), dashboard(), its_pod("a"))
    assert (outcome.status, outcome.reason) == (Status.FAIL, "NoSidecar")
    assert outcome.changes == ("kubectl -n kubeflow rollout restart deployment/centraldashboard",)


def test_a_workload_that_opts_out_needs_none() -> None:
    out = dashboard(labels={"sidecar.istio.io/inject": "false"})
    assert judge(injector(**ENABLED), space(), out, its_pod("a")).reason == "NotExpected"


def test_a_profile_without_injection_is_a_warning() -> None:
    profile = space("ada", **{"app.kubernetes.io/part-of": "kubeflow-profile"})
    outcome = judge(injector(**ENABLED), space(**ENABLED), dashboard(), its_pod("istio-proxy"), profile)
    assert (outcome.status, outcome.reason) == (Status.WARN, "NotInjected")


def test_where_no_mesh_is_expected_or_there_nothing_is_judged() -> None:
    without = frozenset({"istio-crds"})
    assert judge(space(**ENABLED), dashboard(), its_pod("a"), components=without).reason == "NotExpected"
    assert judge(space(**ENABLED), dashboard(), its_pod("a")).status is Status.FAIL


def test_without_components_that_need_istio_the_mesh_is_not_asked_for() -> None:
    """Its ConfigMap is not among the rights of such a run."""
    cluster: Any = None
    assert MESH.fetch(cluster, facts()) == MESH.default
