"""Terms of placement: what Kubernetes would refuse is refused here, all of it at once."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.rollout.settings.pods.placement import PlacementSettings
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples import refusals

SELECTOR = {"example.org/platform": "true"}
TOLERATION = {"key": "platform", "operator": "Exists", "effect": "NoSchedule"}


def problems(**placement: Any) -> list[str]:
    found = refusals.problems(kubeflow_profile="full", kubeflow_placement=placement)
    return [problem.found for problem in found]


@pytest.mark.parametrize(
    "placement",
    [
        {},
        {"node_selector": SELECTOR | {"empty": "", "a" * 63: "b" * 63, f"{'c' * 60}.org/A_b.c": "1"}},
        {
            "tolerations": [
                TOLERATION,
                {"operator": "Exists"},
                {"key": "a", "value": "b"},
                {"key": "a", "operator": "Equal", "effect": "PreferNoSchedule"},
                {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
            ]
        },
        {"priority_class": "system-cluster-critical"},
        {"components": {"katib": {"node_selector": {}, "priority_class": "my.class-1"}}},
    ],
)
def test_what_kubernetes_accepts_is_accepted(placement: Any) -> None:
    assert problems(**placement) == []


@pytest.mark.parametrize(
    ("placement", "said"),
    [
        ({"node_selector": {"-a": "b"}}, "node_selector has the key '-a'"),
        ({"node_selector": {"Example.org/a": "b"}}, "has the key 'Example.org/a'"),
        ({"node_selector": {"/a": "b"}}, "has the key '/a'"),
        ({"node_selector": {"a" * 64: "b"}}, "has the key"),
        ({"node_selector": {"a": "b c"}}, "node_selector.a is 'b c'"),
        ({"node_selector": {"a": "b" * 64}}, "node_selector.a is"),
        ({"tolerations": [{"key": "a b", "operator": "Exists"}]}, "tolerations[0].key is 'a b'"),
        ({"tolerations": [TOLERATION, {"key": "a", "operator": "In"}]}, "tolerations[1].operator is 'In'"),
        ({"tolerations": [TOLERATION | {"value": "x"}]}, "operator Exists and the value 'x'"),
        ({"tolerations": [{"effect": "NoSchedule"}]}, "has no key and operator Equal"),
        ({"tolerations": [{"key": "a", "value": "b c"}]}, "tolerations[0].value is 'b c'"),
        ({"tolerations": [TOLERATION | {"effect": "Never"}]}, "effect is 'Never'"),
        ({"tolerations": [TOLERATION | {"tolerationSeconds": 3}]}, "has tolerationSeconds and effect NoSchedule"),
        ({"priority_class": "My_class"}, "priority_class is 'My_class'"),
        ({"components": {"katibb": {}}}, "components.katibb, which is no chosen component. Did you mean katib?"),
        ({"components": {"katib": {"priority_class": "A"}}}, "components.katib.priority_class is 'A'"),
        ({"components": {"katib": {"components": {}}}}, "kubeflow_placement"),
        ({"nodeSelector": {}}, "kubeflow_placement"),
        ({"node_selector": {"a": True}}, "kubeflow_placement"),
        ({"tolerations": [{"keys": "a"}]}, "kubeflow_placement"),
    ],
)
def test_what_kubernetes_refuses_is_refused_by_its_place(placement: Any, said: str) -> None:
    (found,) = problems(**placement)
    assert said in found


def test_all_mistakes_are_told_at_once() -> None:
    found = problems(
        node_selector={"a": "b c"},
        tolerations=[{"key": "a", "operator": "In"}, {"effect": "Never", "operator": "Exists"}],
        priority_class="A",
        components={"katibb": {"node_selector": {"b": "c d"}}},
    )
    assert len(found) == 6


def test_a_component_has_its_own_terms_in_place_of_the_general_ones() -> None:
    settings = parse(
        {
            "kubeflow_profile": "full",
            "kubeflow_placement": {
                "node_selector": SELECTOR,
                "tolerations": [TOLERATION],
                "priority_class": "low",
                "components": {"katib": {"node_selector": {}, "priority_class": "high"}},
            },
        }
    ).placement
    assert settings.for_component("dex") == PlacementSettings(SELECTOR, (TOLERATION,), "low")
    assert settings.for_component("katib") == PlacementSettings({}, (TOLERATION,), "high")
    assert not parse({}).placement
