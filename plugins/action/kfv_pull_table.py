"""kfv_pull_table: what became of the images of all nodes, told once. Documented in plugins/modules."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.hosts.pulling.ledger import Ledger
    from kubeflow_volcano.hosts.pulling.table import problems, table, warnings
    from kubeflow_volcano.problems import ProblemsError
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {"ledger": {"type": "str", "required": True}}


class ActionModule(ActionBase):
    """Read the ledger, show it, and remove it."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Show a line per node; fail with everything that keeps a node from having its images."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        path = Path(arguments["ledger"])
        state = Ledger(path).read()
        shutil.rmtree(path.parent)
        nodes = {name: node["result"] for name, node in state["nodes"].items()}
        Display().display(f"\n{table(nodes)}\n")
        for warning in warnings(nodes):
            Display().warning(str(warning))
        found = tuple(problems(nodes, state["refused"], state["stopped"]))
        if found:
            return result | {"failed": True, "msg": ProblemsError(found).describe()}
        return result | {"nodes": nodes}
