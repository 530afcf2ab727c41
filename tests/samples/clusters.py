"""Reports on several clusters for tests, made of the samples of one."""

from __future__ import annotations

from pathlib import Path

from kubeflow_volcano.problems import Exit, Problem
from kubeflow_volcano.validators.report import files
from kubeflow_volcano.validators.report.clusters import Combined, Judged
from kubeflow_volcano.validators.report.document import Report
from tests.samples import reports as samples

PROBLEM = Problem("no cluster.", "one.", "look for it.")


def judged(name: str, report: Report, directory: Path | None = None, *, uid: str = "") -> Judged:
    """As a run leaves it, with files where there is a directory; `uid` is that of the cluster."""
    if directory:
        report = files.write(report, directory)
    document = report.as_dict()
    document["cluster"]["uid"] = uid or name
    return Judged(name, report.exit_code, document, report.files)


def crowd(directory: Path | None = None) -> Combined:
    """One that is well, two with the same findings, and one that was never judged."""
    places = {name: directory / name if directory else None for name in ("eu", "us", "ap")}
    return Combined(
        [
            judged("eu", samples.healthy(), places["eu"]),
            judged("us", samples.broken(), places["us"]),
            Judged("gone", Exit.INCOMPLETE, problems=(PROBLEM,)),
            judged("ap", samples.broken(), places["ap"]),
        ]
    )
