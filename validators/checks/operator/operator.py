"""Family G: does the training operator make gangs."""

from __future__ import annotations

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.catalog.operator import DEPLOYMENT as OPERATOR
from kubeflow_volcano.catalog.operator import GangEra, era_of, version_of_image
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.operator import common as judging
from kubeflow_volcano.validators.checks.operator.verdict import held_then_released
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.consequences import NOT_NEEDED
from kubeflow_volcano.validators.core.expectations import GIVEN
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import (
    CannotJudgeError,
    Outcome,
    Severity,
    errored,
    failed,
    passed,
    skipped,
    warned,
)
from kubeflow_volcano.validators.core.resources import DEPLOYMENTS, PODGROUPS, PODS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.operator.training import TRAINING_JOB
from kubeflow_volcano.validators.subjects import crds
from kubeflow_volcano.validators.subjects.gang.operator_flags import (
    container_of,
    correction,
    faults,
    flags_of,
    gang_flags,
)
from kubeflow_volcano.validators.subjects.gang.operators import TRAINING
from kubeflow_volcano.validators.subjects.issues import age, judged
from kubeflow_volcano.validators.subjects.kubectl import look_again
from kubeflow_volcano.validators.subjects.pods import GROUP_NAME


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
    """Gang scheduling is enabled in the training operator.

    Up to 1.5 by --enable-gang-scheduling=true, from 1.6 on by --gang-scheduler-name=volcano; for scheduler-plugins,
    from 1.7 on, by the name of their scheduler. Without it jobs are scheduled pod by pod, without any message; with the
    flag of another version the operator exits at its start. Set the argument in the operator's Deployment. A second
    operator in another namespace takes the same jobs: remove it. With --namespace it serves no other namespace.
    """
    deployment = TRAINING.deployment(facts)
    container = container_of(deployment)
    version, era = _era(facts, container["image"])
    flags = flags_of(container)
    gang = facts.expectations.gang
    known_from = facts.expectations.gang_from
    expected_because = "" if known_from == GIVEN else f" {gang.title} is expected: {known_from}."
    if not gang.is_supported_by(version):
        text = f"training operator {version} does not support {gang.title}.{expected_because}"
        todo = "use Volcano, or install a release whose operator supports it."
        needed = f"a training operator from {gang.operator_since} on"
        return failed("GangUnknown", text, expected=needed, objects=(OPERATOR,), todo=todo)
    required = " ".join(gang.arguments(version))
    observed = {"version": version, "image": container["image"], "gang_flags": dict(gang_flags(flags))}
    if wrong := faults(flags, era, gang.arguments(version)):
        return failed(
            wrong[0][0],
            f"{OPERATOR} {version}: {'; '.join(text for _, text in wrong)}.{expected_because}",
            expected=f"{required}, and none of {', '.join(era.forbidden_flags) or 'the other flags'}: {era.why}",
            observed=observed,
            objects=(OPERATOR,),
            todo=f"give it {required} and no other flag about gangs.",
            changes=(correction(deployment, gang.arguments(version)),),
        )
    if only := flags.get("--namespace"):
        return failed(
            "OneNamespace",
            f"{OPERATOR} {version} has --namespace={only}: it does nothing with jobs in other namespaces, which stay "
            "without pods and without a message.",
            expected="an operator of all namespaces",
            observed=observed,
            objects=(OPERATOR,),
            todo="take the argument --namespace off the operator; or keep jobs in that namespace, and waive G1.",
            commands=(f"kubectl -n {OPERATOR.namespace} get deployment {OPERATOR.name} -o yaml",),
        )
    if second := _second_operator(facts):
        return second
    return passed(f"training operator {version} is started with {required}.", objects=(OPERATOR,), observed=observed)


