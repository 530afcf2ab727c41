"""kfv_plan: what a roll-out would do, without a cluster. Documented in plugins/modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, display, show
from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.scheduled import with_schedule
from kubeflow_volcano.rollout.images.registry.identities import with_identities
from kubeflow_volcano.rollout.plan import console
from kubeflow_volcano.rollout.plan.build import Plan, plan
from kubeflow_volcano.rollout.plan.files import MARKDOWN, texts_of, write
from kubeflow_volcano.rollout.plan.findings import Verdict


class ActionModule(Action):
    """Plan the roll-out."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Write and show the plan. Its verdict does not fail the task: the role's gate reads `exit_code`."""
        settings = with_identities(with_schedule(self.settings_with_secrets(arguments["settings"])), show)
        planned = plan(settings, show, self.groups.get("nodes", ()))
        document = planned.as_dict()
        files = {} if self.check_mode else write(settings.plan.directory, texts_of(planned, document))
        display(f"\n{console.render(document, files)}")
        return {
            "exit_code": int(planned.exit_code),
            "msg": _described(planned, files),
            "plan": document,
            "files": files,
        }


def _described(planned: Plan, files: Mapping[str, str]) -> str:
    """The verdict and the findings that fail."""
    lines = [f"verdict {planned.verdict}, exit code {int(planned.exit_code)}"]
    lines += [
        f"{item.verdict}: {item.title}: {item.found}" for item in planned.findings if item.verdict is Verdict.FAIL
    ]
    lines += [f"read {files[MARKDOWN]}"] if files else []
    return "\n".join(lines)
