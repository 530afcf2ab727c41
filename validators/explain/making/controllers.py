"""Who turns the job into pods and a PodGroup: is that controller there, and does it make gangs."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from kubeflow_volcano.catalog.operator import GangEra, era_of, version_of_image
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.experiment.stage import PODGROUP
from kubeflow_volcano.problems import InvalidInput
from validators.explain.kinds import runtime_of
from validators.explain.making import trainjobs
from validators.explain.making.admission import unanswered
from validators.explain.making.makers import MAKERS, PODGROUPS, may_not
from validators.explain.making.quotas import no_more
from validators.explain.making.refusals import refused
from validators.explain.model import GROUP_NAME, Finding, Situation, finding, of_single_pods
from validators.subjects.crds import DISCOVERY
from validators.subjects.gang.operator_flags import container_of, faults, read_flags
from validators.subjects.gang.operators import TRAINER, TRAINING

__all__ = ["controllers", "grouping"]

_TRAINER_GROUP = "trainer.kubeflow.org"
_VOLCANO = MAKERS["batch.volcano.sh"][0].ref


def controllers(situation: Situation) -> Iterator[Finding]:
    """Controllers that are missing or down, while the job still needs them."""
    job = situation.job
    of_trainer = job.ref.group == _TRAINER_GROUP
    if of_trainer:
        yield from trainjobs.wiring(situation)
    if job.roles and len(situation.pods) >= job.wanted:
        return
    down = [found for item in MAKERS.get(job.ref.group, ()) if (found := _down(item.ref, situation))]
    yield from down
    if of_trainer and not down and runtime_of(situation.obj, situation.facts):
        yield from trainjobs.jobset(situation)


def _down(ref: Ref, situation: Situation) -> Finding | None:
    job, made = situation.job, len(situation.pods)
    found = situation.facts.get("deployments.apps", ref.namespace, ref.name)
    if found is None:
        return finding(
            "ControllerMissing",
            f"{ref} does not exist, and {made} of {job.wanted} pods do.",
            needed=f"the controller that makes the pods of a {job.ref.kind}.",
            todo="install it, or run the job where it is.",
            objects=[ref],
        )
    state = assess(found)
    if state.state is State.READY:
        return None
    return finding(
        "ControllerDown",
        f"{state.message} {made} of {job.wanted} pods exist.",
        needed=f"the controller that makes the pods of a {job.ref.kind}.",
        todo="bring it up; the validation says what keeps it down.",
        objects=[ref],
        commands=[f"kubectl -n {ref.namespace} describe deployment {ref.name}"],
    )


def grouping(situation: Situation) -> Iterator[Finding]:
    """The job has no PodGroup, or one that can never be whole."""
    job = situation.job
    if situation.group is None:
        yield from _without_group(situation)
        return
    if job.ref.group == "kubeflow.org" and of_single_pods(situation.group):
        yield from _by_flags(situation, f"{situation.group_ref} is Volcano's own for single pods")
    if job.roles and situation.minimum > job.wanted:
        yield finding(
            "MinMemberTooHigh",
            f"{situation.group_ref} wants {situation.minimum} pods together, and the job has {job.wanted}.",
            needed="a minMember that the job's replicas can reach.",
            todo="lower minAvailable in the job, or raise replicas.",
            objects=[job.ref],
        )
    elif job.later and len(situation.pods) < situation.minimum and situation.minimum > job.first:
        of_trainer = job.ref.group == _TRAINER_GROUP
        yield trainjobs.waits_for_itself(situation) if of_trainer else _waits_for_itself(situation)
    elif not job.roles and len(situation.pods) < situation.minimum:
        yield finding(
            "NotEnoughPods",
            f"{situation.group_ref} wants {situation.minimum} pods together; {len(situation.pods)} name it in their "
            f"annotation {GROUP_NAME}.",
            needed="as many pods as minMember says.",
            todo="create the missing pods with that annotation, or lower minMember.",
            objects=[job.ref],
        )
    if job.ref.group == "kubeflow.org" and situation.phase == "Inqueue" and not situation.pods:
        yield from _race(situation)


def _waits_for_itself(situation: Situation) -> Finding:
    """The gang counts pods that are made only when others of it run."""
    job = situation.job
    return finding(
        "GangWaitsForItself",
        f"{situation.group_ref} wants {situation.minimum} pods together; those of {', '.join(sorted(job.later))} are "
        f"made when the tasks run that dependsOn names, and the others are {job.first}: none of them ever runs.",
        needed=f"a gang of no more than the {job.first} pods that wait for no task.",
        todo=f"set minAvailable of the job to {job.first} or less, or take dependsOn out.",
        objects=[job.ref],
    )


def _without_group(situation: Situation) -> Iterator[Finding]:
    job = situation.job
    situation.facts.demand(PODGROUPS)
    if "PodGroup" not in situation.facts.known(DISCOVERY).get(PODGROUP[0], ()):
        if _wants_gang(situation):
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
        deployment = situation.facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)
        if deployment and not (yield from _by_flags(situation, "the job has no PodGroup")):
            yield from _not_made(situation, TRAINING.ref)
    elif job.ref.group == _TRAINER_GROUP and trainjobs.wants_gang(situation):
        yield from _not_made(situation, TRAINER.ref)
    elif job.ref.group == "batch.volcano.sh":
        yield from _not_made(situation, _VOLCANO)


def _wants_gang(situation: Situation) -> bool:
    """Whether whoever makes the job's pods is told to make gangs; where nothing tells, it is taken to be so."""
    if situation.job.ref.group == _TRAINER_GROUP:
        return trainjobs.wants_gang(situation)
    return all(reason not in {"GangOff", "GangOther"} for reason, _ in _flags(situation)[0])


