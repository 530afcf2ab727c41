"""Family G, Trainer 2: do its runtimes make gangs. There is no flag: each runtime says so for the jobs that use it."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.operator import common as judging
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import CLUSTER_RUNTIMES, DEPLOYMENTS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.operator.trainer import TRAIN_JOB
from kubeflow_volcano.validators.subjects.gang import runtimes
from kubeflow_volcano.validators.subjects.gang.operators import TRAINER


@check("G7", "runtimes-gang", severity=Severity.BLOCKER, reads=(DEPLOYMENTS, CLUSTER_RUNTIMES), component="trainer")
def runtimes_gang(facts: Facts) -> Outcome:
    """Every ClusterTrainingRuntime enables gang scheduling for its jobs.

    podGroupPolicy.volcano creates a PodGroup for each TrainJob, and schedulerName volcano in the pod templates selects
    the scheduler; Trainer does not set the latter. With only one of them the pods use the default scheduler, or wait
    for a PodGroup that is never created. Apply component trainer again, or set both in a runtime of your own. For
    scheduler-plugins it is podGroupPolicy.coscheduling and the name of their scheduler. Runtimes that create their pods
    in steps (dependsOn) must have neither: Trainer counts the pods of all steps into one gang, which never starts.
    """
    gang = facts.expectations.gang
    TRAINER.deployment(facts)
    every = facts.all(CLUSTER_RUNTIMES)
    if not every:
        todo = "install component trainer again."
        return failed("NoRuntime", "there is no ClusterTrainingRuntime.", objects=(TRAINER.ref,), todo=todo)
    faults = {Ref.of(item): fault for item in every if (fault := runtimes.fault(item, gang))}
    half = [ref for ref, fault in faults.items() if fault.half]
    if not faults:
        steps, whole = ([item for item in every if runtimes.of_steps(item) is of] for of in (True, False))
        rest = f" Jobs of steps are none: {_named(steps)}." if steps else ""
        note = f"{len(whole)} runtimes make gangs: {_named(whole)}.{rest}"
        return passed(note, objects=[Ref.of(item) for item in every])
    own = [ref for ref, fault in faults.items() if not (fault.half or fault.published)]
    make, reason = (failed, "HalfWired") if half else (failed, "GangOff")
    if len(own) == len(faults) < len(every):
        make, reason = warned, "OwnRuntimeWithoutGang"
    return make(
        reason,
        " ".join(f"{ref.name} {fault.text}." for ref, fault in faults.items()),
        expected=f"podGroupPolicy.{gang.policy}, and schedulerName {gang.scheduler} in every pod template",
        observed={ref.name: fault.text for ref, fault in faults.items()},
        objects=tuple(faults),
        todo="apply component trainer again, or set both in your own runtimes; neither in those of steps.",
        changes=[runtimes.correction(item, gang) for item in every if Ref.of(item) in faults],
    )


def _named(every: Iterable[Object]) -> str:
    return ", ".join(sorted(item["metadata"]["name"] for item in every))


@check(
    "G8",
    "trainer-may-group",
    severity=Severity.BLOCKER,
    reads=(DEPLOYMENTS, judging.OPERATOR_ACCESS),
    component="trainer",
)
def trainer_may_group(facts: Facts) -> Outcome:
    """Trainer's ServiceAccount may create PodGroups and own what it creates for its jobs.

    Trainer's ClusterRole has had these rules since 2.1: apply its manifest again instead of editing the role.
    """
    return judging.may_group(TRAINER, facts)


@check(
    "G9",
    "trainer-after-volcano",
    severity=Severity.BLOCKER,
    reads=judging.READS_START,
    needs=(Rule("get", "", "pods/log", TRAINER.ref.namespace),),
    component="trainer",
)
def trainer_after_volcano(facts: Facts) -> Outcome:
    """Trainer started after Volcano's PodGroup was served.

    Trainer looks for PodGroup once, at its start, and does not watch it if it is missing. Restart Trainer.
    """
    return judging.after_volcano(TRAINER, facts, ("G11",))


@check(
    "G10",
    "trainer-kinds",
    severity=Severity.BLOCKER,
    reads=judging.READS_KINDS,
    needs=(Rule("create", "trainer.kubeflow.org", "trainjobs"),),
    component="trainer",
)
def trainer_kinds(facts: Facts) -> Outcome:
    """Trainer's kinds and JobSet are served, and the admission webhook answers.

    The check creates a small TrainJob as a dry run, three times. If the webhook does not answer, no TrainJob can be
    created: see Trainer's pod and its webhook configuration.
    """
    return judging.kinds(TRAINER, facts, "G10")


@check(
    "G11",
    "trainjob-ganged",
    severity=Severity.BLOCKER,
    requires=("F1", "F3", "G7", "G10"),
    probe=TRAIN_JOB,
    component="trainer",
)
def trainjob_ganged(facts: Facts) -> Outcome:
    """Trainer creates a PodGroup for a TrainJob, and its pods use Volcano.

    minMember and queue must be those of the job. Trainer, JobSet and the Job controller create the pods together; each
    must have schedulerName volcano and the name of the PodGroup. If pods are missing, read the logs of Trainer and of
    JobSet.
    """
    TRAINER.deployment(facts)
    TRAINER.demand_real(facts)
    evidence = facts.evidence(TRAIN_JOB)
    if evidence is None:
        return skipped("NoRuntime", "no runtime of the cluster is for pods that all do the same.")
    return judging.ganged(TRAINER, evidence, facts)