def _second_operator(facts: Facts) -> Outcome | None:
    """Another training operator that takes the same jobs: without the flag it creates their pods one by one."""
    for deployment in facts.all(DEPLOYMENTS):
        ref, container = Ref.of(deployment), container_of(deployment)
        version = version_of_image(container["image"])
        watches = flags_of(container).get("--namespace", "")
        if ref == OPERATOR or not version or watches or not deployment["spec"].get("replicas", 1):
            continue
        make, note, flags = warned, "both act on every job", flags_of(container)
        if wrong := faults(flags, era_of(version), facts.expectations.gang.arguments(version)):
            make, note = failed, "; ".join(text for _, text in wrong)
        return make(
            "SecondOperator",
            f"{ref} is a second training operator, {version}, beside {OPERATOR}: {note}.",
            expected="one training operator for all namespaces",
            observed={
                "version": version,
                "image": container["image"],
                "gang_flags": dict(gang_flags(flags)),
            },
            objects=(ref, OPERATOR),
            todo=f"remove {ref}, or scale it to 0; one operator serves all namespaces.",
            changes=(f"kubectl -n {ref.namespace} scale deployment {ref.name} --replicas=0",),
        )
    return None


@check(
    "G2",
    "operator-may-group",
    severity=Severity.BLOCKER,
    reads=(DEPLOYMENTS, judging.OPERATOR_ACCESS),
    component="training-operator",
)
def operator_may_group(facts: Facts) -> Outcome:
    """The training operator's ServiceAccount may manage PodGroups and the finalizers of its jobs.

    Otherwise it creates pods without a PodGroup, or none at all. The operator's ClusterRole has had the rules for
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
    """The training operator started after Volcano's PodGroup was served.

    From 1.6 on the operator looks for PodGroup once, at its start, and does not watch it if it is missing. Restart the
    operator.
    """
    return judging.after_volcano(TRAINING, facts, ("G5", "G6"))


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

    The check creates a small job as a dry run, three times. If the webhook does not answer, no job of that kind can be
    created: see the operator's pod and its webhook configuration.
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
    """The operator creates a PodGroup for a job, and its pods use Volcano.

    minMember and queue must be those of the job, and each pod must have schedulerName volcano and the name of the
    PodGroup. If not, gang scheduling does not work whatever the operator's arguments are: read its log.
    """
    TRAINING.deployment(facts)
    TRAINING.demand_real(facts)
    return judging.ganged(TRAINING, facts.evidence(TRAINING_JOB), facts)


@check(
    "G6",
    "gang-through-operator",
    severity=Severity.BLOCKER,
    requires=("H1", "H2", "H3", "H4", "G5"),
    probe=TRAINING_JOB,
    component="training-operator",
)
def gang_through_operator(facts: Facts) -> Outcome:
    """A job starts no pod while minMember cannot be met, and succeeds once it can.

    A job of two workers first has minMember 3: the scheduler must evaluate both pods and bind none. Then it has
    minMember 2, and must succeed. H7 of the gang experiment is this check. Operators up to 1.5 do not update a
    PodGroup, so there the probe recreates the job. If the gang is not released, read the operator's log.
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
    """No PodGroup is stuck in Inqueue because the training operator missed the phase change.

    Up to 1.5 the operator does not watch PodGroups: it reads one when its job changes. If Volcano admits a gang
    (Inqueue) after that, the operator creates no pods until the job changes again (kubeflow/trainer#1574). A PodGroup
    without pods for a minute is a warning, with the command that triggers the operator; 1.6.0 and later are not
    affected.
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
        groups = counted(len(owned), "PodGroup")
        text = f"training operator {version} does not watch PodGroups, and missed no phase change of {groups}."
        return passed(text, objects=(OPERATOR,))
    return warned(
        "OperatorAsleep",
        f"training operator {version} missed the phase change of {few([str(job) for job in missed])}: the "
        "PodGroups are Inqueue and have no pods.",
        expected="pods for every PodGroup that is Inqueue",
        observed={str(job): "Inqueue, no pods" for job in missed},
        objects=tuple(missed),
        todo="annotate each job, or restart the operator; 1.6.0 fixes it (kubeflow/trainer#1574).",
        changes=tuple(map(look_again, missed)),
    )


def _job_of(group: Object) -> Ref | None:
    """The job of the operator that a PodGroup belongs to."""
    for owner in group["metadata"].get("ownerReferences") or ():
        if owner["apiVersion"].partition("/")[0] == TRAINING.job_group:
            return Ref(owner["apiVersion"], owner["kind"], group["metadata"]["namespace"], owner["name"])
    return None
