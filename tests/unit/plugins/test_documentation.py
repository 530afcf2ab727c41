"""What `ansible-doc` shows: every plugin, with what people call, modes and examples; options are those accepted."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import arguments_of
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.library import COLLECTION
from kubeflow_volcano.validators.language.catalog import LANGUAGES
from tests.places import ROOT
from tests.playing import ansible

ACTIONS = sorted((ROOT / "plugins" / "action").glob("*.py"))
MODULES = sorted((ROOT / "plugins" / "modules").glob("*.py"))
PUBLIC = [path for path in MODULES if "def main" not in path.read_text("utf-8")]
"""Modules that only document an action plugin."""
ON_HOSTS = [path for path in MODULES if path not in PUBLIC]
"""Modules that hosts get. All are steps of roles."""
STEPS = {"kfv_bundle", "kfv_host_preflight", "kfv_kustomize", "kfv_scenario", "kfv_validate_clusters", "kfv_volumes"}
"""Action plugins that roles and playbooks call. People call the roles."""

public = pytest.mark.parametrize("module", PUBLIC, ids=lambda path: path.stem)
on_hosts = pytest.mark.parametrize("module", ON_HOSTS, ids=lambda path: path.stem)


def loaded(kind: str, name: str) -> ModuleType:
    return importlib.import_module(f"ansible_collections.kubeflow_volcano.platform.plugins.{kind}.{name}")


def documented(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "plugins" / "modules" / f"{name}.yml").read_text("utf-8"))
    return found


def accepted_by(name: str) -> dict[str, Any]:
    found: dict[str, Any] = loaded("action", name).ActionModule.ARGUMENTS
    return found


def test_there_are_plugins_and_a_documented_one_is_an_action_that_people_call() -> None:
    assert len(ACTIONS) >= 4
    assert {path.stem for path in PUBLIC} - STEPS == {
        "kfv_images",
        "kfv_plan",
        "kfv_registry",
        "kfv_rehearsal",
        "kfv_rollout",
        "kfv_settings",
        "kfv_backup",
        "kfv_restore",
        "kfv_uninstall",
        "kfv_upgrade",
        "kfv_validate",
    }
    assert {path.stem for path in PUBLIC} <= {path.stem for path in ACTIONS}
    assert {path.stem for path in ACTIONS} <= {path.stem for path in MODULES}


def test_the_action_group_has_every_plugin_that_takes_settings() -> None:
    runtime = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text("utf-8"))
    taking = [path.stem for path in ACTIONS if "settings" in accepted_by(path.stem)]
    assert runtime["action_groups"] == {"platform": taking}


def test_arguments_are_the_options_without_what_they_mean(tmp_path: Path) -> None:
    text = "options: {state: {description: What., type: str, choices: [a, b]}, name: {description: [Its.], type: str}}"
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "kfv_it.yml").write_text(f"DOCUMENTATION: {{{text}}}\n", "utf-8")
    assert arguments_of(str(tmp_path / "action" / "kfv_it.py")) == {
        "state": {"type": "str", "choices": ["a", "b"]},
        "name": {"type": "str"},
    }


@on_hosts
def test_a_module_for_hosts_names_what_is_called_in_its_place(module: Path) -> None:
    assert callable(loaded("modules", module.stem).main)
    assert "what you call" in documented(module.stem)["DOCUMENTATION"]["description"][0]


@pytest.mark.parametrize("name", ["kfv_host_preflight", "kfv_validate", "kfv_validate_clusters"])
def test_reports_can_be_in_every_language_that_there_is(name: str) -> None:
    assert accepted_by(name)["language"]["choices"] == list(LANGUAGES)


@pytest.mark.parametrize("name", sorted(STEPS))
def test_a_step_of_a_role_names_what_is_called_in_its_place(name: str) -> None:
    first = documented(name)["DOCUMENTATION"]["description"][0]
    (called,) = re.findall(rf"C\({re.escape(COLLECTION)}\.(\w+)\)", first)
    assert (ROOT / "roles" / called).is_dir() or (ROOT / "playbooks" / f"{called}.yml").is_file()


@public
def test_check_and_diff_mode_are_stated(module: Path) -> None:
    attributes = documented(module.stem)["DOCUMENTATION"]["attributes"]
    assert set(attributes) == {"check_mode", "diff_mode"}
    assert {entry["support"] for entry in attributes.values()} <= {"full", "partial", "none"}


@public
def test_examples_use_the_plugin_with_options_that_exist(module: Path) -> None:
    tasks = yaml.safe_load(documented(module.stem)["EXAMPLES"])
    accepted = accepted_by(module.stem)
    name = f"{COLLECTION}.{module.stem}"
    used = [task[name] or {} for task in tasks if name in task]
    assert used
    assert [set(options) - set(accepted) for options in used if set(options) - set(accepted)] == []


@pytest.mark.programs
def test_ansible_doc_finds_each_from_the_checkout() -> None:
    names = [path.stem for path in PUBLIC]
    done = ansible("-t", "module", "--json", *names, program="ansible-doc")
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert [name for name in names if not (shown[name]["doc"]["short_description"] and shown[name]["return"])] == []
