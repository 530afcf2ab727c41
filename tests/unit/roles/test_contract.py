"""What every role promises, read from its files: tasks that a person can follow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.places import ROOT

ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
TASK_FILES = sorted((ROOT / "roles").glob("*/tasks/*.yml"))
LONGEST_TASK_FILE = 60
OWN_PLUGINS = {path.stem for folder in ("action", "modules") for path in (ROOT / "plugins" / folder).glob("kfv_*.py")}
FORBIDDEN_MODULES = {
    "ansible.builtin.shell",
    "ansible.builtin.raw",
    "ansible.builtin.pause",
    "ansible.builtin.wait_for",
}
TASK_KEYWORDS = {
    "any_errors_fatal",
    "block",
    "changed_when",
    "check_mode",
    "loop",
    "loop_control",
    "name",
    "notify",
    "register",
    "rescue",
    "run_once",
    "throttle",
    "vars",
    "when",
}

roles = pytest.mark.parametrize("role", ROLES, ids=lambda path: path.name)
task_files = pytest.mark.parametrize("path", TASK_FILES, ids=lambda path: f"{path.parts[-3]}/{path.name}")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


def tasks_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    waiting = list(read(path) or [])
    while waiting:
        task = waiting.pop(0)
        found.append(task)
        waiting += [*task.get("block", []), *task.get("rescue", [])]
    return found


def module_of(task: dict[str, Any]) -> str:
    (module,) = set(task) - TASK_KEYWORDS or {"block"}
    return str(module)


def test_there_are_roles_and_tasks_to_judge() -> None:
    assert len(ROLES) >= 16
    assert len(TASK_FILES) >= len(ROLES)


@roles
def test_a_role_has_every_file_that_all_roles_have(role: Path) -> None:
    wanted = ["README.md", "defaults/main.yml", "meta/argument_specs.yml", "meta/main.yml", "tasks/main.yml"]
    assert [name for name in wanted if not (role / name).is_file()] == []


@task_files
def test_every_task_has_a_name_that_is_an_order(path: Path) -> None:
    names = [task.get("name", "") for task in tasks_of(path)]
    assert names
    assert [name for name in names if not re.match(r"[A-Z][a-z]+ ", name)] == []


@task_files
def test_modules_are_named_in_full_and_none_is_a_shell_or_a_sleep(path: Path) -> None:
    modules = {module_of(task) for task in tasks_of(path)} - {"block"}
    assert modules & FORBIDDEN_MODULES == set()
    assert [name for name in modules if not name.startswith("ansible.builtin.") and name not in OWN_PLUGINS] == []


@task_files
def test_no_error_is_ignored_and_no_version_stands_in_a_task(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.findall(r"ignore_errors|failed_when: false|ignore_unreachable", text) == []
    assert re.findall(r"\d+\.\d+", text) == []


@task_files
def test_a_task_file_fits_on_one_screen(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= LONGEST_TASK_FILE


@task_files
def test_no_role_variable_has_a_second_default_in_a_task(path: Path) -> None:
    assert re.findall(r"\| *default\(", path.read_text("utf-8")) == []


@task_files
def test_registered_names_are_internal(path: Path) -> None:
    role = path.parts[-3]
    names = [task["register"] for task in tasks_of(path) if "register" in task]
    assert [name for name in names if not name.startswith(f"__{role}_")] == []
