"""kfv_volume_table: the volumes of all hosts in one table. Documented in plugins/modules."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.hosts.volumes.owners import VolumeOwner
    from kubeflow_volcano.hosts.volumes.table import rendered, rows
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "owners": {"type": "list", "elements": "dict", "required": True},
    "hosts": {"type": "dict", "required": True},
    "answers": {"type": "str", "required": True},
}


class ActionModule(ActionBase):
    """Put together what single hosts answered."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Print the table, and return its rows."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        variables = task_vars or {}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        owners = [VolumeOwner(**{**item, "gids": tuple(item["gids"])}) for item in arguments["owners"]]
        answers = {}
        for host in variables["groups"]["all"]:
            answer = variables["hostvars"][host].get(arguments["answers"]) or {}
            if "volumes" in answer:
                answers[host] = answer["volumes"]
        found = rows(owners, arguments["hosts"], answers)
        Display().display(rendered(found))
        return result | {"rows": [dataclasses.asdict(row) for row in found]}
