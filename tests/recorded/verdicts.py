"""Verdicts over recorded facts, as a run of the validators gives them without its probes."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import yaml

from kubeflow_volcano.progress import silent
from kubeflow_volcano.validators.checks import CHECKS
from kubeflow_volcano.validators.checks.reach.api_server import OWN_ACCESS
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.results import Result
from kubeflow_volcano.validators.run.judging import Judging
from tests.recorded.recording import CLUSTERS, clusters, load

__all__ = ["STATIC", "expected", "judged", "unlike_pass"]

STATIC = tuple(item for item in CHECKS if not item.probe and OWN_ACCESS not in item.reads)
"""Checks that neither probe nor look at who asks."""
_NOTE = "# What the checks say of this cluster, other than pass: python -m tests.recorded.verdicts writes it.\n"


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


def expected(name: str) -> Mapping[str, str]:
    """What `unlike_pass` is for the recorded cluster of that name."""
    found: Mapping[str, str] = yaml.safe_load((CLUSTERS / name / "verdicts.yaml").read_text(encoding="utf-8"))
    return found


def main() -> None:
    """Write down what the checks say of each recorded cluster today, for a review of the difference."""
    for name in sys.argv[1:] or clusters():
        found = unlike_pass(judged(load(name)))
        text = yaml.safe_dump(dict(found), explicit_start=True, sort_keys=False)
        (CLUSTERS / name / "verdicts.yaml").write_text(_NOTE + text, encoding="utf-8")


if __name__ == "__main__":
    main()
