"""Flags and rights with which Volcano's programs are up and do nothing for jobs, for F1.

Rules: --scheduler-name of cmd/scheduler/app/options (v1.8.0 to v1.15.1) and --controllers of
cmd/controller-manager/app/options (v1.10.0 to v1.15.1; v1.8.0 has no such flag) of Volcano.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.volcano import JOB_CONTROLLER, makes_no_jobs, scheduler_names
from kubeflow_volcano.validators.checks.volcano.second import RIGHTS, own_programs
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS
from kubeflow_volcano.validators.subjects.issues import Issue


def idle_programs(facts: Facts) -> Iterator[Issue]:
    """A scheduler that answers to other names, controllers that leave jobs out, and accounts without rights."""
    place = facts.expectations.scheduler
    scheduler = facts.get(DEPLOYMENTS, place.namespace, place.name)
    names = scheduler_names(scheduler) if scheduler else (VOLCANO.scheduler,)
    if VOLCANO.scheduler not in names:
        yield Issue(
            "F1",
            Status.FAIL,
            place,
            "OtherName",
            f"{place} was started with --scheduler-name {', '.join(names)}: it passes over pods and PodGroups of "
            f"schedulerName {VOLCANO.scheduler}, which jobs name.",
            f"remove --scheduler-name from its arguments, or add --scheduler-name={VOLCANO.scheduler}.",
        )
    for program, rule in own_programs(facts):
        ref = Ref.of(program)
        if makes_no_jobs(program):
            yield Issue(
                "F1",
                Status.WARN,
                ref,
                "ControllerOff",
                f"{ref} was started with --controllers that leave {JOB_CONTROLLER} out: Volcano's own jobs get neither "
                "a PodGroup nor pods.",
                f"take {JOB_CONTROLLER} into --controllers, or remove the flag, if jobs of Volcano are to run.",
            )
        if facts.known(RIGHTS).get(ref) is False:
            yield Issue(
                "F1",
                Status.FAIL,
                ref,
                "WithoutRights",
                f"{ref} is up and can do nothing, as its account has no right to {rule}.",
                f"bind its ClusterRole to the account that its pods have: install component {VOLCANO.name} again.",
            )
