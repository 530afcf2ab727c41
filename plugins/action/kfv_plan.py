"""kfv_plan: what a roll-out would do, told without a cluster. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.problems import ProblemsError
    from kubeflow_volcano.rollout.plan import console
    from kubeflow_volcano.rollout.plan.build import Plan, plan
    from kubeflow_volcano.rollout.plan.files import MARKDOWN, texts_of, write
    from kubeflow_volcano.rollout.plan.findings import Verdict
    from kubeflow_volcano.rollout.settings.settings import parse
    from kubeflow_volcano.rollout.settings.variables import SECRETS
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {"settings": {"type": "dict", "required": True}}


class ActionModule(ActionBase):
    """Plan, from the Python that runs Ansible."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Write and show the plan. A verdict does not fail the task: `exit_code` says what the gate is told."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            settings = parse(arguments["settings"] | self._secrets(task_vars or {}))
            nodes = (task_vars or {}).get("groups", {}).get("nodes", ())
            found = plan(settings, lambda line: Display().display(f"  {line}"), [str(name) for name in nodes])
            document = found.as_dict()
            files = {} if self._task.check_mode else write(settings.plan.directory, texts_of(found, document))
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe(), "exit_code": int(error.exit_code)}
        Display().display(f"\n{console.render(document, files)}")
        return result | {
            "exit_code": int(found.exit_code),
            "msg": _told(found, files),
            "plan": document,
            "files": files,
        }

    def _secrets(self, task_vars: Mapping[str, Any]) -> dict[str, str]:
        """What kfv_settings leaves out of its result, straight from the inventory."""
        return {name: str(self._templar.template(task_vars[name])) for name in SECRETS if name in task_vars}


def _told(found: Plan, files: Mapping[str, str]) -> str:
    """The verdict, and what stands in its way."""
    lines = [f"verdict {found.verdict}, exit code {int(found.exit_code)}"]
    lines += [f"{item.verdict}: {item.title}: {item.found}" for item in found.findings if item.verdict is Verdict.FAIL]
    lines += [f"read {files[MARKDOWN]}"] if files else []
    return "\n".join(lines)
