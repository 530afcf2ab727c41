"""Components of others in the inventory: what they replace, and what contradicts them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples.refusals import problems


def names(**variables: Any) -> list[str]:
    return [part.name for part in parse(variables).components]


def test_an_existing_component_is_not_installed_and_satisfies_requirements() -> None:
    full = names(kubeflow_profile="full")
    settings = parse({"kubeflow_profile": "full", "kubeflow_existing": ["cert-manager", "volcano"]})
    assert [part.name for part in settings.components] == [n for n in full if n not in {"cert-manager", "volcano"}]
    needed = {need.name for part in settings.components for need in settings.requirements(part)}
    assert "cert-manager" not in needed
    assert "istio-crds" in needed


def test_istio_includes_the_parts_that_the_catalog_has_of_it() -> None:
    settings = parse({"kubeflow_profile": "full", "kubeflow_existing": ["istio"]})
    assert settings.existing == ("istio-crds", "istio-namespace", "istio")
    assert not {part.name for part in settings.components} & {*settings.existing}
    assert parse({"kubeflow_profile": "full", "kubeflow_adopt": ["istio"]}).adopted == settings.existing


def test_what_an_existing_component_alone_would_require_is_not_installed() -> None:
    chosen = names(kubeflow_components=["knative-serving", "volcano"], kubeflow_existing=["knative-serving"])
    assert chosen == ["volcano"]


def test_all_contradictions_come_at_once_with_the_nearest_name() -> None:
    found = "\n".join(
        str(item)
        for item in problems(
            kubeflow_existing=["volcano", "certmanager"],
            kubeflow_adopt=["volcano", "isto", "katib"],
            kubeflow_exclude=["katib"],
        )
    )
    for words in (
        "Did you mean cert-manager?",
        "Did you mean istio?",
        "volcano is in kubeflow_existing and in kubeflow_adopt",
        "katib is in kubeflow_adopt and in kubeflow_exclude",
    ):
        assert words in found


def test_what_is_adopted_must_be_installed() -> None:
    (problem,) = problems(kubeflow_adopt=["katib"])
    assert "kubeflow_adopt names katib" in problem.found


def test_what_others_keep_is_not_uninstalled() -> None:
    (problem,) = problems(kubeflow_existing=["volcano"], uninstall_components=["volcano"])
    assert "uninstall_components names volcano" in problem.found


def test_something_is_left_to_install() -> None:
    (problem,) = problems(kubeflow_components=["volcano"], kubeflow_existing=["volcano"])
    assert problem.found.rstrip(".").endswith(": volcano")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("volcano_queues", [{"name": "a"}]),
        ("volcano_scheduler_actions", ["enqueue", "allocate"]),
        ("volcano_replicas", 2),
        ("volcano_scheduler_flags", {"kube-api-qps": 200}),
        ("volcano_queue_drain_seconds", 5),
        ("volcano_pod_webhook_failure_policy", "Fail"),
    ],
)
def test_no_variable_that_a_volcano_of_others_would_ignore_is_accepted(name: str, value: Any) -> None:
    (problem,) = problems(kubeflow_existing=["volcano"], **{name: value})
    assert re.search(f"{name} .*volcano in kubeflow_existing", problem.found)
    parse({name: value})


def test_the_namespace_of_volcano_is_of_one_that_others_installed() -> None:
    (problem,) = problems(volcano_namespace="kube-system")
    assert "volcano to kubeflow_existing" in problem.todo
    assert names(kubeflow_existing=["volcano"], volcano_namespace="kube-system") == ["local-path", "training-operator"]


def test_tiers_may_name_plugins_of_a_vendor() -> None:
    plugins = [{"name": name} for name in ("gang", "predicates", "proportion", "cce-gpu-topology")]
    (problem,) = problems(volcano_scheduler_tiers=[{"plugins": plugins}])
    assert "cce-gpu-topology" in problem.found
    assert "volcano_scheduler_extra_plugins" in problem.todo
    variables = {
        "volcano_scheduler_extra_plugins": ["cce-gpu-topology"],
        "volcano_scheduler_tiers": [{"plugins": plugins}],
    }
    assert parse(variables).scheduling.extra_plugins == ("cce-gpu-topology",)
