"""kfv_scenario: a job is watched under one case of an experiment. Documented in plugins/modules."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from kubeflow_volcano.cluster.client import Cluster
    from kubeflow_volcano.problems import ProblemsError
    from validators.scenarios.source_experiment import CASES, Observation, observe, side_by_side
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "case": {"type": "str", "choices": ["default", "gang-short", "gang-fits"]},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
    "observations": {"type": "list", "elements": "dict"},
}


class ActionModule(ActionBase):
    """Observe one case, or show what was observed."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Nothing of an observation is left in the cluster, so nothing counts as changed."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(
            argument_spec=ARGUMENTS,
            required_one_of=[["case", "observations"]],
            mutually_exclusive=[["case", "observations"]],
        )
        if arguments["observations"]:
            return result | _shown([Observation(**item) for item in arguments["observations"]])
        if self._task.check_mode:
            return result | {"skipped": True, "msg": "an experiment is not run in check mode"}
        try:
            kubeconfig = Path(arguments["kubeconfig"]) if arguments["kubeconfig"] else None
            cluster = Cluster.connect(kubeconfig, arguments["context"])
            observation = observe(cluster, CASES[arguments["case"]], _tell)
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.told()}
        return result | {"observation": asdict(observation)}


def _tell(line: str) -> None:
    Display().display(f"  {line}")


def _shown(observations: list[Observation]) -> dict[str, Any]:
    Display().display(
        f"\n{side_by_side(observations)}\n\n* a simulated node: placed by the real scheduler, run by nobody\n"
    )
    wrong = [f"{item.title}: {item.problem}" for item in observations if item.problem]
    return {"failed": bool(wrong), "msg": "; ".join(wrong) or "every case came out as claimed"}
