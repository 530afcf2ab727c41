"""The job's PodGroup: why it does not exist, belongs to another job, or can never reach minMember.

Rules: pkg/controller.v1/common of the training operator, v1.5.0 to v1.9.2 (flags and PodGroups), pkg/controllers/job of
Volcano, v1.8.0 to v1.15.1 (dependsOn, PodGroups).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from kubeflow_volcano.catalog.gangs import VOLCANO, GangScheduler
from kubeflow_volcano.catalog.operator import GangEra, era_of, version_of_image
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.volcano import JOB_CONTROLLER, makes_no_jobs
from kubeflow_volcano.experiment.stage import PODGROUP
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.creation import trainjobs
from kubeflow_volcano.validators.explain.creation.companions import refused_companion
from kubeflow_volcano.validators.explain.creation.controllers import (
    PODGROUPS,
    controllers_of,
    down,
    missing_permissions,
)
from kubeflow_volcano.validators.explain.creation.prerequisites import spec_refusal
from kubeflow_volcano.validators.explain.creation.quotas import exhausted_quotas
from kubeflow_volcano.validators.explain.creation.refusals import refused
from kubeflow_volcano.validators.explain.creation.webhooks import failing_webhooks
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding, is_for_single_pods
from kubeflow_volcano.validators.subjects.crds import DISCOVERY
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of, correction, faults, flags_of
from kubeflow_volcano.validators.subjects.gang.operators import TRAINER, TRAINING
from kubeflow_volcano.validators.subjects.kubectl import look_again, restart

_VOLCANO_JOBS = "batch.volcano.sh"


def podgroup(situation: Situation) -> Iterator[Finding]:
    """The job has no PodGroup, or one that can never reach minMember."""
    job, group = situation.job, situation.group
    if group is None:
        if spec_refusal(situation) is None:
            yield from _missing(situation)
        return
    yield from _of_another_job(situation, group)
    if job.family == TRAINING.job_group and is_for_single_pods(group):
        yield from _operator_flags(situation, f"Volcano created {situation.group_ref} for single pods")
    if job.roles and situation.minimum > job.wanted > 0:
        yield too_high_minimum(situation)
    elif job.later and len(situation.pods) < situation.minimum and situation.minimum > job.initial:
        of_trainer = job.family == TRAINER.job_group
        yield trainjobs.needs_itself(situation) if of_trainer else _needs_itself(situation)
    elif not job.roles and len(situation.pods) < situation.minimum:
        yield not_enough_pods(situation, VOLCANO)
    if job.family == TRAINING.job_group and situation.phase == "Inqueue" and not situation.pods:
        yield from _missed_by_operator(situation)


def too_high_minimum(situation: Situation) -> Finding:
    """The PodGroup's minMember exceeds the job's replicas."""
    return finding(
        "MinMemberTooHigh",
        f"{_needs(situation)}, but the job has {situation.job.wanted}.",
        needed="a minMember of at most the job's replicas.",
        todo="lower minAvailable of the job, or raise its replicas.",
        objects=[situation.job.ref],
    )


def not_enough_pods(situation: Situation, gang: GangScheduler) -> Finding:
    """A PodGroup without a job has fewer pods than minMember; `gang` is its scheduler."""
    return finding(
        "NotEnoughPods",
        f"{_needs(situation)}; {len(situation.pods)} name it in their {gang.mark_text}.",
        needed="at least minMember pods.",
        todo=f"create the missing pods with {gang.mark_text}, or lower minMember.",
        objects=[situation.job.ref],
    )


def _needs_itself(situation: Situation) -> Finding:
    """The gang counts pods that Volcano creates only when others of the gang are running."""
    job = situation.job
    return finding(
        "GangWaitsForItself",
        f"{_needs(situation)}, but those of {', '.join(sorted(job.later))} "
        f"are created only when the tasks in dependsOn are running, which leaves {job.initial}: no pod ever runs.",
        needed=f"a minAvailable of at most {job.initial}, the pods of tasks without dependsOn.",
        todo=f"set minAvailable of the job to {job.initial} or less, or remove dependsOn.",
        objects=[job.ref],
    )


def _missing(situation: Situation) -> Iterator[Finding]:
    job = situation.job
    situation.facts.demand(PODGROUPS)
    if "PodGroup" not in situation.facts.known(DISCOVERY).get(PODGROUP[0], ()):
        if _is_gang_expected(situation):
            yield finding(
                "PodGroupNotServed",
                "the API server does not serve PodGroup of scheduling.volcano.sh.",
                needed="Volcano, for jobs that start as a gang.",
                todo="install Volcano, or disable gang scheduling in the operator.",
                objects=[job.ref],
                blocks=not situation.pods,
            )
        return
    if job.family == TRAINING.job_group:
        off = yield from _operator_flags(situation, "the job has no PodGroup")
        if _operator(situation) and not off:
            yield from _not_created(situation, TRAINING.ref)
    elif job.family == TRAINER.job_group and trainjobs.has_gang_policy(situation):
        yield from _not_created(situation, TRAINER.ref)
    elif job.family == _VOLCANO_JOBS:
        yield from _not_created(situation, controllers_of(_VOLCANO_JOBS, situation.facts.expectations.scheduler)[0].ref)


def _is_gang_expected(situation: Situation) -> bool:
    """Whether the controller of the job is configured to create gangs; assumed where its configuration is unknown."""
    if situation.job.family == TRAINER.job_group:
        return trainjobs.has_gang_policy(situation)
    if situation.job.family not in {TRAINING.job_group, _VOLCANO_JOBS}:
        specs = (*(pod["spec"] for pod in situation.pods), *(role.template["spec"] for role in situation.job.roles))
        return any(spec.get("schedulerName") == VOLCANO.scheduler for spec in specs)
    return all(reason not in {"GangOff", "GangOther"} for reason, _ in _wrong_flags(situation)[0])


def _operator(situation: Situation) -> Object | None:
    return situation.facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)


def _wrong_flags(situation: Situation) -> tuple[tuple[tuple[str, str], ...], GangEra | None]:
    """Reason and text of each wrong gang flag of the training operator, and what its version requires."""
    deployment = _operator(situation) if situation.job.family == TRAINING.job_group else None
    if deployment is None:
        return (), None
    container = container_of(deployment)
    era = _era(container["image"])
    return (faults(flags_of(container), era) if era else ()), era


def _operator_flags(situation: Situation, consequence: str) -> Generator[Finding, None, bool]:
    """No gang because of the operator's flags; returns whether that is so."""
    wrong, era = _wrong_flags(situation)
    if not wrong or era is None:
        return False
    required = " ".join(era.required_arguments)
    unknown = wrong[0][0] == "UnknownFlag"
    yield finding(
        wrong[0][0],
        f"{TRAINING.ref}: {'; '.join(text for _, text in wrong)}. Therefore {consequence}, and its pods are scheduled "
        "one by one.",
        needed=f"the argument {required}, for jobs that start as a gang.",
        todo=f"give the operator {required} and no other gang flag, and recreate the job.",
        objects=[TRAINING.ref],
        changes=[correction(deployment, era.required_arguments)] if (deployment := _operator(situation)) else (),
        blocks=unknown and not situation.pods,
    )
    return True


