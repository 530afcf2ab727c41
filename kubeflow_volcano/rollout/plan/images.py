"""What the plan judges about images; the list itself is the image report's."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.images.report.image_list import ImagesReport
from kubeflow_volcano.rollout.plan.findings import Finding, Verdict

__all__ = ["judge_images"]

_TITLE = "Images"


def judge_images(report: ImagesReport) -> Iterator[Finding]:
    """A finding per remark of the report; one that passes where there is none."""
    if not report.problems and not report.warnings:
        yield Finding(
            "images", _TITLE, Verdict.PASS, f"{len(report.entries)}, and nothing is known against any of them."
        )
    yield from (_finding(item, Verdict.FAIL) for item in report.problems)
    yield from (_finding(item, Verdict.WARN) for item in report.warnings)


def _finding(problem: Problem, verdict: Verdict) -> Finding:
    return Finding("images", _TITLE, verdict, problem.found, (), problem.needed, problem.todo)
