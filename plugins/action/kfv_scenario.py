"""kfv_scenario: scenarios of gang scheduling are played and shown. Documented in plugins/modules."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

try:
    from gang_demo.catalogue import require_kinds, select_cases
    from gang_demo.model import Outcome
    from gang_demo.play.configuration import wait_until_read
    from gang_demo.play.running import play_all
    from gang_demo.play.stand import Case
    from gang_demo.show.report import read, side_by_side, write
    from kubeflow_volcano.cluster.api.client import Cluster
    from kubeflow_volcano.cluster.api.errors import ApiError
    from kubeflow_volcano.problems import Problem, ProblemsError
    from kubeflow_volcano.rehearsal.cluster.simulated_nodes import require_rehearsal_cluster, sync
    from kubeflow_volcano.rehearsal.spec import RehearsalSpec
except ImportError as error:
    message = f"Found: {sys.executable}, which runs Ansible, cannot import this project. Do: install it there with pip"
    raise AnsibleError(message) from error

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "required": True, "choices": ["known", "settled", "played", "shown"]},
    "scenarios": {"type": "list", "elements": "str", "default": []},
    "wiring": {"type": "str", "choices": ["none", "volcano"]},
    "kubeconfig": {"type": "path"},
    "context": {"type": "str"},
    "outcomes": {"type": "list", "elements": "dict", "default": []},
    "report_directory": {"type": "path", "default": "reports"},
}


class ActionModule(ActionBase):
    """Play scenarios, or show how they came out."""

    TRANSFERS_FILES = False
    _requires_connection = False

    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Nothing of a scenario is left in the cluster, so nothing counts as changed."""
        result: dict[str, Any] = super().run(tmp, task_vars) | {"changed": False}
        _, arguments = self.validate_argument_spec(
            argument_spec=ARGUMENTS, required_if=[("state", "played", ["wiring"])]
        )
        try:
            cases = select_cases(arguments["scenarios"])
            if self._task.check_mode:
                return result | {"skipped": True, "msg": "a scenario is not played in check mode"}
            if arguments["state"] == "shown":
                return result | _shown(read(arguments["outcomes"]), Path(arguments["report_directory"]))
            return result | _on_cluster(cases, arguments)
        except ApiError as error:
            problem = Problem(
                f"the API server answered: {error}.",
                "one that answers, and the rights of cluster-admin.",
                "see to its health and to the kubeconfig, and run again.",
            )
            return result | {"failed": True, "msg": ProblemsError(problem).describe()}
        except ProblemsError as error:
            return result | {"failed": True, "msg": error.describe()}


def _on_cluster(cases: Sequence[Case], arguments: Mapping[str, Any]) -> dict[str, Any]:
    cluster = Cluster.connect(Path(arguments["kubeconfig"]) if arguments["kubeconfig"] else None, arguments["context"])
    require_rehearsal_cluster(cluster)
    if arguments["state"] == "known":
        require_kinds(cluster, cases)
        return {}
    if arguments["state"] == "settled":
        wait_until_read(cluster, _tell)
        return {}
    return {"outcomes": _played(cluster, cases, arguments["wiring"])}


def _tell(line: str) -> None:
    Display().display(f"  {line}")


def _played(cluster: Cluster, every: Sequence[Case], wiring: str) -> list[dict[str, Any]]:
    """Outcomes of the cases of one wiring; those to which it is no matter are played with Volcano's."""
    cases = [case for case in every if (case.wiring or "volcano") == wiring]

    def prepare(case: Case) -> None:
        sync(cluster, RehearsalSpec(gpu_nodes=case.nodes.count, gpus_per_node=case.nodes.gpus))

    return [asdict(outcome) for outcome in play_all(cluster, cases, prepare, _tell)]


def _shown(outcomes: Mapping[str, Sequence[Outcome]], directory: Path) -> dict[str, Any]:
    files = write(outcomes, directory)
    for items in outcomes.values():
        Display().display(f"\n{side_by_side(items)}")
    Display().display("\n* a simulated node: placed by the real scheduler, run by nobody\n")
    Display().display("".join(f"{path}\n" for path in files))
    wrong = [f"{item.title}: {item.verdict}" for items in outcomes.values() for item in items if item.problem]
    return {
        "failed": bool(wrong),
        "msg": "; ".join(wrong) or "every case came out as claimed",
        "files": files,
    }
