"""All scenarios, in the order in which they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS, VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.gang_demo.play.stand import Case
from kubeflow_volcano.gang_demo.scenarios import (
    binpack,
    elastic,
    job_kinds,
    pipelines,
    preemption,
    queues,
    source_experiment,
    task_topology,
    two_jobs,
    volcano_job,
)
from kubeflow_volcano.problems import InvalidInput

_MODULES: Sequence[ModuleType] = (
    source_experiment,
    two_jobs,
    task_topology,
    volcano_job,
    queues,
    binpack,
    preemption,
    job_kinds,
    elastic,
    pipelines,
)
"""Each exports CASES; its docstring describes the scenario."""

_JOBS = "kubeflow.org/v1"

CASES: tuple[Case, ...] = tuple(case for module in _MODULES for case in module.CASES)
NAMES: tuple[str, ...] = tuple(dict.fromkeys(case.scenario for case in CASES))


def select_cases(names: Sequence[str], scheduler: str = VOLCANO.name) -> tuple[Case, ...]:
    """The cases of these scenarios that can be played with that gang scheduler; of all without names.

    Raises:
        InvalidInput: a scenario does not exist, or needs another gang scheduler.
    """
    able = tuple(case for case in CASES if scheduler in case.schedulers)
    if unknown := [name for name in names if name not in NAMES]:
        raise InvalidInput.problem(
            f"unknown {'scenario' if len(unknown) == 1 else 'scenarios'} {', '.join(unknown)}.",
            f"some of {', '.join(NAMES)}.",
            "correct the name, or name none to play all.",
        )
    there = tuple(dict.fromkeys(case.scenario for case in able))
    if unable := [name for name in names if name not in there]:
        makers = "" if GANG_SCHEDULERS[scheduler].has_makers else ", or PodGroups that operators make"
        raise InvalidInput.problem(
            f"gang_scheduling_scheduler is {scheduler}, which has no part for {', '.join(unable)}: they show queues, "
            f"plugins or jobs of Volcano's own{makers}.",
            f"with {scheduler}, some of {', '.join(there)}.",
            f"choose among these, or set gang_scheduling_scheduler: {VOLCANO.name}.",
        )
    return tuple(case for case in able if not names or case.scenario in names)


def require_kinds(cluster: Cluster, cases: Sequence[Case]) -> None:
    """Check that the cluster serves the kinds of training jobs of these cases; one of them where a case has several.

    Raises:
        InvalidInput: it serves none of a scenario's.
        ApiError: the API server does not answer.
    """
    there = cluster.kinds(_JOBS)
    wanted: dict[str, set[str]] = {}
    for case in cases:
        jobs = {obj["kind"] for obj in case.manifest("") if obj["apiVersion"] == _JOBS}
        wanted.setdefault(case.scenario, set()).update(jobs)
    lacking = {name: kinds for name, kinds in wanted.items() if kinds and kinds.isdisjoint(there)}
    if lacking:
        others = ", ".join(name for name in wanted if name not in lacking)
        missing = ", ".join(sorted(set().union(*lacking.values())))
        raise InvalidInput.problem(
            f"the cluster serves no {missing}, which scenarios {', '.join(lacking)} create.",
            "the training operator of Kubeflow up to 1.10 and its kinds of jobs.",
            f"install the component training-operator, or choose others{f' ({others})' if others else ''}.",
        )


def describe(scenario: str) -> str:
    """What a scenario shows: the docstring of its module."""
    module = next(item for item in _MODULES if item.CASES[0].scenario == scenario)
    return (module.__doc__ or "").strip()
