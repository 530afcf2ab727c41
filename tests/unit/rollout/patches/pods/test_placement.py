"""Pods get the terms of the inventory beside those that a release gives them, and nothing else changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.graph import WORKLOAD_KINDS
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.patches.own import with_own_patches
from kubeflow_volcano.rollout.patches.pods.templates import pod_spec
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from tests.unit.releases import Upstream, by_ref
from tests.unit.rollout.patches.pods.conftest import pods

Workload = Callable[..., Object]
SELECTOR = {"example.org/platform": "true", "kubernetes.io/os": "windows"}
TOLERATION = {"key": "platform", "operator": "Exists", "effect": "NoSchedule"}
PLACEMENT = {"node_selector": SELECTOR, "tolerations": [TOLERATION], "priority_class": "low"}
TERMS = ("nodeSelector", "tolerations", "priorityClassName")


def settings(**variables: Any) -> Settings:
    return parse({"kubeflow_profile": "full", "kubeflow_placement": PLACEMENT, **variables})


def placed(obj: Object, chosen: Settings, component: str = "katib") -> dict[str, Any]:
    (after,) = for_environment(component, [obj], chosen)
    spec = pod_spec(after)
    assert spec is not None
    return {key: spec.get(key) for key in TERMS}


@pytest.mark.parametrize("kind", sorted(WORKLOAD_KINDS))
def test_pods_of_each_kind_of_workload_get_the_terms(kind: str, workload: Workload) -> None:
    before = workload(kind)
    untouched = copy.deepcopy(before)
    found = placed(before, settings())
    assert before == untouched
    assert found["tolerations"] == [TOLERATION]
    assert found["priorityClassName"] == "low"
    assert found["nodeSelector"] == (None if kind == "DaemonSet" else SELECTOR)


def test_terms_of_the_release_stay(workload: Workload) -> None:
    own = {
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists", "effect": "NoExecute"}, TOLERATION],
        "priorityClassName": "system-node-critical",
    }
    found = placed(workload(**own), settings())
    assert found == own | {"nodeSelector": {"example.org/platform": "true", "kubernetes.io/os": "linux"}}


def test_a_daemonset_is_restricted_by_its_own_component_only(workload: Workload) -> None:
    own = PLACEMENT | {"components": {"istio": {"node_selector": {"a": "b"}, "tolerations": []}}}
    found = placed(workload("DaemonSet"), settings(kubeflow_placement=own), "istio")
    assert found == {"nodeSelector": {"a": "b"}, "tolerations": None, "priorityClassName": "low"}


def test_a_patch_of_the_inventory_comes_last(workload: Workload, kustomize: Path) -> None:
    patch = {"spec": {"template": {"spec": {"priorityClassName": "mine"}}}}
    chosen = settings(
        kubeflow_patches={"katib": [{"target": {"kind": "Deployment", "name": "a"}, "patch": patch}]},
        kustomize_binary=str(kustomize),
    )
    (after,) = with_own_patches("katib", for_environment("katib", [workload()], chosen), chosen, silent)
    assert after["spec"]["template"]["spec"]["priorityClassName"] == "mine"
    assert after["spec"]["template"]["spec"]["tolerations"] == [TOLERATION]


@pytest.mark.upstream
def test_every_pod_of_a_release_keeps_its_terms_and_gets_these(upstream: Upstream) -> None:
    changed = upstream.changed(kubeflow_placement=PLACEMENT)
    before = by_ref(upstream.parts)
    assert by_ref(changed).keys() == before.keys()
    assert len(pods(changed)) > 30
    for ref, spec in pods(changed).items():
        former = pod_spec(copy.deepcopy(before[ref])) or {}
        assert {key: value for key, value in spec.items() if key not in TERMS} == {
            key: value for key, value in former.items() if key not in TERMS
        }
        selected = {} if ref.kind == "DaemonSet" else SELECTOR
        assert (spec.get("nodeSelector") or {}) == {**selected, **(former.get("nodeSelector") or {})}, ref
        assert spec["tolerations"] == [*(former.get("tolerations") or ()), TOLERATION], ref
        assert spec["priorityClassName"] == former.get("priorityClassName", "low"), ref
    others = {ref for ref in before if by_ref(changed)[ref] != before[ref]}
    assert others == {*pods(changed)}
