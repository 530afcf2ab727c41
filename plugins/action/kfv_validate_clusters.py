"""kfv_validate_clusters: the verdicts on several clusters in one report. A step of the role validation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.utils.color import ANSIBLE_COLOR
from ansible.utils.display import Display

from ansible_collections.kubeflow_volcano.platform.plugins.plugin_utils.action import Action
from kubeflow_volcano.problems import Exit, Problem
from kubeflow_volcano.validators.report.clusters import Combined, Judged, describe_verdicts
from kubeflow_volcano.validators.report.console import render_clusters
from kubeflow_volcano.validators.report.files import write_clusters

_RUN = "__validation_run"
"""Variable in which the role registers each cluster's answer of kfv_validate."""

_NOT_BEGUN = Problem(
    "not begun, because a cluster before it has problems.",
    "the gate of every cluster before it.",
    "correct those, then run the same command again.",
)


class ActionModule(Action):
    """One summary and one report for all clusters."""

    def answer(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Show a line for each cluster and every finding once. In check mode no report is written."""
        language = arguments["language"]
        judged = [_judged(name, self.variables_of(name), arguments["rollout"]) for name in arguments["clusters"]]
        combined = Combined(judged, language=language)
        directory = None if self.check_mode else Path(arguments["report_directory"])
        if directory:
            combined = write_clusters(combined, directory)
        document = combined.as_dict(directory)
        summary = render_clusters(document, combined.files, colour=ANSIBLE_COLOR, language=language)
        Display().display(f"\n{summary}")
        exit_code = int(combined.exit_code)
        if combined.unwritten:
            return {"failed": True, "msg": str(combined.unwritten), "exit_code": exit_code}
        return {
            "exit_code": exit_code,
            "msg": describe_verdicts(document),
            "report": document,
            "files": dict(combined.files),
        }


def _judged(name: str, variables: Mapping[str, Any], rollout: str) -> Judged:
    """What is registered for a cluster; of its roll-out in the variable `rollout`, if the validation followed one."""
    run = variables.get(_RUN) or {}
    became = _rollout(variables.get(rollout) or {}) if rollout else ""
    if rollout and "__validation_gate" not in variables:
        return Judged(name, Exit.INCOMPLETE, problems=(_NOT_BEGUN,), rollout="not begun")
    if "exit_code" not in run:
        found = "this cluster was not validated; the message of its task is above."
        problem = Problem(found, "a task that ends well.", "correct what the message names, and run this again.")
        return Judged(name, Exit.INCOMPLETE, problems=(problem,), rollout=became)
    problems = tuple(Problem(**item) for item in run.get("problems", ()))
    return Judged(name, Exit(run["exit_code"]), run.get("report"), run.get("files", {}), problems, became)


def _rollout(run: Mapping[str, Any]) -> str:
    if run.get("skipped"):
        return ""
    if "changed" not in run:
        return "not begun"
    return "failed" if run.get("failed") else "changed" if run["changed"] else "unchanged"
