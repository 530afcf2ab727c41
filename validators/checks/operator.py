"""Family G: does the training operator make gangs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from kubeflow_volcano.catalog.operator import GangEra, era_of, version_of_image
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.problems import InvalidInput
from validators import crds, webhooks
from validators.checks.gang import NEEDS_OPERATOR, operator_verdict
from validators.facts import Facts
from validators.model import CannotJudgeError, Outcome, Rule, Severity, check, errored, failed, passed, skipped
from validators.operator_flags import container_of, faults, gang_flags, read_flags
from validators.pods import workload_of
from validators.troubles import OPERATOR, verdict

__all__ = ["CHECKS"]

_COMPONENT = "training-operator"
_PODGROUPS = "podgroups.scheduling.volcano.sh"
_READ_DEPLOYMENTS = (Rule("list", "apps", "deployments"),)
_LATE = "could not find the requested resource"  # what an operator logs that looked for the CRD too early
_EDIT = f"kubectl -n {OPERATOR.namespace} edit deployment {OPERATOR.name}"
_RESTART = f"kubectl -n {OPERATOR.namespace} rollout restart deployment/{OPERATOR.name}"


def _operator(facts: Facts) -> Object:
    """The operator's Deployment; ends the judgement where none is expected, or where it is missing."""
    if facts.expectations.gang_scheduler == "none":
        raise CannotJudgeError(skipped("GangNotAsked", "the settings ask for no gang scheduling."))
    if OPERATOR not in facts.expectations.workloads:
        raise CannotJudgeError(skipped("NotExpected", "the chosen components have no training operator."))
    found = facts.get("deployments.apps", OPERATOR.namespace, OPERATOR.name)
    if found is None:
        todo = f"install component {_COMPONENT}."
        raise CannotJudgeError(
            failed("Missing", f"{OPERATOR} does not exist.", objects=(OPERATOR,), todo=todo, because=("C2",))
        )
    return found


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


@check("G1", "gang-flag", severity=Severity.BLOCKER, needs=_READ_DEPLOYMENTS)
def gang_flag(facts: Facts) -> Outcome:
    """The training operator is told to gang, in the words of its version.

    Up to 1.5 --enable-gang-scheduling=true, from 1.6 on --gang-scheduler-name=volcano. Without it no job is ganged,
    silently; with the flag of an earlier era the operator ends at its start. Set the argument in its Deployment.
    """
    container = container_of(_operator(facts))
    version, era = _era(facts, container["image"])
    flags = read_flags([*(container.get("command") or ()), *(container.get("args") or ())])
    required = " ".join(era.required_arguments)
    observed = {"version": version, "image": container["image"], "gang_flags": dict(gang_flags(flags))}
    if found := faults(flags, era):
        return failed(
            found[0][0],
            f"{OPERATOR} {version}: {'; '.join(text for _, text in found)}.",
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
    needs=(
        *_READ_DEPLOYMENTS,
        Rule("create", "authorization.k8s.io", "subjectaccessreviews"),
    ),
)
def operator_may_group(facts: Facts) -> Outcome:
    """The training operator's service account may manage PodGroups and the finalizers of its jobs.

    Otherwise pods are made without a group, or not at all. The operator's ClusterRole has carried these rules since
    1.3: apply its manifest again instead of editing the role.
    """
    _operator(facts)
    facts.demand("operator-access")
    denied = [rule for rule, allowed in facts.operator_access.items() if not allowed]
    account = service_account(facts)
    if denied:
        return failed(
            "Denied",
            f"{account} may not: {', '.join(denied)}.",
            expected="all verbs on podgroups.scheduling.volcano.sh, update on finalizers of every job kind",
            observed={"denied": denied},
            objects=(OPERATOR,),
            todo="apply the operator's ClusterRole and ClusterRoleBinding again.",
            commands=tuple(f"kubectl auth can-i {rule} --as {account} -A" for rule in denied),
        )
    if not facts.operator_access:
        return errored("NotAsked", "nothing was asked about the operator's service account.", todo="run again.")
    return passed(f"{account} is allowed {len(facts.operator_access)} of as many rules.", objects=(OPERATOR,))


def service_account(facts: Facts) -> str:
    """User name of the operator's service account."""
    found = facts.get("deployments.apps", OPERATOR.namespace, OPERATOR.name)
    spec = (found or {}).get("spec", {}).get("template", {}).get("spec", {})
    return f"system:serviceaccount:{OPERATOR.namespace}:{spec.get('serviceAccountName') or 'default'}"


