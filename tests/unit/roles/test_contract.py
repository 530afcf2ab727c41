"""What every role promises, read from its files: tasks that a person can follow."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.places import ROOT

ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
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


def tasks_of(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    waiting = list(yaml.safe_load(path.read_text("utf-8")) or [])
    while waiting:
        task = waiting.pop(0)
        found.append(task)
        waiting += [*task.get("block", []), *task.get("rescue", [])]
    return found


@cache
def tasks() -> dict[Path, list[dict[str, Any]]]:
    return {path: tasks_of(path) for path in sorted((ROOT / "roles").glob("*/tasks/*.yml"))}


def module_of(task: dict[str, Any]) -> str:
    (module,) = set(task) - TASK_KEYWORDS or {"block"}
    return str(module)


def test_a_role_has_every_file_that_all_roles_have() -> None:
    wanted = ["README.md", "defaults/main.yml", "meta/argument_specs.yml", "meta/main.yml", "tasks/main.yml"]
    assert ROLES
    assert [role / name for role in ROLES for name in wanted if not (role / name).is_file()] == []


def test_every_task_has_a_name_that_is_an_order() -> None:
    names = {path: [task.get("name", "") for task in found] for path, found in tasks().items()}
    assert [path for path, found in names.items() if not found] == []
    assert [name for found in names.values() for name in found if not re.match(r"[A-Z][a-z]+ ", name)] == []


def test_modules_are_named_in_full_and_none_is_a_shell_or_a_sleep() -> None:
    modules = {module_of(task) for found in tasks().values() for task in found} - {"block"}
    assert modules & FORBIDDEN_MODULES == set()
    assert [name for name in modules if not name.startswith("ansible.builtin.") and name not in OWN_PLUGINS] == []


def test_no_error_is_ignored_no_version_is_in_a_task_and_no_variable_has_a_second_default_there() -> None:
    wrong = r"ignore_errors|failed_when: false|ignore_unreachable|\d+\.\d+|\| *default\("
    assert [(path, found) for path in tasks() if (found := re.findall(wrong, path.read_text("utf-8")))] == []


def test_registered_names_are_internal() -> None:
    names = [(path, task["register"]) for path, found in tasks().items() for task in found if "register" in task]
    assert [name for path, name in names if not name.startswith(f"__{path.parts[-3]}_")] == []
