"""kfv_gang_wiring: the training operator is wired to Volcano. Documented in plugins/modules."""

from __future__ import annotations

import sys
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.cluster.api.client import Cluster
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.rollout.settings.settings import parse
    from kubeflow_volcano.rollout.wiring import wire_gang
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "settings": {"type": "dict", "required": True},
}


class ActionModule(ActionBase):
    """Wire the operator, from the Python that runs Ansible."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Report what became of the operator; failed when it was refused or did not come up."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            settings = parse(arguments["settings"])
            done = wire_gang(
                Cluster.connect(settings.kubeconfig, settings.context),
                settings,
                check=self._task.check_mode,
                progress=lambda line: Display().display(f"  {line}"),
            )
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.told(), "exit_code": int(error.exit_code)}
        result |= done.as_dict()
        if self._task.diff:
            result["diff"] = done.diff()
        return result
