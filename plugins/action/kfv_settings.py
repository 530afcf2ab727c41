"""kfv_settings: the inventory is validated before the first change. Documented in plugins/modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ansible.errors import AnsibleError

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, show
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.values import Variables, undecryptable
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.redaction import without_logins
from kubeflow_volcano.rollout.settings.hosts import (
    hosts_of_cluster,
    node_paths,
    others,
    validate_groups,
    validate_hosts,
    validate_node_paths,
)
from kubeflow_volcano.rollout.settings.settings import parse
from kubeflow_volcano.rollout.settings.variables import NOT_IN_RESULTS, SECRETS, is_public, unread
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.hosts import CHECKS as HOST_CHECKS
from kubeflow_volcano.validators.run.selection import select, waivers


class ActionModule(Action):
    """Collect, template and check the public variables of the host."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the settings as plain values; fail with every problem of them."""
        given, of_hosts = arguments["variables"], arguments["list_others"]
        variables, problems = _evaluated(self.variables) if given is None else (given, [])
        problems += _about_checks(variables)
        try:
            settings = parse(variables)
        except ProblemsError as error:
            problems += error.problems
        if given is None and self.variables.get("inventory_hostname") == "localhost":
            hosts, more = self._hosts(problems)
            problems += [*more, *validate_groups(self.groups, of_hosts=of_hosts, needed=arguments["need_hosts"])]
            if not problems:
                variables |= {"local_path_node_paths": node_paths(variables, hosts)}
        if problems:
            raise InvalidInput(problems)
        if of_hosts and (left := others(self.groups)):
            show(f"left alone, because they are in neither control_plane nor nodes: {few(left)}")
        if of_hosts and (foreign := unread(self.variables)):
            show(f"not read, because they are no variables of kubeflow_volcano.platform: {few(foreign)}")
        public = [name for name in variables if is_public(name) and name not in NOT_IN_RESULTS]
        return {
            "settings": {name: without_logins(variables[name]) for name in public},
            "components": [component.name for component in settings.components],
            "kustomize": str(settings.kustomize),
            "kustomize_version": settings.kustomize_version,
        }

    def _hosts(self, known: Iterable[Problem]) -> tuple[dict[str, dict[str, Any]], Iterable[Problem]]:
        """Variables of hosts, and their problems that localhost does not have too."""
        cluster, _ = _evaluated(self.variables_of("localhost"))
        values: dict[str, dict[str, Any]] = {}
        broken: dict[Problem, list[str]] = {}
        for host in hosts_of_cluster(self.groups):
            values[host], problems = _evaluated(self.variables_of(host))
            for problem in problems:
                broken.setdefault(problem, []).append(host)
        of_hosts = [
            Problem(f"on {few(hosts)}: {problem.found}", problem.needed, problem.todo)
            for problem, hosts in broken.items()
            if problem not in known
        ]
        return values, [*of_hosts, *validate_hosts(cluster, values), *validate_node_paths(cluster, values)]


def _evaluated(variables: Variables) -> tuple[dict[str, Any], list[Problem]]:
    """Public variables with their values, and a problem for each that cannot be templated."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    locked: dict[str, list[str]] = {}
    for name in sorted(name for name in variables if is_public(name) or _is_of_connection(name, variables)):
        try:
            value = variables[name]
            if is_public(name):
                values[name] = value
        except AnsibleError as error:
            if why := undecryptable(error):
                locked.setdefault(why, []).append(name)
                continue
            # The message quotes what cannot be templated.
            why = "" if name in SECRETS else f": {without_logins(str(error))}"
            problems.append(
                Problem(
                    f"the variable {name} cannot be evaluated{why}.",
                    "a value, or a template in which every variable is defined.",
                    f"correct {name} in the inventory.",
                )
            )
    return values, problems + [_locked(names, why) for why, names in locked.items()]


def _is_of_connection(name: str, variables: Variables) -> bool:
    """Whether it is a variable of Ansible that is encrypted; those of other programs are not looked at."""
    return name.startswith("ansible_") and variables.is_encrypted(name)


def _locked(names: Sequence[str], why: str) -> Problem:
    return Problem(
        f"{', '.join(names)}: encrypted with ansible-vault, and {why}.",
        "the password with which they were encrypted.",
        "run the same command with --ask-vault-pass or --vault-password-file FILE; what a password was lost for has to "
        "be written again.",
    )


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
