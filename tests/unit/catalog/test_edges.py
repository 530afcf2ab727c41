"""The edges between releases: a chain over the whole catalog, whose steps name what the releases have."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.edges import edge_between, edges, path_between, volcano_steps
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


@pytest.mark.parametrize(
    ("origin", "target", "count"),
    [("1.10.0", "1.12.2", 1), ("1.10.0", "1.13.3", 1), ("1.12.2", "1.13.3", 0), ("1.8.2", "1.10.0", 0)],
)
def test_the_steps_of_volcano(origin: str, target: str, count: int) -> None:
    """Where the webhooks on pods end: installer/volcano-development.yaml of 1.10.0 and 1.12.2."""
    assert len([*volcano_steps(origin, target)]) == count
