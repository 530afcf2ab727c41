"""Components that others installed, on a real cluster: refused, left untouched byte for byte, or taken over."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import Action, ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, parse
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.desired import desired
from kubeflow_volcano.rollout.others.needs import unmet_needs
from kubeflow_volcano.rollout.requirements.cluster_domain import unmet_domain
from kubeflow_volcano.rollout.scope import Scope
from kubeflow_volcano.rollout.settings.settings import parse as parse_settings
from tests.integration.breaking import patched
from tests.integration.rolling import own_sources
from tests.integration.test_rehearsal_full import ARCHIVE
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

THEIRS, OURS = "istio-crds", "kubeflow-istio-resources"
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
        assert "plugin gang is missing" in problem.found
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
