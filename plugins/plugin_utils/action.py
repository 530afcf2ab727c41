"""What every action plugin of this project does around its work, on the machine that runs Ansible."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.template import Templar
from ansible.utils.display import Display

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.library import COLLECTION
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.values import Variables, plain

try:
    from kubeflow_volcano.experiment.interruption import ending_with_parent
    from kubeflow_volcano.foreign import read_yaml
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.redaction import MASKED, without_logins
    from kubeflow_volcano.rollout.hints import HINTS
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
    from kubeflow_volcano.rollout.settings.variables import NOT_IN_RESULTS, is_public
    from kubeflow_volcano.text import visible
except ImportError as error:
    message = (
        f"Found: {sys.executable}, which runs Ansible, cannot import {error.name}. "
        "Needed: the library kubeflow-volcano with all that it requires. Do: install its wheel there with pip."
    )
    raise AnsibleError(message) from error


class Action(ActionBase):
    """Checks the task's arguments, calls `answer`, and turns problems that it raises into a failed result."""

    TRANSFERS_FILES = False
    ARGUMENTS: ClassVar[Mapping[str, Any]] = {}
    """Specification of the task's arguments; of a class without its own, what the documentation of its plugin says."""
    _task_vars: Mapping[str, Any] = MappingProxyType({})
    variables = Variables(_task_vars, None)
    """Those of the task's host, once it runs."""
    RULES: ClassVar[Mapping[str, Any]] = {}
    """Rules between them, such as `required_if`."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "ARGUMENTS" not in vars(cls):
            cls.ARGUMENTS = arguments_of(inspect.getfile(cls))

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of the task; Ansible calls this."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=self.ARGUMENTS, **self.RULES)
        self._task_vars = task_vars or {}
        self.variables = Variables(self._task_vars, self._templar)
        try:
            with ending_with_parent():
                return result | self.answer(plain(arguments))
        except ProblemsError as error:
            return result | failed(error)
        finally:
            self._remove_tmp_path(self._connection._shell.tmpdir)  # noqa: SLF001  as Ansible's own actions do

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do the task's work; returns what is added to its result.

        Raises:
            ProblemsError: it cannot be done.
        """
        raise NotImplementedError

    @property
    def check_mode(self) -> bool:
        """Whether nothing may be changed."""
        return bool(self._task.check_mode)

    @property
    def host(self) -> str:
        """Name of the task's host in the inventory."""
        return str(self.variables["inventory_hostname"])

    @property
    def groups(self) -> dict[str, list[str]]:
        """Names of the inventory's hosts by group."""
        groups: dict[str, list[str]] = plain(self._task_vars["groups"])
        return groups

    def variables_of(self, host: str) -> Variables:
        """Variables of another host, templated for it; unlike Ansible's own they may name further hosts' variables."""
        known = self._task_vars["hostvars"]
        own = {**known.raw_get(host), "hostvars": known}
        return Variables(own, Templar(loader=self._loader, variables=own))

    def progress(self, line: str) -> None:
        """Print a line of progress, of one of several clusters with its name."""
        show(f"{self.host}: {line}" if "clusters" in self.variables["group_names"] else line)

    def ask(self, module: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a module that runs on the host, also a failed one."""
        name = f"{COLLECTION}.{module}"
        answer: dict[str, Any] = plain(self._execute_module(name, module_args=arguments, task_vars=self._task_vars))
        return answer

    def need(self, module: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a module that runs on the host.

        Raises:
            AnsibleError: it failed, with its message.
        """
        answer = self.ask(module, **arguments)
        if answer.get("failed") or answer.get("unreachable"):
            raise AnsibleError(str(answer.get("msg") or f"{module} gave no answer"))
        return answer

    def settings_with_secrets(self, settings: Mapping[str, Any]) -> Settings:
        """Settings of kfv_settings, with the secrets that its result leaves out, straight from the inventory."""
        found = {**settings, **{name: self.variables[name] for name in NOT_IN_RESULTS if name in self.variables}}
        for name, shown in settings.items():
            if MASKED in str(shown) and name in self.variables:
                own = self.variables[name]
                found[name] = own if without_logins(own) == shown else shown
        return parse(found)

    def settings_of_cluster(self) -> Settings:
        """Settings of the cluster, which are localhost's and not those of the task's host."""
        own = self.variables_of("localhost")
        return parse({name: own[name] for name in own if is_public(name)})


def arguments_of(action: str) -> dict[str, Any]:
    """The specification of a task's arguments, by what the documentation of the action's file says of its options."""
    documented = Path(action).parents[1] / "modules" / f"{Path(action).stem}.yml"
    options: dict[str, dict[str, Any]] = read_yaml(documented.read_text("utf-8"))["DOCUMENTATION"]["options"]
    return {name: {key: option[key] for key in option if key != "description"} for name, option in options.items()}


def failed(error: ProblemsError) -> dict[str, Any]:
    """The result of a task with these problems."""
    hinted = ProblemsError(problem.hinted(HINTS) for problem in error.problems)
    return {"failed": True, "msg": hinted.describe(), "exit_code": int(error.exit_code)}


def display(text: str) -> None:
    """Print a text, of which the cluster or a host may have written a part."""
    Display().display(visible(text))


def show(line: str) -> None:
    """Print a line of progress."""
    display(f"  {line}")


def warn(text: object) -> None:
    """Print a warning."""
    Display().warning(visible(str(text)))
