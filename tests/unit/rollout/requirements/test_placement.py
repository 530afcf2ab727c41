"""Nodes and priority classes that a cluster lacks are told before the first change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.rollout.patches.environment import for_environment
from kubeflow_volcano.rollout.requirements.placement import unmet_placement
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples.stored import Stored

SELECTOR = {"platform": "yes"}


def node(name: str, labels: Mapping[str, str] = SELECTOR, *taints: str) -> Object:
    made = [{"key": key, "effect": "NoSchedule"} for key in taints]
    return new_object("v1", "Node", name, meta={"labels": {**labels}}, spec={"taints": made})


def workload(kind: str = "Deployment", name: str = "a") -> Object:
    spec: Object = {"template": {"spec": {"containers": []}}}
    return new_object("apps/v1", kind, name, "kubeflow", spec=spec)


def problems(cluster: Any, *objects: Object, **placement: Any) -> list[Any]:
    settings = parse({"kubeflow_profile": "full", "kubeflow_placement": placement})
    given = objects or (workload(), workload(name="b"))
    return [*unmet_placement(cluster, settings.placement, {"katib": for_environment("katib", given, settings)})]


def test_a_node_with_the_labels_takes_the_pods() -> None:
    assert problems(Stored(node("one"), node("two", {})), node_selector=SELECTOR) == []


def test_labels_that_no_node_has_are_told_once_with_the_command() -> None:
    (found,) = problems(Stored(node("one", {"platform": "no"})), node_selector=SELECTOR)
    assert "labels platform=yes" in found.found
    assert "kubeflow/a and 1" in found.found
    assert "kubectl label node NAME platform=yes" in found.todo


def test_lasting_taints_of_all_these_nodes_have_to_be_tolerated() -> None:
    cluster = Stored(node("one", SELECTOR, "reserved"), node("two", {}))
    (found,) = problems(cluster, node_selector=SELECTOR)
    assert "has a taint" in found.found
    assert "reserved:NoSchedule" in found.found
    tolerating = {"tolerations": [{"key": "reserved", "operator": "Exists"}]}
    assert problems(cluster, node_selector=SELECTOR, **tolerating) == []
    passing = Stored(node("one", SELECTOR, "node.kubernetes.io/not-ready"))
    assert problems(passing, node_selector=SELECTOR) == []


def test_a_daemonset_may_wait_for_its_nodes() -> None:
    own = {"katib": {"node_selector": SELECTOR}}
    assert problems(Stored(node("one", {})), workload("DaemonSet"), components=own) == []


LOW = new_object("scheduling.k8s.io/v1", "PriorityClass", "low")


@pytest.mark.parametrize(("classes", "said"), [((), ["low"]), ((LOW,), [])])
def test_a_priority_class_has_to_exist(classes: tuple[Object, ...], said: list[str]) -> None:
    found = problems(Stored(*classes), priority_class="low")
    assert [problem.found.split()[4].rstrip(",") for problem in found] == said
    assert all("volcano_priority_classes" in problem.todo for problem in found)


def test_classes_of_kubernetes_and_of_this_roll_out_exist() -> None:
    assert problems(Stored(), priority_class="system-cluster-critical") == []
    assert problems(Stored(), workload(), LOW, priority_class="low") == []


def test_without_terms_nothing_is_asked() -> None:
    assert [*unmet_placement(Stored(), parse({}).placement, {"katib": [workload()]})] == []  # type: ignore[arg-type]
