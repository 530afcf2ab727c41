"""kfv_settings: the inventory is validated before the first change. Documented in plugins/modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from ansible.errors import AnsibleError

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, show
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.redaction import without_logins
from kubeflow_volcano.rollout.settings.hosts import (
    hosts_of_cluster,
    node_paths,
    validate_groups,
    validate_hosts,
    validate_node_paths,
)
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.settings.variables import SECRETS, is_public, unread
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.hosts import CHECKS as HOST_CHECKS
from kubeflow_volcano.validators.run.selection import select, waivers


class ActionModule(Action):
    """Collect, template and check the public variables of the host."""

    ARGUMENTS: ClassVar = {"variables": {"type": "dict"}, "list_others": {"type": "bool", "default": False}}

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the settings as plain values; fail with every problem of them."""
        given = arguments["variables"]
        variables, problems = _evaluated(self.variables) if given is None else (given, [])
        problems += _about_checks(variables)
        try:
            settings = parse(variables)
        except ProblemsError as error:
            problems += error.problems
        if given is None and self.variables.get("inventory_hostname") == "localhost":
            hosts, more = self._hosts(problems)
            problems += [*more, *validate_groups(self.groups, of_hosts=arguments["list_others"])]
            if not problems:
                variables |= {"local_path_node_paths": node_paths(variables, hosts)}
        if problems:
            raise InvalidInput(problems)
        if arguments["list_others"] and (others := _others(self.groups)):
            show(f"left alone, because they are in neither control_plane nor nodes: {few(others)}")
        if arguments["list_others"] and (foreign := unread(self.variables)):
            show(f"not read, because they are no variables of kubeflow_volcano.platform: {few(foreign)}")
        public = [name for name in variables if is_public(name) and name not in SECRETS]
        return {
            "settings": {name: without_logins(variables[name]) for name in public},
            "components": [component.name for component in settings.components],
            "kustomize": str(settings.kustomize),
            "kustomize_version": settings.kustomize_version,
        }

    def _hosts(self, known: Iterable[Problem]) -> tuple[dict[str, dict[str, Any]], Iterable[Problem]]:
        """Variables of hosts, and their problems that localhost does not have too."""
        cluster, _ = _evaluated(self.variables_of("localhost"))
        found: dict[str, dict[str, Any]] = {}
        broken: dict[Problem, list[str]] = {}
        for host in hosts_of_cluster(self.groups):
            found[host], problems = _evaluated(self.variables_of(host))
            for problem in problems:
                broken.setdefault(problem, []).append(host)
        told = [
            Problem(f"on {few(hosts)}: {problem.found}", problem.needed, problem.todo)
            for problem, hosts in broken.items()
            if problem not in known
        ]
        return found, [*told, *validate_hosts(cluster, found), *validate_node_paths(cluster, found)]


def _others(groups: Mapping[str, Iterable[str]]) -> list[str]:
    """Hosts of the inventory that no play works on."""
    return sorted({*groups["all"]} - {"localhost", *hosts_of_cluster(groups), *groups.get("clusters", ())})


def _evaluated(variables: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """Public variables with their values, and a problem for each that cannot be templated."""
    found: dict[str, Any] = {}
    problems: list[Problem] = []
    for name in sorted(filter(is_public, variables)):
        try:
            found[name] = variables[name]
        except AnsibleError as error:
            # The message quotes what cannot be templated.
            why = "" if name in SECRETS else f": {without_logins(str(error))}"
            problems.append(
                Problem(
                    f"the variable {name} cannot be evaluated{why}.",
                    "a value, or a template in which every variable is defined.",
                    f"correct {name} in the inventory.",
                )
            )
    return found, problems


def _about_checks(variables: Mapping[str, Any]) -> list[Problem]:
    """Problems with names of checks; the settings' schema reports values of a wrong type."""
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
