"""kfv_kustomize: the kustomize of a release, on the machine that runs Ansible. Documented in plugins/modules."""

from __future__ import annotations

import sys
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.rollout.manifests.kustomize_binary import provide
    from kubeflow_volcano.rollout.settings.settings import parse
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "settings": {"type": "dict", "required": True},
    "machine": {"type": "str", "default": ""},
}


class ActionModule(ActionBase):
    """Find or download the binary."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the path of the binary, or every reason why there is none."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            settings = parse(arguments["settings"])
            found = provide(settings, arguments["machine"], lambda line: Display().display(f"  {line}"))
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe()}
        return result | {"changed": found.changed, "path": str(found.path), "version": settings.kustomize_version}
