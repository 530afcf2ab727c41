"""kfv_preflight: what stands in the way of a roll-out, before its first change. Documented in plugins/modules."""

from __future__ import annotations

import sys
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.cluster.api.client import Cluster
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.rollout.preflight import preflight
    from kubeflow_volcano.rollout.settings.settings import parse
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {"settings": {"type": "dict", "required": True}}


class ActionModule(ActionBase):
    """Look at versions, sources, manifests and storage of everything that is to be rolled out."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with every reason why the roll-out would."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            settings = parse(arguments["settings"])
            cluster = Cluster.connect(settings.kubeconfig, settings.context)
            count = preflight(cluster, settings, lambda line: Display().display(f"  {line}"))
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.told()}
        return result | {"objects": count}
