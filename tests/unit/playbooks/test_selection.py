"""What the command line selects: unknown names are refused before the first task; nothing selected is no success."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.places import ROOT
from tests.playing import ansible

PLAYBOOKS = sorted(path for path in (ROOT / "playbooks").glob("*.yml") if path.stem != "site")
"""All but the one that is made of others."""
INCLUDES = [
    {
        "hosts": "{{ 'localhost' | kubeflow_volcano.platform.selected(groups) }}",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.include_tasks": "later.yml", "tags": ["always"]}],
    }
]
CLUSTERS = {"clusters": ["eu", "us"]}
HOSTS = {"nodes": ["node-1", "node-2"], "others": ["bastion"]}


def play(
    place: Path, playbook: str | Path, *arguments: str, groups: dict[str, list[str]], **variables: Any
) -> tuple[int, str]:
    """Exit code and output of a playbook; its hosts are names of this machine."""
    common = {
        "ansible_connection": "local",
        "kubeflow_kubeconfig": str(place / "nowhere"),
        "preflight_report_directory": str(place / "reports"),
        "preflight_select": ["P2"],
        "validation_report_directory": str(place / "reports"),
        "validation_select": ["A1"],
    }
    children: dict[str, Any] = {group: {"hosts": {host: {} for host in hosts}} for group, hosts in groups.items()}
    whole = {"hosts": {"localhost": {}}, "children": children, "vars": common | variables}
    (place / "hosts.json").write_text(json.dumps({"all": whole}), "utf-8")
    done = ansible("-i", place / "hosts.json", playbook, *arguments, merged=True)
    assert "Traceback" not in done.stdout
    return done.returncode, " ".join(done.stdout.split())


@pytest.mark.parametrize("playbook", PLAYBOOKS, ids=lambda path: path.stem)
def test_every_playbook_judges_what_is_selected_and_then_the_settings(playbook: Path) -> None:
    first, *_ = yaml.safe_load(playbook.read_text("utf-8"))
    tasks = first.get("pre_tasks") or first["tasks"]
    assert "| kubeflow_volcano.platform.selected(groups" in first["hosts"]
    assert "kfv_settings" in tasks[0]
    assert tasks[0]["tags"] == ["always"]


@pytest.mark.programs
@pytest.mark.parametrize("name", ["site", "restore"])
def test_unknown_tags_are_refused_all_at_once_before_the_first_task(tmp_path: Path, name: str) -> None:
    wrong = ("--tags", "kustomise,alway", "--skip-tags", "instal,tagged")
    code, said = play(tmp_path, f"playbooks/{name}.yml", *wrong, groups={})
    assert code != 0
    assert "TASK [" not in said
    assert (said.count("Found:"), said.count("mean kustomize?")) == (1, int(name == "site"))
    for word in ("--tags kustomise", "--tags alway", "--skip-tags instal"):
        assert word in said
    assert "--skip-tags tagged" not in said


@pytest.mark.programs
@pytest.mark.parametrize(
    ("name", "tags"),
    [
        ("restore", "always,all,never,tagged,untagged,restore"),
        ("site", "local_path,volcano,scheduler_plugins,kubeflow,gang_scheduling"),
    ],
)
def test_special_tags_and_those_of_tasks_and_roles_are_taken(tmp_path: Path, name: str, tags: str) -> None:
    chosen = ("--tags", tags, "--skip-tags", "never", "--list-tasks")
    code, said = play(tmp_path, f"playbooks/{name}.yml", *chosen, groups={})
    assert code == 0, said
    assert "Validate the settings" in said


@pytest.mark.programs
def test_tags_of_what_is_included_during_the_run_are_not_judged(tmp_path: Path) -> None:
    (tmp_path / "own.yml").write_text(json.dumps(INCLUDES), "utf-8")
    task = {"name": "Chosen", "ansible.builtin.debug": {}, "tags": ["deep"]}
    (tmp_path / "later.yml").write_text(json.dumps([task]), "utf-8")
    code, said = play(tmp_path, tmp_path / "own.yml", "--tags", "deep", groups={})
    assert code == 0, said
    assert "Chosen" in said


@pytest.mark.programs
@pytest.mark.parametrize(
    ("name", "groups", "limit", "hosts"),
    [
        ("install", CLUSTERS, "localhost", "eu, us"),
        ("hosts", HOSTS, "bastion", "node-1, node-2"),
        pytest.param("plan", HOSTS, "nodes", "localhost", marks=pytest.mark.long),
        pytest.param("install", HOSTS, "node-1", "localhost", marks=pytest.mark.long),
        pytest.param("site", HOSTS, "node-1", "localhost", marks=pytest.mark.long),
        pytest.param("preflight", HOSTS, "localhost", "node-1, node-2", marks=pytest.mark.long),
    ],
)
def test_a_limit_that_leaves_out_every_host_of_a_play_is_refused(
    tmp_path: Path, name: str, groups: dict[str, list[str]], limit: str, hosts: str
) -> None:
    code, said = play(tmp_path, f"playbooks/{name}.yml", "--limit", limit, groups=groups)
    assert code != 0
    assert re.search(rf"Found: --limit {limit}, .*\({hosts}\)", said), said


@pytest.mark.programs
@pytest.mark.parametrize(
    ("name", "groups", "limit"),
    [
        ("preflight", HOSTS, "all:!node-2"),
        ("validate", CLUSTERS, "e*"),
        pytest.param("hosts", HOSTS, "node-1", marks=pytest.mark.long),
        pytest.param("site", CLUSTERS, "us", marks=pytest.mark.long),
        pytest.param("validate", {}, "localhost", marks=pytest.mark.long),
    ],
)
def test_a_limit_that_leaves_some_is_taken(tmp_path: Path, name: str, groups: dict[str, list[str]], limit: str) -> None:
    code, said = play(tmp_path, f"playbooks/{name}.yml", "--limit", limit, "--list-tasks", groups=groups)
    assert code == 0, said


@pytest.mark.programs
@pytest.mark.parametrize("name", ["restore", pytest.param("gang_demo", marks=pytest.mark.long)])
def test_a_misspelt_variable_is_refused_whatever_is_selected(tmp_path: Path, name: str) -> None:
    wrong = {"kubflow_profile": "full"}
    code, said = play(tmp_path, f"playbooks/{name}.yml", "--tags", "always", groups={}, **wrong)
    assert code == 2
    assert "Did you mean kubeflow_profile?" in said