def _flags(situation: Situation) -> tuple[tuple[tuple[str, str], ...], GangEra | None]:
    """Reason and text of what is wrong with the training operator's flags about gangs, and what its era asks for."""
    if situation.job.ref.group != "kubeflow.org":
        return (), None
    deployment = situation.facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)
    if deployment is None:
        return (), None
    container = container_of(deployment)
    era = _era(container["image"])
    flags = read_flags([*(container.get("command") or ()), *(container.get("args") or ())])
    return (faults(flags, era) if era else ()), era


def _by_flags(situation: Situation, without: str) -> Generator[Finding, None, bool]:
    """No gang by the operator's flags; returns whether that is so."""
    wrong, era = _flags(situation)
    if not wrong or era is None:
        return False
    asked = " ".join(era.required_arguments)
    unknown = wrong[0][0] == "UnknownFlag"
    yield finding(
        wrong[0][0],
        f"{TRAINING.ref}: {'; '.join(text for _, text in wrong)}. Indeed {without}: its pods are placed one by one.",
        needed=f"the argument {asked}, where the job is to start as a gang.",
        todo=f"give the operator {asked} and no other flag about gangs, and make the job anew.",
        objects=[TRAINING.ref],
        commands=[f"kubectl -n {TRAINING.ref.namespace} edit deployment {TRAINING.ref.name}"],
        blocks=unknown and not situation.pods,
    )
    return True


def _era(image: str) -> GangEra | None:
    try:
        return era_of(version_of_image(image) or "")
    except (InvalidInput, ValueError):
        return None


def _not_made(situation: Situation, by: Ref) -> Iterator[Finding]:
    """No PodGroup, although somebody should have made one: who or what kept it from that."""
    ref = situation.job.ref
    causes = [
        *_taken(situation),
        *unanswered(situation, PODGROUP[1]),
        *may_not(situation, PODGROUPS),
        *no_more(situation, f"count/{PODGROUPS}"),
    ]
    yield from causes
    if not causes and not refused(situation) and _down(by, situation) is None:
        yield finding(
            "PodGroupMissing",
            f"{ref} has no PodGroup.",
            needed=f"the PodGroup that {by} makes for it.",
            todo="read the controller's log: it may have started before PodGroup was served, or before it was told to "
            "make gangs; then restart it.",
            objects=[ref, by],
            commands=[
                f"kubectl -n {by.namespace} logs deployment/{by.name} --tail 50",
                f"kubectl -n {by.namespace} rollout restart deployment/{by.name}",
            ],
        )


def _taken(situation: Situation) -> Iterator[Finding]:
    """Jobs of two kinds with one name want PodGroups of one name; the second is left without."""
    ref = situation.job.ref
    said = [str((pod["metadata"].get("annotations") or {}).get(GROUP_NAME)) for pod in situation.pods]
    for name in dict.fromkeys((*situation.job.groups, *said)):
        other = situation.facts.get(PODGROUPS, ref.namespace, name)
        if other is None:
            continue
        owners = other["metadata"].get("ownerReferences") or ()
        names = ", ".join(f"{item['kind']} {item['name']}" for item in owners)
        earlier = any((item["kind"], item["name"]) == (ref.kind, ref.name) for item in owners)
        yield finding(
            "PodGroupTaken",
            f"{Ref.of(other)} belongs to {'an earlier ' if earlier else ''}{names}"
            f"{', which is gone or going' if earlier else ''}.",
            needed=f"a PodGroup of its own for {ref}.",
            todo="delete the PodGroup that was left behind, and see who keeps it (finalizers)."
            if earlier
            else "give one of the two jobs another name.",
            objects=[Ref.of(other)],
            commands=[f"kubectl -n {ref.namespace} delete podgroups.scheduling.volcano.sh {name}"] if earlier else (),
        )
        return


def _race(situation: Situation) -> Iterator[Finding]:
    """An operator before 1.6 does not watch PodGroups and may sleep through the moment when one is admitted."""
    deployment = situation.facts.get("deployments.apps", TRAINING.ref.namespace, TRAINING.ref.name)
    image = container_of(deployment)["image"] if deployment else ""
    era = _era(image)
    if era and not era.watches_groups:
        ref = situation.job.ref
        yield finding(
            "OperatorAsleep",
            f"{situation.group_ref} was admitted (Inqueue), and training operator {version_of_image(image)} made no "
            "pods: it does not watch PodGroups (kubeflow/training-operator#1574, fixed in 1.6.0).",
            needed="any change of the job, upon which the operator looks again.",
            todo="annotate the job, or restart the operator.",
            objects=[ref],
            commands=[f"kubectl -n {ref.namespace} annotate {ref.kind.lower()} {ref.name} kfv.io/look-again=now"],
        )
