"""Components that others installed, on a real cluster: refused, left untouched byte for byte, or taken over."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, parse
from kubeflow_volcano.cluster.mesh import SELECTING
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.existing.needs import unmet_needs
from kubeflow_volcano.rollout.requirements.cluster_domain import unmet_domain
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.settings import parse as parse_settings
from kubeflow_volcano.validators.run.runner import Options, validate
from tests.integration.breaking import patched, space, vanish
from tests.integration.rolling import own_sources
from tests.integration.test_rehearsal_full import ARCHIVE
from tests.waiting import at_last, until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

THEIRS, OURS = "istio-crds", "kubeflow-istio-resources"
GUARDED = ("kubeflow-istio-resources", "oauth2-proxy")
GATEWAY = Ref("apps/v1", "Deployment", "istio-system", "istio-ingressgateway")
KUBECTL = "kubectl-client-side-apply"
COREFILE = Ref("v1", "ConfigMap", "kube-system", "coredns")
CONFIGURATION = Ref("v1", "ConfigMap", "volcano-system", "volcano-scheduler-configmap")


@pytest.fixture
def variables(kubeconfig: Path) -> dict[str, Any]:
    if not ARCHIVE.is_file():
        pytest.skip(f"{ARCHIVE} is not there")
    sources = own_sources(kubeconfig) | {"kubeflow_source": str(ARCHIVE)}
    return {**sources, "kubeflow_sources": {}, "kubeflow_components": [OURS]}


@pytest.fixture
def planted(cluster: Cluster, variables: dict[str, Any]) -> Iterator[dict[Ref, Object]]:
    """Istio's CRDs of another version as others applied them with kubectl; what the test leaves is removed."""
    settings = parse_settings(variables)
    components = [settings.component(name) for name in (THEIRS, "kubeflow-namespace", OURS)]
    parts = desired(settings, components, silent).parts
    assert not any(cluster.get(Ref.of(obj)) for obj in (*parts[THEIRS], *parts[OURS])), "a cluster without Istio"
    had = cluster.get(Ref("v1", "Namespace", "", "kubeflow"))
    for obj in map(copy.deepcopy, parts[THEIRS]):
        obj["metadata"]["labels"] = {"app.kubernetes.io/version": "1.99.0", "of-others": "left"}
        obj["spec"]["names"]["categories"] = ["of-others"]
        cluster.apply(obj, manager=KUBECTL)
    refs = [Ref.of(obj) for obj in parts[THEIRS]]
    until(lambda: all(_established(cluster.get(ref)) for ref in refs), 60)
    yield {ref: cluster.get(ref) or {} for ref in refs}
    everything = [*parts[OURS], *parts[THEIRS], *(() if had else parts["kubeflow-namespace"])]
    for obj in everything:
        if live := cluster.get(Ref.of(obj)):
            cluster.delete(Ref.of(obj), uid=live["metadata"]["uid"])
    until(lambda: not any(cluster.get(Ref.of(obj)) for obj in everything), 120)


def _established(crd: Object | None) -> bool:
    conditions = ((crd or {}).get("status") or {}).get("conditions") or ()
    return any(item["type"] == "Established" and item["status"] == "True" for item in conditions)


def roll(cluster: Cluster, variables: dict[str, Any], *, check: bool = False, **more: Any) -> ApplyResult:
    settings = parse_settings(variables | more)
    return run.roll_out(cluster, settings, Scope(settings.components), check=check, progress=silent)


def labels_of(obj: Object | None) -> set[str]:
    return set(((obj or {}).get("metadata") or {}).get("labels") or ())


def live(cluster: Cluster, planted: dict[Ref, Object]) -> dict[Ref, Object]:
    return {ref: cluster.get(ref) or {} for ref in planted}


