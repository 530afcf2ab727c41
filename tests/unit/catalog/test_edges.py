"""The edges between releases: a chain over the whole catalog, whose steps name what the releases have."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.edges import edge_between, edges, path_between, steps_between
from kubeflow_volcano.catalog.model import version_key
from tests.places import ROOT


def test_every_release_leads_to_the_next_and_none_back() -> None:
    known = read.releases()
    assert [(edge.origin, edge.target) for edge in edges()] == list(pairwise(known))
    assert all(version_key(edge.origin) < version_key(edge.target) for edge in edges())


def test_the_components_of_a_step_are_in_the_release_that_it_leads_from() -> None:
    for edge in edges():
        before, after = read.load_release(edge.origin), read.load_release(edge.target)
        for step in edge.steps:
            assert step.component in before.components, step
            assert step.when == "left" or step.component in after.components, step


def test_a_step_is_named_once_on_an_edge_and_what_can_be_confirmed_is_what_the_settings_take() -> None:
    for edge in edges():
        assert len({step.id for step in edge.steps}) == len(edge.steps)
    schema = json.loads((ROOT / "kubeflow_volcano/rollout/settings/settings.schema.json").read_text())
    names = {step.id for edge in edges() for step in edge.steps if step.confirm}
    assert set(schema["properties"]["kubeflow_upgrade_confirmed"]["items"]["enum"]) == names


@pytest.mark.parametrize(
    ("origin", "target", "path"),
    [
        ("1.8.1", "26.03", ("1.9.1", "1.10.2", "1.11.0", "26.03")),
        ("1.8.1", "1.9.1", ("1.9.1",)),
        ("1.9.1", "1.8.1", ()),
        ("1.9.1", "1.9.1", ()),
        ("1.5.0", "1.9.1", ()),
    ],
)
def test_the_path_between_two_releases(origin: str, target: str, path: tuple[str, ...]) -> None:
    assert path_between(origin, target) == path


def test_an_edge_is_one_step() -> None:
    assert edge_between("1.10.2", "1.11.0") is not None
    assert edge_between("1.9.1", "1.11.0") is None


BY_HAND = {
    ("26.03", "26.03.1", "trainer-selectors"): "kubectl -n kubeflow-system delete deployment jobset-controller-manager",
    ("26.03", "26.03.1", "profiles-selectors"): "kubectl -n kubeflow delete deployment profiles-deployment",
    ("26.03", "26.03.1", "centraldashboard-removed"): "Deployment kubeflow/centraldashboard",
    ("26.03", "26.03.1", "admission-webhook-removed"): "its webhooks act on pods",
    ("1.9.1", "1.10.2", "training-operator-kinds"): "kubectl get mxjobs.kubeflow.org -A",
    ("1.8.1", "1.9.1", "knative-eventing-left"): "name knative-eventing in kubeflow_include",
    ("1.8.1", "1.9.1", "knative-serving-stored-domainmappings.serving.knative.dev"): "stored again in v1beta1",
}
"""What a person had written of upgrades, read in upstream's manifests, before it followed from the entries."""


@pytest.mark.parametrize(("origin", "target", "step"), BY_HAND)
def test_what_a_person_had_written_follows_from_the_entries(origin: str, target: str, step: str) -> None:
    edge = edge_between(origin, target)
    assert edge
    (found,) = (item for item in edge.steps if item.id == step)
    assert BY_HAND[origin, target, step] in f"{found.title} {found.consequence} {found.todo}"
    assert found not in edge.judged


def test_selectors_change_on_no_other_edge() -> None:
    found = {(edge.origin, edge.target, step.id) for edge in edges() for step in edge.steps if "-selectors" in step.id}
    assert found == {key for key in BY_HAND if "-selectors" in key[2]}


@pytest.mark.parametrize(
    ("component", "origin", "target", "found"),
    [
        ("volcano", "1.10.0", "1.12.2", {"removed", "validates"}),
        ("volcano", "1.10.0", "1.13.3", {"removed", "validates"}),
        ("volcano", "1.12.2", "1.13.3", set()),
        ("volcano", "1.8.2", "1.10.0", set()),
        ("local-path", "0.0.20", "0.0.37", set()),
        ("scheduler-plugins", "0.29.7", "0.34.7", set()),
        ("training-operator", "1.8.1", "1.9.2", {"kinds"}),
        ("training-operator", "1.7.0", "1.8.1", {"validates"}),
        ("training-operator", "1.9.2", "1.9.3", set()),
    ],
)
def test_the_steps_of_components_with_entries_of_their_own(
    component: str, origin: str, target: str, found: set[str]
) -> None:
    """Where Volcano's webhooks on pods end: installer/volcano-development.yaml of 1.10.0 and 1.12.2."""
    old, new = (read.load_component(component, version) for version in (origin, target))
    steps = [*steps_between({component: old}, {component: new})]
    assert {step.id.removeprefix(f"{component}-") for step in steps} == found
    assert all("pods, until" in step.consequence for step in steps if step.id == "volcano-removed")
