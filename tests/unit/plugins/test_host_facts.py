"""Hosts that do not answer are told with their reason, and no task of theirs fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.playing import ansible

pytestmark = pytest.mark.programs

OLD = sorted((Path.home() / ".pyenv/versions").glob("[23].[678].*/bin/python"))
"""Interpreters of this machine that are too old, where it has some; from 2.7 to 3.8."""

PLAY = [
    {
        "hosts": "all",
        "gather_facts": False,
        "tasks": [
            {"name": "Look", "kfv_host_preflight": {"step": "look"}, "register": "look"},
            {
                "name": "Tell",
                "ansible.builtin.copy": {
                    "content": "{{ look | to_json }}",
                    "dest": "{{ place }}/{{ inventory_hostname }}",
                    "mode": "0600",
                },
                "delegate_to": "localhost",
                "vars": {"ansible_become": False, "ansible_python_interpreter": sys.executable},
            },
        ],
    }
]
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
HOSTS: dict[str, dict[str, Any]] = {
    "fine": LOCAL,
    "down": {"ansible_host": "127.0.0.9", "ansible_port": 1},
    "without-python": LOCAL | {"ansible_python_interpreter": "/nonexistent/python3"},
    "not-root": LOCAL | {"ansible_become": True, "ansible_become_method": "su", "ansible_become_exe": "/bin/false"},
    **{f"old-{path.parts[-3]}": LOCAL | {"ansible_python_interpreter": str(path)} for path in OLD},
}
HOSTS["not-root"] |= {"ansible_become_user": "nobody"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    place = tmp_path_factory.mktemp("look")
    (place / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": HOSTS, "vars": {"place": str(place)}}}))
    (place / "play.yml").write_text(yaml.safe_dump(PLAY))
    done = ansible("-i", "hosts.yml", "play.yml", cwd=place)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: json.loads((place / name).read_text("utf-8")) for name in HOSTS}


def test_a_host_that_answers_has_facts_and_times_around_them(answers: dict[str, dict[str, Any]]) -> None:
    answer = answers["fine"]
    assert answer["sent"] <= answer["facts"]["time"]["epoch"] <= answer["received"]
    assert answer["changed"] is False


@pytest.mark.parametrize(
    ("host", "kind", "said"),
    [
        ("down", "reach", "Connection refused"),
        ("without-python", "python", "'/nonexistent/python3' was not found"),
        ("not-root", "become", "become"),
    ],
)
def test_the_trouble_of_a_host_is_told_with_its_kind(
    answers: dict[str, dict[str, Any]], host: str, kind: str, said: str
) -> None:
    trouble = answers[host]["trouble"]
    assert (trouble["kind"], said in trouble["message"]) == (kind, True), trouble


@pytest.mark.parametrize("host", [name for name in HOSTS if name.startswith("old-")])
def test_a_python_that_is_too_old_is_told_as_such(answers: dict[str, dict[str, Any]], host: str) -> None:
    assert answers[host]["trouble"]["kind"] == "python"
