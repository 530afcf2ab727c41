"""Roles choose what a run rolls out."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.rollout.scope import ROLES, Scope, scope_of
from kubeflow_volcano.rollout.settings.settings import parse


def names(variables: dict[str, Any], *roles: str) -> tuple[list[str], list[str]]:
    """Components that are rolled out whole, and those that are wired only."""
    scope = scope_of(parse(variables), roles or ROLES)
    return [part.name for part in scope.components], [part.name for part in scope.wired]


@pytest.mark.parametrize(
    ("variables", "components"),
    [
        ({}, ["local-path", "volcano", "training-operator"]),
        ({"kubeflow_components": ["training-operator"]}, ["volcano", "training-operator"]),
        ({"kubeflow_components": ["training-operator"], "gang_scheduling_scheduler": "none"}, ["training-operator"]),
        ({"gang_scheduling_scheduler": "scheduler-plugins"}, ["local-path", "scheduler-plugins", "training-operator"]),
        ({"kubeflow_exclude": ["local-path"]}, ["volcano", "training-operator"]),
        ({"local_path_storage_mode": "existing"}, ["local-path", "volcano", "training-operator"]),
    ],
)
def test_all_roles_roll_everything_out_that_is_chosen_in_order(
    variables: dict[str, Any], components: list[str]
) -> None:
    assert names(variables) == (components, [])


@pytest.mark.parametrize(
    ("role", "components", "wired"),
    [
        ("local_path", ["local-path"], []),
        ("volcano", ["volcano"], []),
        ("scheduler_plugins", [], []),
        ("kubeflow", ["training-operator"], []),
        ("gang_scheduling", [], ["training-operator"]),
    ],
)
def test_a_role_rolls_out_its_own_part(role: str, components: list[str], wired: list[str]) -> None:
    assert names({}, role) == (components, wired)


def test_the_role_of_one_component_does_nothing_where_that_is_not_chosen() -> None:
    assert names({"kubeflow_components": ["dex"]}, "local_path", "volcano") == ([], [])


def test_an_operator_that_is_rolled_out_whole_is_not_wired_once_more() -> None:
    assert names({}, "kubeflow", "gang_scheduling") == (["training-operator"], [])


def test_storage_is_judged_by_its_role_also_where_the_provisioner_is_not_chosen() -> None:
    variables = {"kubeflow_components": ["katib"], "local_path_storage_mode": "existing"}

    assert names(variables, "local_path") == (["local-path"], [])
    assert "local-path" not in names(variables, "kubeflow")[0]


def test_parts_are_all_components_of_which_objects_are_applied() -> None:
    settings = parse({})
    scope = Scope((settings.volcano,), (settings.component("training-operator"),))

    assert [part.name for part in scope.parts] == ["volcano", "training-operator"]
