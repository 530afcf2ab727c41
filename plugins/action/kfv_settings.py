"""kfv_settings: the inventory is checked whole before anything is changed. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

try:
    from kubeflow_volcano.problems import Problem, ProblemsError
    from kubeflow_volcano.rollout.settings import PREFIXES, parse
    from kubeflow_volcano.rollout.shape import SECRETS
    from validators.checks import CHECKS
    from validators.selection import select, waivers
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
        variables, problems = self._of_host(task_vars or {}) if given is None else (plain(given), [])
        problems += _about_checks(variables)
        try:
            settings = parse(variables)
        except ProblemsError as error:
            problems += error.problems
        if problems:
            return result | {"failed": True, "msg": ProblemsError(problems).told()}
        return result | {
            "changed": False,
            "settings": {
                name: value for name, value in variables.items() if name.startswith(PREFIXES) and name not in SECRETS
            },
            "components": [component.name for component in settings.components],
            "kustomize": str(settings.kustomize),
            "kustomize_version": settings.kustomize_version,
        }

    def _of_host(self, task_vars: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
        found: dict[str, Any] = {}
        problems: list[Problem] = []
        for name in sorted(task_vars):
            if not name.startswith(PREFIXES):
                continue
            try:
                found[name] = plain(self._templar.template(task_vars[name]))
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
    selected, waived = (variables.get(f"validation_{name}") for name in ("select", "waivers"))
    problems: list[Problem] = []
    if isinstance(selected, list):
        problems += _problems_of(partial(select, CHECKS, [str(word) for word in selected]))
    if isinstance(waived, dict):
        problems += _problems_of(partial(waivers, CHECKS, {str(word): str(waived[word]) for word in waived}))
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
