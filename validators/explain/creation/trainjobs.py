"""What a TrainJob needs before it has pods: the runtime that it names, and the JobSet that Trainer creates."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.resources import CLUSTER_RUNTIMES
from kubeflow_volcano.validators.explain.creation.controllers import CONTROLLERS, down, missing_permissions
from kubeflow_volcano.validators.explain.creation.quotas import exhausted_quotas
from kubeflow_volcano.validators.explain.creation.refusals import refused
from kubeflow_volcano.validators.explain.creation.webhooks import JOBSET, failing_webhooks
from kubeflow_volcano.validators.explain.kinds import JOBSETS, RUNTIMES, runtime_of
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.subjects.gang import runtimes
from kubeflow_volcano.validators.subjects.gang.operators import TRAINER


def runtime(situation: Situation) -> Iterator[Finding]:
    """The runtime of a TrainJob is missing, or does not create gangs.

    Rules: NewObjects of pkg/runtime/core, and pkg/runtime/framework/plugins/volcano of Trainer, v2.1.0 to v2.3.0.
    """
    job = situation.job
    if job.family != TRAINER.job_group:
        return
    named = situation.obj["spec"]["runtimeRef"]
    kind = named.get("kind", "ClusterTrainingRuntime")
    chosen = runtime_of(situation.obj, situation.facts)
    if chosen is None:
        if len(situation.pods) < job.wanted or not job.roles:
            yield _missing(kind, named["name"], situation)
    # Jobs of steps are no gangs by design: nothing is to be configured for them.
    elif not job.later and (fault := runtimes.fault(chosen)):
        ref = Ref.of(chosen)
        yield finding(
            "RuntimeHalfWired" if fault.half else "RuntimeWithoutGang",
            f"{ref} {fault.text}: the pods of its jobs are scheduled one by one.",
            needed="podGroupPolicy.volcano and schedulerName volcano together, for jobs that start as a gang.",
            todo="set both in the runtime and recreate the job: existing pods keep their scheduler.",
            objects=[ref],
            changes=[runtimes.correction(chosen)],
            blocks=False,
        )


def _missing(kind: str, name: str, situation: Situation) -> Finding:
    space = situation.job.ref.namespace
    cluster_wide = kind == "ClusterTrainingRuntime"
    known = [
        item["metadata"]["name"]
        for item in situation.facts.all(CLUSTER_RUNTIMES if cluster_wide else RUNTIMES)
        if cluster_wide or item["metadata"]["namespace"] == space
    ]
    return finding(
        "RuntimeMissing",
        f"{situation.job.ref} names {kind} {name}, which does not exist.",
        needed=f"an existing runtime to create the pods from; there are {', '.join(sorted(known)) or 'none'}.",
        todo="create the runtime, or recreate the job with an existing one (a job's runtime is immutable).",
        objects=[situation.job.ref],
        commands=[f"kubectl {'' if cluster_wide else f'-n {space} '}get {kind.lower()}"],
    )


def has_gang_policy(situation: Situation) -> bool:
    """Whether the runtime makes Trainer create a Volcano PodGroup for the job."""
    chosen = runtime_of(situation.obj, situation.facts) or {"spec": {}}
    return "volcano" in (chosen["spec"].get("podGroupPolicy") or {})


def jobset(situation: Situation) -> Iterator[Finding]:
    """The TrainJob has a runtime but no JobSet, or the JobSet of its name has another owner.

    Rule: pkg/runtime/framework/plugins/jobset of Trainer, v2.1.0 to v2.3.0.
    """
    job = situation.job
    if job.family != TRAINER.job_group or (job.roles and len(situation.pods) >= job.wanted):
        return
    if any(down(item.ref, situation) for item in CONTROLLERS[TRAINER.job_group]):
        return
    if runtime_of(situation.obj, situation.facts) is None:
        return
    live = situation.facts.get(JOBSETS, job.ref.namespace, job.ref.name)
    if live is None:
        yield from _not_created(situation)
        return
    owners = live["metadata"].get("ownerReferences") or ()
    if all(item["uid"] != job.uid for item in owners):
        names = ", ".join(f"{item['kind']} {item['name']}" for item in owners)
        yield finding(
            "NameTaken",
            f"{Ref.of(live)} {f'belongs to {names}' if names else 'has no owner'}; {job.ref} needs that name for its "
            "own JobSet.",
            needed=f"a JobSet {job.ref.name} that {TRAINER.ref} created for the job.",
            todo="delete that JobSet if it is unused, or rename the job.",
            objects=[Ref.of(live)],
            commands=[f"kubectl -n {job.ref.namespace} get {JOBSETS} {job.ref.name} -o yaml"],
        )
    elif not situation.pods:
        yield from exhausted_quotas(situation, "count/jobs.batch")


def _not_created(situation: Situation) -> Iterator[Finding]:
    causes = [
        *failing_webhooks(situation, JOBSET[1]),
        *missing_permissions(situation, JOBSETS),
        *exhausted_quotas(situation, f"count/{JOBSETS}"),
    ]
    yield from causes
    if not causes and not refused(situation):
        yield finding(
            "JobSetMissing",
            f"{situation.job.ref} has no JobSet.",
            needed=f"the JobSet that {TRAINER.ref} creates from the job and its runtime.",
            todo="read Trainer's log.",
            objects=[situation.job.ref],
            commands=[f"kubectl -n {TRAINER.ref.namespace} logs deployment/{TRAINER.ref.name} --tail 50"],
        )


def needs_itself(situation: Situation) -> Finding:
    """The gang counts pods of replicated jobs that JobSet creates only when others have ended."""
    job = situation.job
    return finding(
        "GangWaitsForItself",
        f"{situation.group_ref} needs {counted(situation.minimum, 'pod')} together, but JobSet creates "
        f"those of {', '.join(sorted(job.later))} only when earlier jobs are ready or have ended, "
        f"which leaves {job.initial}: no pod ever runs.",
        needed="a runtime without podGroupPolicy: Trainer counts the pods of all steps into one gang.",
        todo="remove podGroupPolicy and schedulerName from the runtime, or name another runtime, and recreate the "
        "job: its PodGroup does not change.",
        objects=[job.ref],
        commands=[f"kubectl get {situation.obj['spec']['runtimeRef'].get('kind', 'ClusterTrainingRuntime').lower()}"],
    )