@check(
    "G3",
    "operator-after-volcano",
    severity=Severity.BLOCKER,
    requires=("F2",),
    needs=(*_READ_DEPLOYMENTS, *crds.READS, Rule("list", "", "pods"), Rule("get", "", "pods/log")),
)
def operator_after_volcano(facts: Facts) -> Outcome:
    """The training operator started when Volcano's PodGroup was already served.

    An operator from 1.6 on looks for it once, at its start, and watches nothing when it is not there. Restart the
    operator.
    """
    _operator(facts)
    started = operator_start(facts)
    if started is None:
        message = f"no pod of {OPERATOR} runs."
        return failed("NotRunning", message, objects=(OPERATOR,), todo="bring up its pod.", because=("C2",))
    since = podgroups_since(facts)
    if since is not None and started > since:
        return passed("the operator started after PodGroup was established.", objects=(OPERATOR,))
    facts.demand("operator-log")
    if _LATE in facts.operator_log:
        return failed(
            "StartedTooEarly",
            f"{OPERATOR} started before PodGroup was served and has not found it.",
            expected="operator started after the CRD podgroups.scheduling.volcano.sh was established",
            observed={"started": started, "established": since},
            objects=(OPERATOR,),
            todo="restart the operator.",
            commands=(_RESTART,),
            evidence={"operator.log": facts.operator_log},
        )
    message = "the operator started before PodGroup was established, and its log has no complaint about it."
    return passed(message, objects=(OPERATOR,))


def operator_start(facts: Facts) -> float | None:
    """When the operator's running container started, in seconds since the epoch; None when none runs."""
    starts = [
        datetime.fromisoformat(running["startedAt"]).timestamp()
        for pod in facts.all("pods")
        if workload_of(pod) == OPERATOR and "deletionTimestamp" not in pod["metadata"]
        for status in pod.get("status", {}).get("containerStatuses") or ()
        if (running := status.get("state", {}).get("running")) and running.get("startedAt")
    ]
    return max(starts, default=None)


def podgroups_since(facts: Facts) -> float | None:
    """When the PodGroup CRD became established, in seconds since the epoch; None when it is not."""
    crd = facts.get(crds.RESOURCE, "", _PODGROUPS)
    established = conditions(crd).get("Established", {}) if crd else {}
    if established.get("status") != "True":
        return None
    return datetime.fromisoformat(established["lastTransitionTime"]).timestamp()


@check(
    "G4",
    "operator-kinds",
    severity=Severity.BLOCKER,
    needs=(
        *_READ_DEPLOYMENTS,
        *crds.READS,
        *webhooks.READS,
        *(Rule("create", "kubeflow.org", plural) for plural in ("pytorchjobs", "tfjobs")),
    ),
)
def operator_kinds(facts: Facts) -> Outcome:
    """The training operator's job kinds are served, and its admission webhook answers.

    The webhook is asked by creating a small job as a dry run, three times. When it does not answer, no job of that
    kind can be created: see the operator's pod and its webhook configuration.
    """
    names = [name for name, component in facts.expectations.crds.items() if component == _COMPONENT]
    if not names:
        return skipped("NotExpected", "the chosen components have no training operator.")
    kinds = [replace(item, check="G4", because=("B1",)) for item in crds.troubled(facts, names)]
    hooks = [
        replace(item, check="G4", because=("B3",))
        for item in webhooks.troubled(facts)
        if facts.expectations.webhooks.get(item.ref) == _COMPONENT
    ]
    looked_at = [Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name) for name in sorted(names)]
    if not (kinds or hooks):
        facts.demand("operator-admission")
    unanswered = {kind: text for kind, text in facts.operator_admission.items() if text}
    if unanswered and not (kinds or hooks):
        return failed(
            "WebhookUnanswered",
            " ".join(f"{kind} as a dry run: {text}" for kind, text in unanswered.items()),
            expected="every dry-run create is answered",
            observed=unanswered,
            objects=looked_at,
            todo="see the operator's pod and its webhook configuration.",
        )
    asked = ", ".join(facts.operator_admission)
    told = f"dry runs of {asked} were answered" if asked else "no dry run was made (read-only)"
    return verdict(
        [*kinds, *hooks],
        looked_at,
        claim=f"{len(names)} job kinds are served; {told}.",
        expected="CRDs as B1, webhooks as B3, every dry-run create answered",
    )


@check(
    "G5",
    "podgroup-made",
    severity=Severity.BLOCKER,
    requires=("F1", "F3", "G1", "G4"),
    needs=(*_READ_DEPLOYMENTS, *NEEDS_OPERATOR),
    probe="operator",
)
def podgroup_made(facts: Facts) -> Outcome:
    """A job makes a PodGroup, and its pods are handed to Volcano.

    minMember and queue must be as the job asks, and each pod must carry schedulerName volcano and the name of the
    group. Where they do not, the operator does not gang whatever its arguments say: read its log.
    """
    _operator(facts)
    found = operator_verdict(facts.probe("operator"))
    if found.reason == "PodsMissing" and not found.because:
        return replace(found, because=("B3",))  # a pod that a webhook keeps out comes when that answers
    return found


CHECKS = (gang_flag, operator_may_group, operator_after_volcano, operator_kinds, podgroup_made)