def test_a_component_of_others_is_refused_left_untouched_or_taken_over(
    cluster: Cluster, variables: dict[str, Any], planted: dict[Ref, Object]
) -> None:
    with pytest.raises(InvalidInput) as refused:
        roll(cluster, variables)
    (problem,) = refused.value.problems
    assert f"{THEIRS} 1.99.0 (field manager {KUBECTL}: {len(planted)})" in problem.found
    assert f"kubeflow_existing: [{THEIRS}]" in problem.todo
    assert f"kubeflow_adopt: [{THEIRS}]" in problem.todo
    assert live(cluster, planted) == planted
    gateway = Ref("networking.istio.io/v1beta1", "Gateway", "kubeflow", "kubeflow-gateway")
    assert cluster.get(gateway) is None

    left = roll(cluster, variables, kubeflow_existing=[THEIRS])
    assert not left.problems
    assert live(cluster, planted) == planted
    assert cluster.get(gateway)
    assert not roll(cluster, variables, kubeflow_existing=[THEIRS]).changed

    foretold = roll(cluster, variables, check=True, kubeflow_adopt=[THEIRS])
    changes = {item["before_header"] for item in foretold.diff()}
    assert {str(ref) for ref in planted} <= changes
    planned = {item.ref: item for item in foretold.outcomes if item.ref in planted}
    assert all("of-others" in labels_of(item.before) - labels_of(item.after) for item in planned.values())
    assert live(cluster, planted) == planted

    taken = roll(cluster, variables, kubeflow_adopt=[THEIRS])
    assert not taken.problems
    assert {item.ref for item in taken.outcomes if item.action is Action.CHANGED} >= planted.keys()
    after = live(cluster, planted)
    assert {ref: obj["metadata"]["uid"] for ref, obj in after.items()} == {
        ref: obj["metadata"]["uid"] for ref, obj in planted.items()
    }
    assert not any("of-others" in labels_of(obj) for obj in after.values()), "what only the others declared"
    recorded = parse((cluster.get(APPLIED_OBJECTS) or {})["data"][THEIRS])
    assert planted.keys() <= recorded.objects.keys()
    assert not roll(cluster, variables, kubeflow_adopt=[THEIRS]).changed
    assert not roll(cluster, variables).changed


def test_an_existing_volcano_must_make_gangs(cluster: Cluster, variables: dict[str, Any]) -> None:
    settings = parse_settings(variables | {"kubeflow_existing": ["volcano"]})
    assert [*unmet_needs(cluster, settings, {}, {}, silent)] == []
    before = cluster.get(CONFIGURATION) or {}
    text = before["data"]["volcano-scheduler.conf"]
    cluster.patch(CONFIGURATION, {"data": {"volcano-scheduler.conf": text.replace("name: gang", "name: gnag")}})
    try:
        (problem,) = unmet_needs(cluster, settings, {}, {}, silent)
        assert "plugin gang" in problem.found
    finally:
        cluster.patch(CONFIGURATION, {"data": {"volcano-scheduler.conf": text}})


def test_a_cluster_of_another_domain_is_refused_until_its_dns_has_a_second_zone(
    cluster: Cluster, variables: dict[str, Any]
) -> None:
    settings = parse_settings(variables | {"kubeflow_components": ["dex"]})
    parts = desired(settings, [settings.component("dex")], silent).parts
    assert [*unmet_domain(cluster, parts, silent)] == []
    text = (cluster.get(COREFILE) or {})["data"]["Corefile"]
    with patched(cluster, COREFILE) as change:
        change({"data": {"Corefile": text.replace("kubernetes cluster.local", "kubernetes k8s.corp")}})
        with pytest.raises(InvalidInput) as refused:
            roll(cluster, variables, check=True, kubeflow_components=["dex"])
        (problem,) = [item for item in refused.value.problems if "k8s.corp" in item.found]
        assert "cluster.local" in problem.needed
        change({"data": {"Corefile": text.replace("kubernetes cluster.local", "kubernetes k8s.corp cluster.local")}})
        assert [*unmet_domain(cluster, parts, silent)] == []


def unselected(problems: Sequence[Problem]) -> list[str]:
    return [item.found for item in problems if "does not fit" in item.found or "does not select" in item.found]


def refused(cluster: Cluster, variables: dict[str, Any], **more: Any) -> Sequence[Problem]:
    """Why a check of the roll-out is refused."""
    try:
        return roll(cluster, variables, check=True, **more).problems
    except InvalidInput as error:
        return error.problems


def gateway(objects: Sequence[Object], **labels: str) -> Object:
    """The Deployment of the release's gateway, with other labels of its pods."""
    (found,) = [copy.deepcopy(obj) for obj in objects if Ref.of(obj) == GATEWAY]
    template = found["spec"]["template"]["metadata"]
    template["labels"] = {**template["labels"], **labels}
    found["spec"]["selector"]["matchLabels"] |= labels
    return found


