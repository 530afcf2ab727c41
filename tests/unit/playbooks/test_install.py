"""Tags choose parts of the one roll-out."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from kubeflow_volcano import foreign
from kubeflow_volcano.rollout.scope import ROLES
from tests.places import ROOT

PLAYBOOK = ROOT / "playbooks/install.yml"


def play() -> dict[str, Any]:
    """The play that rolls out."""
    (plays,) = foreign.parse(PLAYBOOK.read_bytes(), str(PLAYBOOK))
    found: dict[str, Any] = plays[1]
    return found


def chosen(tags: list[str], skipped: list[str]) -> list[str]:
    given = {**play()["vars"], "ansible_run_tags": tags, "ansible_skip_tags": skipped}
    templar = Templar(loader=DataLoader(), variables={name: trusted(value) for name, value in given.items()})
    return list(templar.template(trusted("{{ __install_chosen }}")))


def trusted(value: Any) -> Any:
    """As Ansible sees values of a playbook from 2.19 on."""
    try:
        from ansible.template import trust_as_template  # noqa: PLC0415  newer than the oldest supported ansible-core
    except ImportError:
        return value
    return trust_as_template(value) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("tags", "skipped", "roles"),
    [
        (["all"], [], ROLES),
        (["install"], [], ROLES),
        (["tagged"], [], ROLES),
        (["volcano"], [], ("volcano",)),
        (["kubeflow", "gang_scheduling", "validate"], [], ("kubeflow", "gang_scheduling")),
        (["validate"], [], ()),
        (["image_mirror"], [], ()),
        (["all"], ["kubeflow"], ("local_path", "volcano", "scheduler_plugins", "gang_scheduling")),
        (["volcano"], ["volcano"], ()),
    ],
)
def test_tags_choose_what_is_rolled_out(tags: list[str], skipped: list[str], roles: tuple[str, ...]) -> None:
    assert set(chosen(tags, skipped)) == set(roles)


def test_the_roll_out_is_one_task_that_no_tag_can_skip_by_accident() -> None:
    (whole,) = [item for item in play()["tasks"] if "kfv_rollout" in str(item)]
    (block,) = [item for item in whole["block"] if "kfv_rollout" in str(item)]

    assert len(block["block"]) == 1
    assert block["tags"] == ["always"]
    assert "__install_chosen | length > 0" in block["when"]
    assert play()["vars"]["__install_roles"] == list(ROLES)
