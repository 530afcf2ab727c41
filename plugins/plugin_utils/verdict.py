"""A report of checks as the result of a task."""

from __future__ import annotations

from typing import Any

from ansible.utils.color import ANSIBLE_COLOR
from ansible.utils.display import Display

from kubeflow_volcano.text import few
from kubeflow_volcano.validators.report.console import render
from kubeflow_volcano.validators.report.document import Report

_MOST_NAMES = 8


def result_of(report: Report, title: str = "", *, shown: bool = True) -> dict[str, Any]:
    """The report as a task's result, printed as well where `shown`. Failed checks do not fail the task: a gate does."""
    document = report.as_dict()
    if shown:
        Display().display(f"\n{render(document, report.files, colour=ANSIBLE_COLOR, language=report.language)}")
    return {
        "exit_code": int(report.exit_code),
        "msg": title + _described(report),
        "report": document,
        "files": dict(report.files),
    }


def _described(report: Report) -> str:
    """The verdict and the checks that did not pass, in a few lines; the rest is in the report."""
    lines = [f"verdict {report.summary.verdict}, exit code {int(report.exit_code)}"]
    for status in ("fail", "error", "warn"):
        names = [f"{item.check.id} {item.check.slug}" for item in report.results if item.outcome.status == status]
        lines += [f"{status}: {few(names, _MOST_NAMES)}"] if names else []
    lines += [f"left behind: {item.ref}" for item in (report.cleanup.left if report.cleanup else ())]
    lines += [str(report.unwritten)] if report.unwritten else []
    lines += [f"read {report.files['md']}"] if report.files else []
    return "\n".join(lines)
