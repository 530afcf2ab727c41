"""Who turns the job into pods and a PodGroup: is that controller there, and does it make gangs."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.catalog.operator import GangEra, era_of, version_of_image
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.problems import InvalidInput
from validators import runtimes
from validators.explaining.kinds import JOBSETS, runtime_of
from validators.explaining.model import Finding, Situation, finding
from validators.operator_flags import container_of, faults, read_flags
from validators.operators import TRAINER, TRAINING
from validators.probes.stage import PODGROUP

__all__ = ["CONTROLLERS", "controllers", "grouping"]

_VOLCANO = Ref("apps/v1", "Deployment", "volcano-system", "volcano-controllers")
_JOBSET = Ref("apps/v1", "Deployment", TRAINER.ref.namespace, "jobset-controller-manager")
_PODGROUPS = "podgroups.scheduling.volcano.sh"
_WATCHES_GROUPS_SINCE = "1.6.0"  # before, kubeflow/training-operator#1574: Inqueue, and no pods

CONTROLLERS = {
    "kubeflow.org": (TRAINING.ref,),
    "trainer.kubeflow.org": (TRAINER.ref, _JOBSET),
    "batch.volcano.sh": (_VOLCANO,),
}
"""Deployments that a job needs to become pods, by the API group of its kind."""


def controllers(situation: Situation) -> Iterator[Finding]:
    """Controllers that are missing or down, while the job still needs them."""
    job = situation.job
    if job.roles and len(situation.pods) >= job.wanted:
        return
    for ref in CONTROLLERS.get(job.ref.group, ()):
        found = situation.facts.get("deployments.apps", ref.namespace, ref.name)
        if found is None:
            yield finding(
                "ControllerMissing",
                f"{ref} does not exist, and {len(situation.pods)} of {job.wanted} pods do.",
                needed=f"the controller that makes the pods of a {job.ref.kind}.",
                todo="install it, or run the job where it is.",
                objects=[ref],
            )
            continue
        state = assess(found)
        if state.state is not State.READY:
            yield finding(
                "ControllerDown",
                f"{state.message} {len(situation.pods)} of {job.wanted} pods exist.",
                needed=f"the controller that makes the pods of a {job.ref.kind}.",
                todo="bring it up; the validation says what keeps it down.",
                objects=[ref],
                commands=[f"kubectl -n {ref.namespace} describe deployment {ref.name}"],
            )
    if job.ref.group == "trainer.kubeflow.org":
        yield from _runtime(situation)


def grouping(situation: Situation) -> Iterator[Finding]:
    """The job has no PodGroup, or one that can never be whole."""
    job = situation.job
    if situation.group is None:
        yield from _without_group(situation)
        return
    if job.roles and situation.minimum > job.wanted:
        yield finding(
            "MinMemberTooHigh",
            f"{situation.group_ref} wants {situation.minimum} pods together, and the job has {job.wanted}.",
            needed="a minMember that the job's replicas can reach.",
            todo="lower minAvailable in the job, or raise replicas.",
            objects=[job.ref],
        )
    elif not job.roles and len(situation.pods) < situation.minimum:
        yield finding(
            "NotEnoughPods",
            f"{situation.group_ref} wants {situation.minimum} pods together; {len(situation.pods)} name it in their "
            "annotation scheduling.k8s.io/group-name.",
            needed="as many pods as minMember says.",
            todo="create the missing pods with that annotation, or lower minMember.",
            objects=[job.ref],
        )
    if job.ref.group == "kubeflow.org" and situation.phase == "Inqueue" and not situation.pods:
        yield from _race(situation)


def _without_group(situation: Situation) -> Iterator[Finding]:
    job = situation.job
    situation.facts.demand(_PODGROUPS)
    if "PodGroup" not in situation.facts.discovery.get(PODGROUP[0], ()):
        yield finding(
            "PodGroupNotServed",
            "the API server serves no PodGroup of scheduling.volcano.sh.",
            needed="Volcano, where the job is to start as a gang.",
            todo="install Volcano, or let the operator make no gangs.",
            objects=[job.ref],
            blocks=not situation.pods,
        )
        return
    if job.ref.group == "kubeflow.org":
        yield from _by_operator(situation)
    elif job.ref.group == "trainer.kubeflow.org" and not _runtime_trouble(situation):
        yield _not_made(situation, TRAINER.ref)
    elif job.ref.group == "batch.volcano.sh":
        yield _not_made(situation, _VOLCANO)


def _by_operator(situation: Situation) -> Iterator[Finding]:
    """No gang by the operator's flags, or a gang that was not made."""
    deployment = situation.facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)
    if deployment is None:
        return
    container = container_of(deployment)
    era = _era(container["image"])
    flags = read_flags([*(container.get("command") or ()), *(container.get("args") or ())])
    wrong = faults(flags, era) if era else ()
    if not wrong:
        yield _not_made(situation, TRAINING.ref)
        return
    asked = " ".join(era.required_arguments) if era else ""
    unknown = wrong[0][0] == "UnknownFlag"
    yield finding(
        wrong[0][0],
        f"{TRAINING.ref}: {'; '.join(text for _, text in wrong)}. The job has no PodGroup: its pods are placed one by "
        "one.",
        needed=f"the argument {asked}, where the job is to start as a gang.",
        todo=f"give the operator {asked} and no other flag about gangs.",
        objects=[TRAINING.ref],
        commands=[f"kubectl -n {TRAINING.ref.namespace} edit deployment {TRAINING.ref.name}"],
        blocks=unknown and not situation.pods,
    )


