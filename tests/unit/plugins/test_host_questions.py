"""Hosts are asked for the names that nodes will ask for images, and for nothing that only the controller asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.playing import ansible

pytestmark = pytest.mark.programs

PLAY = [
    {
        "hosts": "a",
        "gather_facts": False,
        "tasks": [
            {"name": "Check", "kfv_settings": {"variables": "{{ given }}"}, "register": "inventory"},
            {
                "name": "Ask",
                "kfv_host_preflight": {"step": "plan", "settings": "{{ inventory.settings }}", "hosts": ["a", "b"]},
                "register": "asked",
            },
            {"name": "Tell", "ansible.builtin.debug": {"msg": "ASKED {{ asked | to_json }} END"}},
        ],
    }
]
HOSTS = {
    "a": {"ansible_host": "10.0.0.1"},
    "b": {"ansible_host": "10.0.0.2", "local_path_base_directory": "/data/b"},
}


def asked(tmp_path: Path, **given: Any) -> dict[str, Any]:
    groups: dict[str, Any] = {"control_plane": {"hosts": {"b": {}}}}
    (tmp_path / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": HOSTS, "children": groups}}))
    (tmp_path / "play.yml").write_text(yaml.safe_dump(PLAY))
    done = ansible("-i", "hosts.yml", "play.yml", "-e", json.dumps({"given": given}), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    text = " ".join(done.stdout.split()).partition("ASKED ")[2].partition(" END")[0]
    found: dict[str, Any] = json.loads(text.replace("''", "'"))
    return found


def test_directories_and_other_hosts_are_asked_of_each_host_as_it_is(tmp_path: Path) -> None:
    found = asked(tmp_path, local_path_base_directory="/data")
    assert found["paths"] == {"a": {"volumes": "/data"}, "b": {"volumes": "/data/b"}}
    assert found["connects"] == {"a": ["10.0.0.2:10250", "10.0.0.2:6443"], "b": ["10.0.0.1:10250"]}
    assert found["names"] == []
    assert "net.ipv4.ip_forward" in found["sysctls"]


@pytest.mark.parametrize(
    ("given", "names"),
    [
        (
            {"image_mirror_mode": "rewrite", "image_mirror_rules": [{"source": "*", "registry": "reg.lan:5000/all"}]},
            ["reg.lan"],
        ),
        (
            {
                "image_mirror_mode": "registry",
                "image_mirror_registry": "own.lan:5000",
                "image_mirror_rules": [{"source": "*", "prefix": "mirror.example"}],
            },
            ["own.lan"],
        ),
    ],
)
def test_names_of_mirrors_are_those_that_nodes_ask(tmp_path: Path, given: dict[str, Any], names: list[str]) -> None:
    assert asked(tmp_path, **given)["names"] == names
