"""kfv_settings: the inventory is checked whole before anything is changed. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

try:
    from kubeflow_volcano.problems import Problem, ProblemsError
    from kubeflow_volcano.rollout.settings.hosts import node_paths, validate_hosts, validate_node_paths
    from kubeflow_volcano.rollout.settings.settings import parse
    from kubeflow_volcano.rollout.settings.variables import PREFIXES, SECRETS
    from kubeflow_volcano.text import few
    from validators.checks import CHECKS
    from validators.hosts.checks import CHECKS as HOST_CHECKS
    from validators.run.selection import select, waivers
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {"variables": {"type": "dict"}}


class ActionModule(ActionBase):
    """Collect, template and check the public variables of the host."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the settings as plain values, or every problem with them."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        given = arguments["variables"]
        variables, problems = self._own(task_vars or {}) if given is None else (plain(given), [])
        problems += _about_checks(variables)
        try:
            settings = parse(variables)
        except ProblemsError as error:
            problems += error.problems
        if given is None and (task_vars or {}).get("inventory_hostname") == "localhost":
            hosts, more = _hosts(task_vars or {}, problems)
            problems += more
            if not problems:
                variables |= {"local_path_node_paths": node_paths(variables, hosts)}
        if problems:
            return result | {"failed": True, "msg": ProblemsError(problems).describe()}
        return result | {
            "changed": False,
            "settings": {
                name: value for name, value in variables.items() if name.startswith(PREFIXES) and name not in SECRETS
            },
            "components": [component.name for component in settings.components],
            "kustomize": str(settings.kustomize),
            "kustomize_version": settings.kustomize_version,
        }

    def _own(self, task_vars: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
        return _worked_out(task_vars, lambda name: self._templar.template(task_vars[name]))


def _hosts(
    task_vars: Mapping[str, Any], known: Iterable[Problem]
) -> tuple[dict[str, dict[str, Any]], Iterable[Problem]]:
    """Variables of the other hosts of the inventory, and what is wrong with them and not yet known of localhost."""
    of_all = task_vars["hostvars"]["localhost"]
    cluster, _ = _worked_out(of_all, of_all.__getitem__)
    found: dict[str, dict[str, Any]] = {}
    broken: dict[Problem, list[str]] = {}
    for host in task_vars["groups"]["all"]:
        if host == "localhost":
            continue
        variables = task_vars["hostvars"][host]
        found[host], problems = _worked_out(variables, variables.__getitem__)
        for problem in problems:
            broken.setdefault(problem, []).append(host)
    told = [
        Problem(f"on {few(hosts)}: {problem.found}", problem.needed, problem.todo)
        for problem, hosts in broken.items()
        if problem not in known
    ]
    return found, [*told, *validate_hosts(cluster, found), *validate_node_paths(cluster, found)]


def _worked_out(names: Iterable[str], value: Callable[[str], Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Public variables among `names` with their values, and what is wrong with those that have none."""
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    for name in sorted(name for name in names if name.startswith(PREFIXES)):
        try:
            found[name] = plain(value(name))
        except AnsibleError as error:
            problems.append(
                Problem(
                    f"the variable {name} cannot be worked out: {error}.",
                    "a value, or a template whose parts all exist.",
                    f"correct {name} in the inventory.",
                )
            )
    return found, problems


def _about_checks(variables: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the names of checks; values of a wrong type are left to the settings' schema."""
    problems: list[Problem] = []
    for prefix, checks in (("validation", CHECKS), ("preflight", HOST_CHECKS)):
        selected, waived = (variables.get(f"{prefix}_{name}") for name in ("select", "waivers"))
        if isinstance(selected, list):
            problems += _problems_of(partial(select, checks, [str(word) for word in selected]))
        if isinstance(waived, dict):
            problems += _problems_of(partial(waivers, checks, {str(word): str(waived[word]) for word in waived}))
    return problems


def _problems_of(look: Callable[[], object]) -> tuple[Problem, ...]:
    try:
        look()
    except ProblemsError as error:
        return error.problems
    return ()


def plain(value: Any) -> Any:
    """The value without Ansible's own types, which remember where a value came from and template lazily."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    kind = next((kind for kind in (bool, int, float, str) if isinstance(value, kind)), None)
    return kind(value) if kind else value
