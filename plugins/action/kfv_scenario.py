"""kfv_scenario: scenarios of gang scheduling are played and shown. The steps of playbooks/gang_demo.yml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action, display, show
from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS, KUBERNETES, GangScheduler
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.api.native_gangs import native_gangs, unmet
from kubeflow_volcano.gang_demo.catalogue import require_kinds, select_cases
from kubeflow_volcano.gang_demo.model import Outcome
from kubeflow_volcano.gang_demo.play.configuration import wait_until_read
from kubeflow_volcano.gang_demo.play.running import play_all
from kubeflow_volcano.gang_demo.play.stand import NO_GANG, Case
from kubeflow_volcano.gang_demo.show.report import read, side_by_side, write
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rehearsal.cluster.simulated_nodes import require_rehearsal_cluster, sync
from kubeflow_volcano.rehearsal.spec import RehearsalSpec


class ActionModule(Action):
    """Play scenarios on the rehearsal cluster, and show how they ended. Nothing of them stays in the cluster."""

    RULES: ClassVar = {"required_if": [("state", "played", ["wiring"])]}

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Require known scenarios, wait for the scheduler's configuration, play, or show outcomes."""
        cases = select_cases(arguments["scenarios"], arguments["scheduler"])
        if self.check_mode:
            return {"skipped": True, "msg": "a scenario is not played in check mode"}
        if arguments["state"] == "shown":
            return _shown(read(arguments["outcomes"]), Path(arguments["report_directory"]))
        try:
            return _on_cluster(cases, arguments)
        except ApiError as error:
            raise ProblemsError.problem(
                f"the API server answered: {error}.",
                "an API server that answers, and the rights of cluster-admin.",
                "see its health and the kubeconfig, and run this again.",
            ) from error


def _on_cluster(cases: Sequence[Case], arguments: Mapping[str, Any]) -> dict[str, Any]:
    cluster = Cluster.connect(Path(arguments["kubeconfig"]) if arguments["kubeconfig"] else None, arguments["context"])
    require_rehearsal_cluster(cluster)
    if arguments["state"] == "known":
        if arguments["scheduler"] != KUBERNETES.name:
            require_kinds(cluster, cases)
        elif problems := [problem for _, problem in unmet(native_gangs(cluster, ()))]:
            raise ProblemsError(problems)
        return {}
    if arguments["state"] == "settled":
        wait_until_read(cluster, show)
        return {}
    return {"outcomes": _played(cluster, cases, arguments["wiring"], GANG_SCHEDULERS[arguments["scheduler"]])}


def _played(cluster: Cluster, every: Sequence[Case], wiring: str, gang: GangScheduler) -> list[dict[str, Any]]:
    """Outcomes of the cases of one wiring; those for which it does not matter are played with that of gangs."""
    cases = [case for case in every if (case.wiring == NO_GANG) == (wiring == NO_GANG)]

    def prepare(case: Case) -> None:
        sync(cluster, RehearsalSpec(gpu_nodes=case.nodes.count, gpus_per_node=case.nodes.gpus))

    return [asdict(outcome) for outcome in play_all(cluster, cases, prepare, show, gang)]


def _shown(outcomes: Mapping[str, Sequence[Outcome]], directory: Path) -> dict[str, Any]:
    files = write(outcomes, directory)
    for items in outcomes.values():
        display(f"\n{side_by_side(items)}")
    display("\n* a simulated node: the real scheduler placed the pod, and no kubelet runs it\n")
    display("".join(f"{path}\n" for path in files))
    every = [item for items in outcomes.values() for item in items]
    wrong = [f"{item.title}: {item.verdict}" for item in every if not item.is_expected]
    known = [item.title for item in every if item.is_expected and item.problem]
    rest = f", but for what is known not to hold: {'; '.join(known)}" if known else ""
    return {
        "failed": bool(wrong),
        "msg": "; ".join(wrong) or f"every case came out as claimed{rest}",
        "files": files,
    }