def _era(image: str) -> GangEra | None:
    try:
        return era_of(version_of_image(image) or "")
    except (InvalidInput, ValueError):
        return None


def _not_created(situation: Situation, by: Ref) -> Iterator[Finding]:
    """What kept the controller from creating the PodGroup."""
    ref = situation.job.ref
    causes = [
        *failing_webhooks(situation, PODGROUP[1]),
        *missing_permissions(situation, PODGROUPS),
        *exhausted_quotas(situation, f"count/{PODGROUPS}"),
    ]
    live = situation.facts.get("deployments.apps", by.namespace, by.name)
    if live and situation.job.family == _VOLCANO_JOBS and makes_no_jobs(live):
        causes.append(
            finding(
                "ControllerOff",
                f"{by} was started with --controllers that leave {JOB_CONTROLLER} out, which creates PodGroup and pods "
                f"of {ref}.",
                needed=f"a controller for a {ref.kind} of Volcano.",
                todo=f"take {JOB_CONTROLLER} into --controllers, or remove the flag.",
                objects=[by],
            )
        )
    yield from causes
    if not causes and not refused(situation) and not refused_companion(situation) and down(by, situation) is None:
        yield finding(
            "PodGroupMissing",
            f"{ref} has no PodGroup.",
            needed=f"the PodGroup that {by} creates for it.",
            todo="read the controller's log and restart it: it may have started before PodGroup was served, or before "
            "gang scheduling was enabled.",
            objects=[ref, by],
            commands=[f"kubectl -n {by.namespace} logs deployment/{by.name} --tail 50"],
            changes=[restart(by)],
        )


def _of_another_job(situation: Situation, group: Object) -> Iterator[Finding]:
    """Jobs of two kinds with one name have one PodGroup between them, as controllers use one that exists."""
    job, owners = situation.job, group["metadata"].get("ownerReferences") or ()
    others = [
        f"{item['kind']} {item['name']}"
        for item in owners
        if (item["kind"], item["name"]) != (job.ref.kind, job.ref.name)
    ]
    asked_itself = group["metadata"]["uid"] == job.uid  # `explain podgroup`: its owner is the job of its pods
    if asked_itself or group["metadata"]["name"] not in job.groups or any(item["uid"] == job.uid for item in owners):
        return
    if others:
        yield finding(
            "PodGroupTaken",
            f"{situation.group_ref} belongs to {', '.join(others)}: the pods of both count as one gang.",
            needed=f"a PodGroup of its own for {job.ref}.",
            todo="rename one of the two jobs.",
            objects=[Ref.of(group)],
            blocks=False,
        )


def _missed_by_operator(situation: Situation) -> Iterator[Finding]:
    """An operator before 1.6 does not watch PodGroups and may miss the moment when one is admitted."""
    deployment = _operator(situation)
    image = container_of(deployment)["image"] if deployment else ""
    era = _era(image)
    if era and not era.watches_groups:
        ref = situation.job.ref
        yield finding(
            "OperatorAsleep",
            f"{situation.group_ref} was admitted (Inqueue), but training operator {version_of_image(image)} created no "
            "pods: it does not watch PodGroups (kubeflow/training-operator#1574, fixed in 1.6.0).",
            needed="any change of the job, which makes the operator reconcile it.",
            todo="annotate the job, or restart the operator.",
            objects=[ref],
            changes=[look_again(ref)],
        )


def _needs(situation: Situation) -> str:
    return f"{situation.group_ref} needs {counted(situation.minimum, 'pod')} together"
