"""Family G: does the training operator make gangs."""

from __future__ import annotations

from dataclasses import replace

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.operator import DEPLOYMENT as OPERATOR
from kubeflow_volcano.catalog.operator import GangEra, era_of, version_of_image
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.text import few
from validators.checks.operator import common as judging
from validators.checks.operator.verdict import held_then_released, operator_verdict
from validators.core.check import check
from validators.core.consequences import NOT_NEEDED
from validators.core.expectations import GIVEN
from validators.core.facts import Facts
from validators.core.outcome import CannotJudgeError, Outcome, Severity, errored, failed, passed, skipped, warned
from validators.core.resources import DEPLOYMENTS, PODGROUPS, PODS
from validators.core.rights import Rule
from validators.probes.operator.training import TRAINING_JOB
from validators.subjects import crds
from validators.subjects.gang.operator_flags import container_of, faults, flags_of, gang_flags
from validators.subjects.gang.operators import TRAINING
from validators.subjects.issues import age, judged
from validators.subjects.pods import GROUP_NAME

__all__ = ["CHECKS"]

_EDIT = f"kubectl -n {OPERATOR.namespace} edit deployment {OPERATOR.name}"


def _era(facts: Facts, image: str) -> tuple[str, GangEra]:
    version = version_of_image(image) or facts.expectations.operator_version
    try:
        if version:
            return version, era_of(version)
        found = f"nothing says which version the image {image} is."
    except InvalidInput as error:
        found = error.problems[0].found
    todo = "say which version it is with --operator-version."
    raise CannotJudgeError(errored("UnknownOperatorVersion", found, objects=(OPERATOR,), todo=todo))


@check("G1", "gang-flag", severity=Severity.BLOCKER, reads=(DEPLOYMENTS,), component="training-operator")
def gang_flag(facts: Facts) -> Outcome:
    """The training operator is told to gang, in the words of its version.

    Up to 1.5 --enable-gang-scheduling=true, from 1.6 on --gang-scheduler-name=volcano; with scheduler-plugins, from 1.7
    on, the name of their scheduler. Without it no job is ganged,
    silently; with the flag of an earlier era the operator ends at its start. Set the argument in its Deployment.
    """
    container = container_of(TRAINING.deployment(facts))
    version, era = _era(facts, container["image"])
    flags = flags_of(container)
    gang = facts.expectations.gang
    known_from = facts.expectations.gang_from
    expected_because = "" if known_from == GIVEN else f" {gang.title} is expected: {known_from}."
    if not gang.is_supported_by(version):
        text = f"the training operator is {version}, and makes no gangs for {gang.title}.{expected_because}"
        todo = "ask for Volcano, or install a release whose operator does."
        needed = f"a training operator from {gang.operator_since} on"
        return failed("GangUnknown", text, expected=needed, objects=(OPERATOR,), todo=todo)
    required = " ".join(gang.arguments(version))
    observed = {"version": version, "image": container["image"], "gang_flags": dict(gang_flags(flags))}
    if found := faults(flags, era, gang.arguments(version)):
        return failed(
            found[0][0],
            f"{OPERATOR} {version}: {'; '.join(text for _, text in found)}.{expected_because}",
            expected=f"{required}, and none of {', '.join(era.forbidden_flags) or 'the other flags'}: {era.why}",
            observed=observed,
            objects=(OPERATOR,),
            todo=f"give it {required} and no other flag about gangs.",
            commands=(_EDIT,),
        )
    return passed(f"training operator {version} is started with {required}.", objects=(OPERATOR,), observed=observed)


@check(
    "G2",
    "operator-may-group",
    severity=Severity.BLOCKER,
    reads=(DEPLOYMENTS, judging.OPERATOR_ACCESS),
    component="training-operator",
)
def operator_may_group(facts: Facts) -> Outcome:
    """The training operator's service account may manage PodGroups and the finalizers of its jobs.

    Otherwise pods are made without a group, or not at all. The operator's ClusterRole has carried the rules for
    PodGroups since 1.3 and those for finalizers since 1.6: apply its manifest again instead of editing the role.
    """
    return judging.may_group(TRAINING, facts)


@check(
    "G3",
    "operator-after-volcano",
    severity=Severity.BLOCKER,
    reads=judging.READS_START,
    needs=(Rule("get", "", "pods/log", TRAINING.ref.namespace),),
    component="training-operator",
)
def operator_after_volcano(facts: Facts) -> Outcome:
    """The training operator started when Volcano's PodGroup was already served.

    An operator from 1.6 on looks for it once, at its start, and watches nothing when it is not there. Restart the
    operator.
    """
    return judging.after_volcano(TRAINING, facts)


