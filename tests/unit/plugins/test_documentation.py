"""What `ansible-doc` shows is what the plugins accept."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.places import ROOT

ACTIONS = sorted((ROOT / "plugins" / "action").glob("*.py"))
MODULES = sorted((ROOT / "plugins" / "modules").glob("*.py"))
NAMES = {path.name for path in ACTIONS}
ON_HOSTS = [path for path in MODULES if path.name not in NAMES]
"""Modules that run on the hosts; the others document the action plugin of their name, or are run by it."""

actions = pytest.mark.parametrize("action", [*ACTIONS, *ON_HOSTS], ids=lambda path: path.stem)


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"under_test_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def documented(action: Path) -> ModuleType:
    return loaded(ROOT / "plugins" / "modules" / action.name)


def test_there_are_plugins_and_each_has_its_documentation_and_the_other_way_round() -> None:
    assert len(ACTIONS) >= 4
    assert {path.name for path in MODULES} >= NAMES
    assert [path.name for path in ON_HOSTS if not hasattr(loaded(path), "main")] == []


@actions
def test_options_are_what_the_plugin_accepts(action: Path) -> None:
    accepted: dict[str, Any] = loaded(action).ARGUMENTS
    options = yaml.safe_load(documented(action).DOCUMENTATION)["options"]
    facts = ("type", "default", "choices", "required", "elements")

    def only_facts(option: dict[str, Any]) -> dict[str, Any]:
        return {key: option[key] for key in facts if key in option}

    assert {name: only_facts(option) for name, option in options.items()} == {
        name: only_facts(option) for name, option in accepted.items()
    }


@actions
def test_check_and_diff_mode_are_stated(action: Path) -> None:
    attributes = yaml.safe_load(documented(action).DOCUMENTATION)["attributes"]
    assert set(attributes) == {"check_mode", "diff_mode"}
    assert {entry["support"] for entry in attributes.values()} <= {"full", "partial", "none"}


@actions
def test_examples_use_the_plugin_with_options_that_exist(action: Path) -> None:
    tasks = yaml.safe_load(documented(action).EXAMPLES)
    accepted = loaded(action).ARGUMENTS
    used = [task[action.stem] or {} for task in tasks if action.stem in task]
    assert used
    assert [set(options) - set(accepted) for options in used if set(options) - set(accepted)] == []


@actions
def test_ansible_doc_finds_it_from_the_checkout(action: Path) -> None:
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-doc"), "-t", "module", "--json", action.stem],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
    )
    shown = json.loads(done.stdout)[action.stem]
    assert shown["doc"]["short_description"]
    assert shown["return"]
