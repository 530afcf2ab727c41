"""The roll-out does what the plan tells: roles of one component run where that component is chosen."""

from __future__ import annotations

from typing import Any

import jinja2
import pytest

from kubeflow_volcano import strict_yaml
from kubeflow_volcano.rollout.settings.settings import parse
from tests.places import ROOT

PLAYBOOK = ROOT / "playbooks/install.yml"
ROLES = ("local_path", "scheduler_plugins", "volcano")


def runs(variables: dict[str, Any]) -> set[str]:
    """Which of the roles run with these variables, by the conditions in the playbook."""
    ((play,),) = strict_yaml.parse(PLAYBOOK.read_bytes(), str(PLAYBOOK))
    chosen = [part.name for part in parse(variables).components]
    holds = {
        item["role"]: jinja2.Environment(autoescape=True).compile_expression(str(item.get("when", True)))
        for item in play["roles"]
    }
    given = {"local_path_storage_mode": "local_path", **variables, "__install_inventory": {"components": chosen}}
    return {name for name in ROLES if holds[name](**given)}


@pytest.mark.parametrize(
    ("variables", "roles"),
    [
        ({}, {"local_path", "volcano"}),
        ({"kubeflow_components": ["dex"]}, set()),
        ({"kubeflow_components": ["katib"]}, {"local_path"}),
        ({"kubeflow_components": ["training-operator"]}, {"volcano"}),
        ({"kubeflow_components": ["training-operator"], "gang_scheduling_scheduler": "none"}, set()),
        ({"gang_scheduling_scheduler": "scheduler-plugins"}, {"local_path", "scheduler_plugins"}),
        ({"kubeflow_exclude": ["local-path"]}, {"volcano"}),
        ({"kubeflow_components": ["katib"], "local_path_storage_mode": "existing"}, {"local_path"}),
    ],
)
def test_a_role_of_one_component_runs_where_that_is_chosen(variables: dict[str, Any], roles: set[str]) -> None:
    assert runs(variables) == roles
