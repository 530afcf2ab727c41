"""Verdicts over recorded facts, as a run of the validators gives them without its probes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.checks.reach.api_server import OWN_ACCESS
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.run.judging import Judging
from tests.places import ROOT
from tests.recorded.recording import CLUSTERS, clusters, load

STATIC = tuple(item for item in CHECKS if not item.probe and OWN_ACCESS not in item.reads)
"""Checks that neither probe nor look at who asks."""
_NOTE = "# What the checks say of this cluster, other than pass: `make generate` writes it.\n"


def judged(facts: Facts) -> Mapping[str, Result]:
    """The result of each static check, consequences included."""
    judging = Judging(STATIC, {}, silent)
    judging.skip_opt_ins(())
    judging.judge(facts)
    return {item.check.id: item for item in judging.results()}


def unlike_pass(results: Mapping[str, Result]) -> Mapping[str, str]:
    """Status and reason of the checks that do not pass."""
    outcomes = {id_: item.outcome for id_, item in results.items()}
    return {id_: f"{item.status} {item.reason}" for id_, item in outcomes.items() if item.status is not Status.PASS}


def generated() -> Iterator[tuple[Path, str]]:
    """For each recorded cluster the file of its verdicts, and what the checks say of it today."""
    for name in clusters():
        text = yaml.safe_dump(dict(unlike_pass(judged(load(name)))), explicit_start=True, sort_keys=False)
        yield (CLUSTERS / name / "verdicts.yaml").relative_to(ROOT), _NOTE + text
