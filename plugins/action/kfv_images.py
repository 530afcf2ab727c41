"""kfv_images: what becomes of the names of images, and whether the mirror has them. Documented in plugins/modules."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.problems import InvalidInput, ProblemsError
    from kubeflow_volcano.rollout.desired import desired
    from kubeflow_volcano.rollout.images.registry.probe import ask_mirror
    from kubeflow_volcano.rollout.images.report import table
    from kubeflow_volcano.rollout.images.report.image_list import report
    from kubeflow_volcano.rollout.settings.settings import Settings, parse
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "settings": {"type": "dict", "required": True},
    "probe": {"type": "bool", "default": True},
}


class ActionModule(ActionBase):
    """Rename, in memory, the images of everything that is to be rolled out; ask the mirror where that is asked for."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Show what each rule does; fail with every rule that cannot be followed and every image that is missing."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(argument_spec=ARGUMENTS)
        try:
            return result | _looked_at(parse(arguments["settings"]), probe=arguments["probe"])
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe()}


def _looked_at(settings: Settings, *, probe: bool) -> dict[str, Any]:
    found = report(desired(settings, settings.components, _tell).images, settings)
    rows = table.rows(settings.mirror, found.entries)
    Display().display(table.render(rows))
    for warning in found.warnings:
        Display().warning(str(warning))
    requests = 0
    if settings.mirror.probe and probe:
        asked = ask_mirror(found, settings.mirror, _tell)
        requests = asked.requests
        if problems := tuple(asked.problems()):
            raise InvalidInput(problems)
    return {
        "rules": [asdict(row) for row in rows],
        "images": len(found.entries),
        "requests": requests,
        "registries": found.registries,
    }


def _tell(line: str) -> None:
    Display().display(f"  {line}")
