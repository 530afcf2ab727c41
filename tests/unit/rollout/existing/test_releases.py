"""What releases need of an existing Istio is derived from their manifests: their own Istio fits, others do not."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest

from kubeflow_volcano.catalog.existing.modes import modes
from kubeflow_volcano.cluster.mesh import Mesh
from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.rollout.existing.mesh import Found, unfit_mesh
from kubeflow_volcano.rollout.existing.presence import WORKLOADS
from kubeflow_volcano.rollout.existing.uses import missing_uses, wrong_modes
from tests.samples.stored import Stored
from tests.unit.releases import Upstream, WholeRelease

SIGN_IN_BY_POLICY = ("1.9.1", "26.03")
"""Before, an EnvoyFilter that selects by the same label as the Gateway sent people to the login."""
KINDS = {kind for _, kind in WORKLOADS}


def beside(upstream: Upstream, *existing: str) -> tuple[list[Object], list[Object]]:
    """The objects of the others, and those of the existing ones."""
    objects = [obj for name, found in upstream.parts.items() if name not in existing for obj in found]
    return objects, [obj for name in existing for obj in upstream.parts[name]]


@pytest.fixture(scope="module", params=["1.6.1", "1.9.1", "26.03"])
def upstream(request: pytest.FixtureRequest, whole_release: WholeRelease) -> Upstream:
    """The example of each release in turn."""
    return whole_release(request.param).example


def unfit(upstream: Upstream, live: Sequence[Object], configurations: Sequence[Object] | None = None) -> list[str]:
    objects, manifests = beside(upstream, "istio")
    spaces = {obj["metadata"]["name"]: obj for obj in [*objects, *manifests] if obj["kind"] == "Namespace"}
    if configurations is None:
        configurations = [obj for obj in manifests if obj["kind"] == "MutatingWebhookConfiguration"]
    return [str(problem) for problem in unfit_mesh(objects, manifests, Found(live, configurations, Mesh(), spaces))]


def own_gateway(upstream: Upstream, **changes: Any) -> list[Object]:
    """The workloads of the release's own Istio, with its gateway changed."""
    live = copy.deepcopy([obj for obj in upstream.parts["istio"] if obj["kind"] in KINDS])
    (gateway,) = [obj for obj in live if obj["metadata"]["name"] == "istio-ingressgateway"]
    gateway["spec"]["template"]["metadata"]["labels"] |= changes
    return live


@pytest.mark.upstream
def test_the_releases_own_istio_fits(upstream: Upstream) -> None:
    assert unfit(upstream, own_gateway(upstream)) == []


@pytest.mark.upstream
def test_a_gateway_with_the_label_of_the_gateway_alone_leaves_the_sign_in_open(upstream: Upstream) -> None:
    found = unfit(upstream, own_gateway(upstream, app="own-gateway"))
    if upstream.given.release.version in SIGN_IN_BY_POLICY:
        (problem,) = found
        for name in ("istio-ingressgateway-oauth2-proxy", "istio-ingressgateway-require-jwt", "dex-jwt"):
            assert name in problem
    else:
        assert found == []


@pytest.mark.upstream
def test_a_gateway_of_the_chart_serves_nothing(upstream: Upstream) -> None:
    found = unfit(upstream, own_gateway(upstream, app="gateway", istio="ingress"))
    assert any("Gateway kubeflow/kubeflow-gateway" in problem for problem in found)


@pytest.mark.upstream
def test_an_istio_without_the_default_revision_injects_nothing(upstream: Upstream) -> None:
    found = unfit(upstream, own_gateway(upstream), [])
    assert any("no sidecar" in problem and " kubeflow " in problem for problem in found)


@pytest.mark.upstream
def test_what_components_use_of_each_other_is_in_their_own_manifests(upstream: Upstream) -> None:
    for name in upstream.parts:
        objects, manifests = beside(upstream, name)
        workloads = [obj for obj in manifests if obj["kind"] in KINDS]
        accounts = frozenset(
            (obj["metadata"]["namespace"], obj["spec"]["template"]["spec"].get("serviceAccountName", "default"))
            for obj in workloads
        )
        cluster: Any = Stored(*manifests)
        part = upstream.given.release.components[name]
        assert [*missing_uses(cluster, part, manifests, objects, accounts)] == [], name
        assert [*wrong_modes(cluster, [part], {"kserve": upstream.parts["kserve"]})] == [], name


@pytest.mark.upstream
def test_an_istio_with_other_names_is_missed_by_those_who_name_it(upstream: Upstream) -> None:
    objects, manifests = beside(upstream, "istio")
    cluster: Any = Stored()
    part = upstream.given.release.components["istio"]
    found = " ".join(map(str, missing_uses(cluster, part, manifests, objects, frozenset())))
    assert "Service istio-system/istio-ingressgateway" in found
    assert "ServiceAccount istio-system/istio-ingressgateway-service-account" in found


@pytest.mark.upstream
def test_kserve_does_not_fit_a_knative_with_kourier(upstream: Upstream) -> None:
    (mode,) = modes()
    data = {"ingress-class": "kourier.ingress.networking.knative.dev"}
    config = new_object("v1", "ConfigMap", mode.config_map.name, mode.config_map.namespace, data=data)
    cluster: Any = Stored(config)
    part = upstream.given.release.components["knative-serving"]
    assert [*wrong_modes(cluster, [part], {"kserve": upstream.parts["kserve"]})]