def _era(image: str) -> GangEra | None:
    try:
        return era_of(version_of_image(image) or "")
    except (InvalidInput, ValueError):
        return None


def _not_made(situation: Situation, by: Ref) -> Finding:
    ref = situation.job.ref
    if taken := _taken(situation):
        return taken
    return finding(
        "PodGroupMissing",
        f"{ref} has no PodGroup.",
        needed=f"the PodGroup that {by} makes for it.",
        todo="read the controller's log: it may lack a right, or have started before PodGroup was served; then "
        "restart it.",
        objects=[ref, by],
        commands=[
            f"kubectl -n {by.namespace} logs deployment/{by.name} --tail 50",
            f"kubectl -n {by.namespace} rollout restart deployment/{by.name}",
        ],
    )


def _taken(situation: Situation) -> Finding | None:
    """Jobs of two kinds with one name want PodGroups of one name; the second is left without."""
    for name in situation.job.groups:
        other = situation.facts.get(_PODGROUPS, situation.job.ref.namespace, name)
        if other:
            owners = [f"{item['kind']} {item['name']}" for item in other["metadata"].get("ownerReferences") or ()]
            return finding(
                "PodGroupTaken",
                f"{Ref.of(other)} belongs to {', '.join(owners)}.",
                needed=f"a PodGroup of its own for {situation.job.ref}.",
                todo="give one of the two jobs another name.",
                objects=[Ref.of(other)],
            )
    return None


def _race(situation: Situation) -> Iterator[Finding]:
    """An operator before 1.6 does not watch PodGroups and may sleep through the moment when one is admitted."""
    deployment = situation.facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)
    version = version_of_image(container_of(deployment)["image"]) if deployment else None
    if version and version_key(version) < version_key(_WATCHES_GROUPS_SINCE):
        ref = situation.job.ref
        yield finding(
            "OperatorAsleep",
            f"{situation.group_ref} was admitted (Inqueue), and training operator {version} made no pods: it does not "
            "watch PodGroups (kubeflow/training-operator#1574, fixed in 1.6.0).",
            needed="any change of the job, upon which the operator looks again.",
            todo="annotate the job, or restart the operator.",
            objects=[ref],
            commands=[f"kubectl -n {ref.namespace} annotate {ref.kind.lower()} {ref.name} kfv.io/look-again=now"],
        )


def _runtime_trouble(situation: Situation) -> str:
    runtime = runtime_of(situation.obj, situation.facts)
    if runtime is None:
        return "missing"
    fault = runtimes.fault(runtime)
    return fault.text if fault else ""


def _runtime(situation: Situation) -> Iterator[Finding]:
    """The runtime of a TrainJob, and the JobSet that Trainer makes of both."""
    wanted, job = situation.obj["spec"]["runtimeRef"], situation.job
    kind = wanted.get("kind", "ClusterTrainingRuntime")
    runtime = runtime_of(situation.obj, situation.facts)
    if runtime is None:
        yield finding(
            "RuntimeMissing",
            f"{job.ref} names {kind} {wanted['name']}, which does not exist.",
            needed="the runtime from which its pods are made.",
            todo="name one that exists, or make it.",
            objects=[job.ref],
            commands=["kubectl get clustertrainingruntimes"],
        )
        return
    if fault := runtimes.fault(runtime):
        ref = Ref.of(runtime)
        yield finding(
            "RuntimeHalfWired" if fault.half else "RuntimeWithoutGang",
            f"{ref} {fault.text}.",
            needed="podGroupPolicy.volcano and schedulerName volcano together, where the job is to start as a gang.",
            todo="set both in the runtime.",
            objects=[ref],
            commands=[f"kubectl edit {kind.lower()} {wanted['name']}"],
            blocks=fault.half,
        )
    if situation.facts.get(JOBSETS, job.ref.namespace, job.ref.name) is None:
        yield finding(
            "JobSetMissing",
            f"{job.ref} has no JobSet.",
            needed=f"the JobSet that {TRAINER.ref} makes of the job and its runtime.",
            todo="read Trainer's log.",
            objects=[job.ref],
            commands=[f"kubectl -n {TRAINER.ref.namespace} logs deployment/{TRAINER.ref.name} --tail 50"],
        )