@pytest.fixture
def mesh(cluster: Cluster, variables: dict[str, Any]) -> Iterator[Mapping[str, tuple[Object, ...]]]:
    """The release's Istio as others applied it with kubectl, and what guards it; pods of it are simulated."""
    settings = parse_settings(variables | {"kubeflow_components": [*GUARDED, "istio"]})
    parts = desired(settings, settings.components, silent).parts
    had = {Ref.of(obj) for objects in parts.values() for obj in objects if cluster.get(Ref.of(obj))}
    for name in (THEIRS, "istio-namespace"):
        for obj in parts[name]:
            cluster.apply(obj, manager=KUBECTL)
    until(lambda: all(_established(cluster.get(Ref.of(obj))) for obj in parts[THEIRS]), 60)
    for obj in parts["istio"]:
        if Ref.of(obj) != GATEWAY:
            cluster.apply(obj, manager=KUBECTL)
    yield parts
    everything = [obj for name in ("istio", *GUARDED, "istio-namespace", THEIRS) for obj in parts[name]]
    for obj in everything:
        if (live := cluster.get(Ref.of(obj))) and Ref.of(obj) not in had:
            cluster.delete(Ref.of(obj), uid=live["metadata"]["uid"])
    until(lambda: not any(cluster.get(Ref.of(obj)) for obj in everything if Ref.of(obj) not in had), 120)


@pytest.mark.long
def test_an_istio_of_others_has_to_fit_before_the_first_change_and_later(
    kubeconfig: Path, cluster: Cluster, variables: dict[str, Any], mesh: Mapping[str, tuple[Object, ...]]
) -> None:
    chosen = {"kubeflow_components": [*GUARDED], "kubeflow_existing": ["istio"]}

    def judged() -> tuple[str, str]:
        components = ("istio-crds", "istio-namespace", "istio", *GUARDED)
        options = Options(kubeconfig, select=("E10",), include=components, existing=("istio",), report_dir=None)
        (found,) = [item.outcome for item in validate(options, silent).results if item.check.id == "E10"]
        return str(found.status), found.reason

    cluster.apply(gateway(mesh["istio"], app="gateway-of-others"), manager=KUBECTL)
    misfits = unselected(refused(cluster, variables, **chosen))
    assert any("app: istio-ingressgateway" in text for text in misfits)
    guards = [obj for name in GUARDED for obj in mesh[name] if obj["kind"] in SELECTING]
    assert not any(cluster.get(Ref.of(obj)) for obj in guards)

    for obj in guards:  # as a version before this rule left them
        cluster.apply(obj, manager=KUBECTL)
    assert at_last(judged, ("fail", "SelectsNothing")) == ("fail", "SelectsNothing")

    second = gateway(mesh["istio"])
    second["metadata"]["name"] = "istio-ingressgateway-second"
    cluster.apply(second, manager=KUBECTL)
    assert at_last(judged, ("fail", "GatewayUnguarded")) == ("fail", "GatewayUnguarded")
    assert any("does not select" in text for text in unselected(refused(cluster, variables, **chosen)))
    vanish(cluster, cluster.get(Ref.of(second)) or {})
    vanish(cluster, cluster.get(GATEWAY) or {})

    cluster.apply(gateway(mesh["istio"]), manager=KUBECTL)
    until(lambda: not unselected(refused(cluster, variables, **chosen)), 60, every=2)
    assert at_last(judged, ("pass", "AsClaimed")) == ("pass", "AsClaimed")


@pytest.mark.long
def test_argo_workflows_of_others_is_no_pipelines(cluster: Cluster, variables: dict[str, Any]) -> None:
    """Its kinds and its controller, as its own manifests have them: in a namespace of their own."""
    pipelines = {"kubeflow_components": ["kubeflow-roles", "pipelines"], "local_path_storage_mode": "existing"}
    settings = parse_settings(variables | pipelines)
    own = desired(settings, [settings.component("pipelines")], silent).parts["pipelines"]
    kinds = [obj for obj in own if obj["kind"] == "CustomResourceDefinition" and obj["spec"]["group"] == "argoproj.io"]
    assert kinds
    (controller,) = [copy.deepcopy(obj) for obj in own if Ref.of(obj)[1::2] == ("Deployment", "workflow-controller")]
    with space(cluster) as where:
        controller["metadata"]["namespace"] = where
        live = [cluster.apply(obj, manager=KUBECTL) for obj in (*kinds, controller)]
        try:
            (problem,) = [item for item in refused(cluster, variables, **pipelines) if "Argo" in item.found]
            assert "kubeflow_exclude: [pipelines]" in problem.todo
            assert "kubeflow_existing" not in problem.todo
            absent = refused(cluster, variables, **pipelines | {"kubeflow_existing": ["pipelines"]})
            assert any("Argo Workflows" in item.found for item in absent)
        finally:
            for obj in live:
                vanish(cluster, obj)
    assert cluster.get(Ref("apps/v1", "Deployment", "kubeflow", "ml-pipeline")) is None
