"""kfv_containerd_verdict: what keeps nodes from being set up, of all of them at once. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

try:
    from kubeflow_volcano.problems import Problem, ProblemsError
    from kubeflow_volcano.text import few
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {"nodes": {"type": "dict", "required": True}}


class ActionModule(ActionBase):
    """Put equal problems of several nodes together."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with all problems of all nodes."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        met: dict[Problem, list[str]] = defaultdict(list)
        for node, look in arguments["nodes"].items():
            for item in (look if isinstance(look, dict) else {}).get("problems", ()):
                met[Problem(str(item["found"]), str(item["needed"]), str(item["todo"]))].append(node)
        if not met:
            return result
        problems = [Problem(f"on {few(nodes)}: {item.found}", item.needed, item.todo) for item, nodes in met.items()]
        return result | {"failed": True, "msg": ProblemsError(problems).describe()}