@check(
    "G4",
    "operator-kinds",
    severity=Severity.BLOCKER,
    reads=judging.READS_KINDS,
    needs=[Rule("create", "kubeflow.org", plural) for plural in ("pytorchjobs", "tfjobs")],
    component="training-operator",
)
def operator_kinds(facts: Facts) -> Outcome:
    """The training operator's job kinds are served, and its admission webhook answers.

    The webhook is asked by creating a small job as a dry run, three times. When it does not answer, no job of that
    kind can be created: see the operator's pod and its webhook configuration.
    """
    return judging.kinds(TRAINING, facts, "G4")


@check(
    "G5",
    "podgroup-made",
    severity=Severity.BLOCKER,
    requires=("F1", "F3", "G1", "G4"),
    probe=TRAINING_JOB,
    component="training-operator",
)
def podgroup_made(facts: Facts) -> Outcome:
    """A job makes a PodGroup, and its pods are handed to Volcano.

    minMember and queue must be as the job asks, and each pod must carry schedulerName volcano and the name of the
    group. Where they do not, the operator does not gang whatever its arguments say: read its log.
    """
    TRAINING.deployment(facts)
    TRAINING.demand_real(facts)
    found = operator_verdict(facts.evidence(TRAINING_JOB))
    if found.reason == "PodsMissing" and not found.because:
        return replace(found, because=("B3",))  # a pod that a webhook keeps out comes when that answers
    return found


@check(
    "G6",
    "gang-through-operator",
    severity=Severity.BLOCKER,
    requires=("H1", "H2", "H3", "H4", "G5"),
    probe=TRAINING_JOB,
    component="training-operator",
)
def gang_through_operator(facts: Facts) -> Outcome:
    """A job runs nobody while its gang is short of a member, and succeeds as soon as it is whole.

    A job of two workers first asks for a gang of three: both pods must have been judged, and none bound. Then it asks
    for two, and must succeed. H7 of the gang experiment is this check. Operators up to 1.5 leave a PodGroup as it was
    made, so that there the job is made anew. Where the gang is not released, read the operator's log.
    """
    TRAINING.deployment(facts)
    TRAINING.demand_real(facts)
    return held_then_released(facts.evidence(TRAINING_JOB))


@check(
    "G12",
    "operator-awake",
    severity=Severity.MAJOR,
    reads=(*crds.READS, DEPLOYMENTS, PODS, PODGROUPS),
    component="training-operator",
)
def operator_awake(facts: Facts) -> Outcome:
    """No job waits for an operator that has missed that its gang may run.

    Up to 1.5 the operator does not watch PodGroups: it looks at one when its job changes. Where a gang is admitted
    (Inqueue) a moment after it looked, it makes no pods, until somebody touches the job (kubeflow/trainer#1574). A
    group that has had no pod for a minute is note, with the command that wakes the operator for it; 1.6.0 and later
    are free of it.
    """
    crds.demand_gang_kinds(facts)
    version, era = _era(facts, container_of(TRAINING.deployment(facts))["image"])
    if era.watches_groups:
        return skipped("NotAffected", f"training operator {version} watches PodGroups.")
    if facts.expectations.gang is not VOLCANO:
        return skipped(NOT_NEEDED, f"{facts.expectations.gang.title} admits no groups: pods come at once.")
    grouped = {
        (pod["metadata"]["namespace"], (pod["metadata"].get("annotations") or {}).get(GROUP_NAME))
        for pod in facts.all(PODS)
    }
    owned = [(group, job) for group in judged(facts, PODGROUPS) if (job := _job_of(group))]
    missed = [
        job
        for group, job in owned
        if group.get("status", {}).get("phase") == "Inqueue"
        and (group["metadata"]["namespace"], group["metadata"]["name"]) not in grouped
        and age(group, facts) > facts.timing.grace_seconds
    ]
    if not missed:
        text = f"training operator {version} does not watch PodGroups, and has missed none of {len(owned)}."
        return passed(text, objects=(OPERATOR,))
    return warned(
        "OperatorAsleep",
        f"training operator {version} has missed that the gangs of {few([str(job) for job in missed])} may run: they "
        "are admitted (Inqueue), and have no pods.",
        expected="pods for every gang that may run",
        observed={str(job): "Inqueue, no pods" for job in missed},
        objects=tuple(missed),
        todo="touch each job, or restart the operator; 1.6.0 is free of it (kubeflow/trainer#1574).",
        commands=tuple(
            f"kubectl -n {job.namespace} annotate {job.kind.lower()}.kubeflow.org {job.name} --overwrite "
            "kfv.io/look-again=$(date +%s)"
            for job in missed
        ),
    )


def _job_of(group: Object) -> Ref | None:
    """The job of the operator that a PodGroup belongs to."""
    for owner in group["metadata"].get("ownerReferences") or ():
        if owner["apiVersion"].partition("/")[0] == TRAINING.job_group:
            return Ref(owner["apiVersion"], owner["kind"], group["metadata"]["namespace"], owner["name"])
    return None


CHECKS = (
    gang_flag,
    operator_may_group,
    operator_after_volcano,
    operator_kinds,
    podgroup_made,
    gang_through_operator,
    operator_awake,
)
