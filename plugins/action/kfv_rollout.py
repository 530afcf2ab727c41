"""kfv_rollout: everything that is chosen is rolled out as one graph. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.cluster.api.client import Cluster
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.rollout.run import roll_out
    from kubeflow_volcano.rollout.scope import ROLES, scope_of
    from kubeflow_volcano.rollout.settings.settings import parse
    from kubeflow_volcano.rollout.settings.variables import SECRETS
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "roles": {"type": "list", "elements": "str", "choices": list(ROLES), "default": list(ROLES)},
    "settings": {"type": "dict", "required": True},
}


class ActionModule(ActionBase):
    """Roll components out, from the Python that runs Ansible."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Report what became of each object; failed if one was refused or did not become ready."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            settings = parse(arguments["settings"] | self._secrets(task_vars or {}))
            done = roll_out(
                Cluster.connect(settings.kubeconfig, settings.context),
                settings,
                scope_of(settings, arguments["roles"]),
                check=self._task.check_mode,
                progress=lambda line: Display().display(f"  {line}"),
                texts=self._task.diff,
            )
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe(), "exit_code": int(error.exit_code)}
        for warning in done.warnings:
            Display().warning(str(warning))
        result |= done.as_dict()
        if self._task.diff:
            result["diff"] = done.diff()
        return result

    def _secrets(self, task_vars: Mapping[str, Any]) -> dict[str, str]:
        """What kfv_settings leaves out of its result, straight from the inventory."""
        return {name: str(self._templar.template(task_vars[name])) for name in SECRETS if name in task_vars}
