"""The directory of each host reaches the roll-out under the name of its Node, through a real inventory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.playing import ansible

pytestmark = pytest.mark.programs

SHOW = {
    "hosts": "localhost",
    "gather_facts": False,
    "tasks": [
        {"kfv_settings": {}, "register": "found"},
        {"ansible.builtin.debug": {"msg": "PATHS {{ found.settings.local_path_node_paths | to_json }} END"}},
    ],
}


def said(directory: Path, **of_all: Any) -> str:
    """What a play says that asks for the settings of three hosts, which nobody could reach."""
    hosts = {
        "localhost": {"ansible_connection": "local"},
        "a": {},
        "b": {"kubeflow_node_name": "node-b"},
        "c": {"local_path_base_directory": "/data/{{ 'slow' }}"},
    }
    hosts["database"] = {"local_path_base_directory": "/var/lib/database"}
    groups = {
        "nodes": {"hosts": {"a": {}, "b": {}, "c": {}}},
        "big": {"hosts": {"b": {}}, "vars": {"local_path_base_directory": "/data/big"}},
    }
    inventory = {"all": {"hosts": hosts, "children": groups, "vars": of_all}}
    (directory / "hosts.json").write_text(json.dumps(inventory), "utf-8")
    (directory / "play.yml").write_text(json.dumps([SHOW]), "utf-8")
    done = ansible("-i", directory / "hosts.json", directory / "play.yml")
    assert "Traceback" not in done.stdout + done.stderr
    return done.stdout


def test_hosts_with_a_directory_of_their_own_are_named_as_nodes(tmp_path: Path) -> None:
    text = said(tmp_path, local_path_base_directory="/data/slow", local_path_node_paths={"far": "/far"})
    found = json.loads(text.partition("PATHS ")[2].partition(" END")[0].replace('\\"', '"'))
    assert found == {"node-b": "/data/big", "far": "/far"}


def test_two_directories_for_one_node_are_refused_with_what_to_do(tmp_path: Path) -> None:
    text = said(tmp_path, local_path_node_paths={"node-b": "/other"})
    assert "local_path_base_directory of b is /data/big, and local_path_node_paths.node-b is /other" in text
    assert "Do: remove local_path_node_paths.node-b" in text
