"""kfv_validate_clusters: what was found on several clusters is put together. Documented in plugins/modules."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.color import ANSIBLE_COLOR
from ansible.utils.display import Display

try:
    from kubeflow_volcano.problems import Exit, Problem
    from validators.report.clusters import files
    from validators.report.clusters.console import render, told
    from validators.report.clusters.document import Combined, Judged
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "clusters": {"type": "list", "elements": "str", "required": True},
    "report_directory": {"type": "path", "default": "reports"},
}

_RUN = "__validation_run"
"""Under what the role registers answers of kfv_validate."""


class ActionModule(ActionBase):
    """One summary and one report of all clusters, from the Python that runs Ansible."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Show a line for each cluster and every finding once. In check mode no report is written."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        known = (task_vars or {})["hostvars"]
        combined = Combined([_judged(name, known[name].get(_RUN)) for name in arguments["clusters"]])
        directory = None if self._task.check_mode else Path(arguments["report_directory"])
        if directory:
            files.write(combined, directory)
        document = combined.as_dict(directory)
        Display().display(f"\n{render(document, combined.files, colour=ANSIBLE_COLOR)}")
        if combined.unwritten:
            return result | {"failed": True, "msg": str(combined.unwritten), "exit_code": int(combined.exit_code)}
        return result | {
            "changed": False,
            "exit_code": int(combined.exit_code),
            "msg": told(document),
            "report": document,
            "files": dict(combined.files),
        }


def _judged(name: str, registered: Mapping[str, Any] | None) -> Judged:
    run = _plain(registered or {})
    if "exit_code" not in run:
        problem = Problem(
            "this cluster was not judged; what its task said stands above.", "a task that comes to its end.", "mend it."
        )
        return Judged(name, Exit.INCOMPLETE, problems=(problem,))
    problems = tuple(Problem(**item) for item in run.get("problems", ()))
    return Judged(name, Exit(run["exit_code"]), run.get("report"), run.get("files", {}), problems)


def _plain(registered: Mapping[str, Any]) -> dict[str, Any]:
    """Without Ansible's own types, which template lazily."""
    plain: dict[str, Any] = json.loads(json.dumps(registered, default=str))
    return plain
