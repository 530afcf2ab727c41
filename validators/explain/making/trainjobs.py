"""What a TrainJob has beside its pods: the runtime that it names, and the JobSet that Trainer makes of both."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Ref
from validators.core.resources import CLUSTER_RUNTIMES
from validators.explain.kinds import JOBSETS, RUNTIMES, runtime_of
from validators.explain.making.admission import JOBSET, unanswered
from validators.explain.making.makers import may_not
from validators.explain.making.quotas import no_more
from validators.explain.making.refusals import refused
from validators.explain.model import Finding, Situation, finding
from validators.subjects.gang import runtimes
from validators.subjects.gang.operators import TRAINER

__all__ = ["jobset", "waits_for_itself", "wants_gang", "wiring"]


def wiring(situation: Situation) -> Iterator[Finding]:
    """The runtime of a TrainJob: is it there, and does it make gangs."""
    wanted, job = situation.obj["spec"]["runtimeRef"], situation.job
    kind = wanted.get("kind", "ClusterTrainingRuntime")
    runtime = runtime_of(situation.obj, situation.facts)
    if runtime is None:
        if len(situation.pods) < job.wanted or not job.roles:
            everywhere = kind == "ClusterTrainingRuntime"
            known = [
                item["metadata"]["name"]
                for item in situation.facts.all(CLUSTER_RUNTIMES if everywhere else RUNTIMES)
                if everywhere or item["metadata"]["namespace"] == job.ref.namespace
            ]
            yield finding(
                "RuntimeMissing",
                f"{job.ref} names {kind} {wanted['name']}, which does not exist.",
                needed=f"the runtime from which its pods are made; there are {', '.join(sorted(known)) or 'none'}.",
                todo="make the runtime again, or the job anew with one that exists: its runtime cannot be changed.",
                objects=[job.ref],
                commands=[f"kubectl {'' if everywhere else f'-n {job.ref.namespace} '}get {kind.lower()}s"],
            )
        return
    # Jobs of steps are no gangs by design: nothing is to be set there.
    if not job.later and (fault := runtimes.fault(runtime)):
        ref = Ref.of(runtime)
        yield finding(
            "RuntimeHalfWired" if fault.half else "RuntimeWithoutGang",
            f"{ref} {fault.text}: the pods of its jobs are placed one by one.",
            needed="podGroupPolicy.volcano and schedulerName volcano together, where the job is to start as a gang.",
            todo="set both in the runtime, and make the job anew: pods that are made keep their scheduler.",
            objects=[ref],
            commands=[f"kubectl edit {kind.lower()} {wanted['name']}"],
            blocks=False,
        )


def wants_gang(situation: Situation) -> bool:
    """Whether Trainer is told by the runtime to make a PodGroup of Volcano's for the job."""
    runtime = runtime_of(situation.obj, situation.facts) or {"spec": {}}
    return "volcano" in (runtime["spec"].get("podGroupPolicy") or {})


def jobset(situation: Situation) -> Iterator[Finding]:
    """The job has no JobSet, although its runtime is there, or somebody else's has its name."""
    job = situation.job
    found = situation.facts.get(JOBSETS, job.ref.namespace, job.ref.name)
    if found:
        owners = found["metadata"].get("ownerReferences") or ()
        if all(item["uid"] != job.uid for item in owners):
            names = ", ".join(f"{item['kind']} {item['name']}" for item in owners)
            yield finding(
                "NameTaken",
                f"{Ref.of(found)} belongs to {names or 'nobody'}, and not to {job.ref}, which wants one of that name.",
                needed=f"the name {job.ref.name} for the JobSet that {TRAINER.ref} makes.",
                todo="delete that JobSet if nobody needs it, or give the job another name.",
                objects=[Ref.of(found)],
                commands=[f"kubectl -n {job.ref.namespace} get {JOBSETS} {job.ref.name} -o yaml"],
            )
        elif not situation.pods:
            yield from no_more(situation, "count/jobs.batch")
        return
    causes = [
        *unanswered(situation, JOBSET[1]),
        *may_not(situation, JOBSETS),
        *no_more(situation, f"count/{JOBSETS}"),
    ]
    yield from causes
    if not causes and not refused(situation):
        yield finding(
            "JobSetMissing",
            f"{job.ref} has no JobSet.",
            needed=f"the JobSet that {TRAINER.ref} makes of the job and its runtime.",
            todo="read Trainer's log.",
            objects=[job.ref],
            commands=[f"kubectl -n {TRAINER.ref.namespace} logs deployment/{TRAINER.ref.name} --tail 50"],
        )


def waits_for_itself(situation: Situation) -> Finding:
    """The gang counts the pods of jobs that are made only when others of the JobSet have ended."""
    job = situation.job
    return finding(
        "GangWaitsForItself",
        f"{situation.group_ref} wants {situation.minimum} pods together; those of {', '.join(sorted(job.later))} are "
        f"made when the jobs are ready or have ended that come before them, and the others are {job.first}: none of "
        "them ever runs.",
        needed="a runtime without podGroupPolicy: Trainer counts the pods of all steps into one gang.",
        todo="take podGroupPolicy and schedulerName out of the runtime, or name another one, and make the job anew: "
        "its PodGroup stays as it is.",
        objects=[job.ref],
        commands=[f"kubectl get {situation.obj['spec']['runtimeRef'].get('kind', 'ClusterTrainingRuntime').lower()}s"],
    )
