"""Family G, Trainer 2: do its runtimes make gangs. There is no flag: each runtime says so for the jobs that use it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Object, Ref
from validators.checks.operator import common as judging
from validators.checks.operator.verdict import operator_verdict
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, failed, passed, skipped, warned
from validators.core.resources import CLUSTER_RUNTIMES, DEPLOYMENTS
from validators.core.rights import Rule
from validators.probes.operator.trainer import TRAIN_JOB
from validators.subjects.gang import runtimes
from validators.subjects.gang.operators import TRAINER

__all__ = ["CHECKS"]


@check("G7", "runtimes-gang", severity=Severity.BLOCKER, reads=(DEPLOYMENTS, CLUSTER_RUNTIMES), component="trainer")
def runtimes_gang(facts: Facts) -> Outcome:
    """Every runtime for the whole cluster makes Volcano gangs of the jobs that use it.

    podGroupPolicy.volcano makes a PodGroup for each TrainJob, and schedulerName volcano in the pod templates hands
    the pods over; Trainer does not set the latter. One without the other leaves the pods to the default scheduler, or
    waiting for a group that never comes. Apply component trainer again, or set both in a runtime of your own. With
    scheduler-plugins it is podGroupPolicy.coscheduling and their scheduler's name. Runtimes that make their pods in
    steps (dependsOn) are to have neither: Trainer counts the pods of all steps into one gang, which never starts.
    """
    gang = facts.expectations.gang
    TRAINER.deployment(facts)
    every = facts.all(CLUSTER_RUNTIMES)
    if not every:
        todo = "install component trainer again."
        return failed("NoRuntime", "there is no ClusterTrainingRuntime.", objects=(TRAINER.ref,), todo=todo)
    found = {Ref.of(item): fault for item in every if (fault := runtimes.fault(item, gang))}
    half = [ref for ref, fault in found.items() if fault.half]
    if not found:
        steps, whole = ([item for item in every if runtimes.of_steps(item) is of] for of in (True, False))
        rest = f" Jobs of steps are none: {_named(steps)}." if steps else ""
        note = f"{len(whole)} runtimes make gangs: {_named(whole)}.{rest}"
        return passed(note, objects=[Ref.of(item) for item in every])
    own = [ref for ref, fault in found.items() if not (fault.half or fault.published)]
    make, reason = (failed, "HalfWired") if half else (failed, "GangOff")
    if len(own) == len(found) < len(every):
        make, reason = warned, "OwnRuntimeWithoutGang"
    return make(
        reason,
        " ".join(f"{ref.name} {fault.text}." for ref, fault in found.items()),
        expected=f"podGroupPolicy.{gang.policy}, and schedulerName {gang.scheduler} in every pod template",
        observed={ref.name: fault.text for ref, fault in found.items()},
        objects=tuple(found),
        todo="apply component trainer again, or set both in your own runtimes; neither in those of steps.",
        commands=[f"kubectl edit clustertrainingruntime {ref.name}" for ref in found],
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
    """Trainer's service account may make PodGroups and own what it makes for its jobs.

    Trainer's ClusterRole has carried these rules since 2.1: apply its manifest again instead of editing the role.
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
    """Trainer started when Volcano's PodGroup was already served.

    It looks for it once, at its start, and watches nothing when it is not there. Restart Trainer.
    """
    return judging.after_volcano(TRAINER, facts)


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

    The webhook is asked by creating a small TrainJob as a dry run, three times. When it does not answer, no TrainJob
    can be created: see Trainer's pod and its webhook configuration.
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
    """A TrainJob on a runtime of the cluster makes a PodGroup, and its pods are handed to Volcano.

    minMember and queue must be as the job asks, and each pod, which Trainer, JobSet and Kubernetes' Job controller
    make together, must carry schedulerName volcano and the name of the group. Where pods are missing, read the logs
    of Trainer and of JobSet.
    """
    TRAINER.deployment(facts)
    TRAINER.demand_real(facts)
    evidence = facts.evidence(TRAIN_JOB)
    if evidence is None:
        return skipped("NoRuntime", "no runtime of the cluster is for pods that all do the same.")
    found = operator_verdict(evidence)
    return replace(found, because=("B3",)) if found.reason == "PodsMissing" and not found.because else found


CHECKS = (runtimes_gang, trainer_may_group, trainer_after_volcano, trainer_kinds, trainjob_ganged)
