"""Claims that hold for the training operator and for Trainer alike; each has its own checks, which pass on to these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.checks.operator.verdict import operator_verdict
from kubeflow_volcano.validators.checks.rescheduled import rescheduled
from kubeflow_volcano.validators.core.facts import Fact, Facts, Read
from kubeflow_volcano.validators.core.outcome import Outcome, Status, errored, failed, passed, skipped
from kubeflow_volcano.validators.core.resources import CRDS, DEPLOYMENTS, PODS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.operator.operator import OperatorEvidence
from kubeflow_volcano.validators.reading.dry_runs import try_create
from kubeflow_volcano.validators.reading.permissions import DRY_RUN_NAMESPACE, allowed
from kubeflow_volcano.validators.subjects import crds, webhooks
from kubeflow_volcano.validators.subjects.gang.operators import OPERATORS, Operator, podgroups_since
from kubeflow_volcano.validators.subjects.interception import in_the_way, named_in
from kubeflow_volcano.validators.subjects.issues import verdict
from kubeflow_volcano.validators.subjects.ownership import workload_of

_ANSWERS = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY})
"""Refusals of an object whose webhooks were asked."""
_NO_RIGHT = "cannot create resource"
"""Text of a refusal because of a missing right, not by a webhook or a quota (apiserver, responsewriters)."""


def _installed(facts: Facts) -> Mapping[str, Operator]:
    return {
        name: item
        for name, item in OPERATORS.items()
        if item.ref in facts.expectations.workloads and facts.get(DEPLOYMENTS, item.ref.namespace, item.ref.name)
    }


def _access(cluster: Cluster, facts: Facts) -> Mapping[str, Mapping[str, bool]]:
    """What each operator's service account may do, of all that it needs."""
    answers: dict[str, Mapping[str, bool]] = {}
    for name, operator in _installed(facts).items():
        kinds = (kind.partition(".") for kind in operator.kinds(facts))
        plurals = [plural for plural, _, group in kinds if group == operator.job_group]
        rules = operator.rules(plurals, operator.version(facts), facts.expectations.gang)
        found = allowed(cluster, rules, user=operator.service_account(facts))
        answers[name] = {str(rule): answer for rule, answer in found.items()}
    return answers


OPERATOR_ACCESS = Fact[Mapping[str, Mapping[str, bool]]](
    "operator-access",
    _access,
    {},
    reads=(DEPLOYMENTS,),
    needs=(Rule("create", "authorization.k8s.io", "subjectaccessreviews"),),
)
"""By operator's component, what its service account may do, as 'verb resource.group'."""


def _logs(cluster: Cluster, facts: Facts) -> Mapping[str, str]:
    """Logs of operators that started before the PodGroup CRD was there."""
    since = podgroups_since(facts)
    logs: dict[str, str] = {}
    for name, operator in _installed(facts).items():
        started = operator.started(facts)
        if started is None or (since is not None and started > since):
            continue
        pods = [Ref.of(pod).name for pod in facts.all(PODS) if workload_of(pod) == operator.ref]
        texts = (cluster.logs(operator.ref.namespace, pod, operator.container, tail=2000) for pod in pods)
        logs[name] = "\n".join(texts)
    return logs


OPERATOR_LOG = Fact[Mapping[str, str]]("operator-log", _logs, {}, reads=(DEPLOYMENTS, CRDS, PODS))
"""By operator's component; kept where it started before the PodGroup CRD was established."""


def operator_admission(cluster: Cluster, facts: Facts) -> Mapping[str, str]:
    """Answers to dry-run creates of a job: '' where the webhook answered, whatever it said, else the failure.

    Kinds that are not served are left out.
    """
    seconds = facts.timing.dry_run_seconds
    meta = {"name": "kfv-dry-run", "namespace": facts.probe_namespace or DRY_RUN_NAMESPACE}
    jobs = [{**job, "metadata": meta} for operator in _installed(facts).values() for job in operator.dry_runs]
    return {job["kind"]: _failure(cluster, job, seconds) for job in jobs if _served(cluster, job)}


def _served(cluster: Cluster, job: Object) -> bool:
    try:
        cluster.resource(job["apiVersion"], job["kind"])
    except NotServed:
        return False
    return True


def _failure(cluster: Cluster, job: Object, seconds: float) -> str:
    error = try_create(cluster, job, seconds)
    if error is None or error.status in _ANSWERS:
        return ""
    if error.status == HTTPStatus.FORBIDDEN:
        if _NO_RIGHT in error.message:
            raise error
        return ""
    return str(error)


OPERATOR_ADMISSION = Fact[Mapping[str, str]](
    "operator-admission", operator_admission, {}, reads=(DEPLOYMENTS,), dry_run=True
)
"""Answers to a dry-run create by job kind: '' for accepted, else the refusal."""


READS_START: tuple[Read, ...] = (DEPLOYMENTS, *crds.READS, PODS, OPERATOR_LOG)
READS_KINDS: tuple[Read, ...] = (DEPLOYMENTS, *crds.READS, *webhooks.READS, OPERATOR_ADMISSION)


def may_group(operator: Operator, facts: Facts) -> Outcome:
    """The service account may do what the operator does."""
    operator.deployment(facts)
    asked = facts.read(OPERATOR_ACCESS).get(operator.component, {})
    denied = [rule for rule, allowed in asked.items() if not allowed]
    account = operator.service_account(facts)
    if denied:
        return failed(
            "Denied",
            f"{account} may not: {', '.join(denied)}.",
            expected=f"{', '.join(operator.podgroup_verbs)} on {facts.expectations.gang.podgroups}; update on "
            "finalizers of every kind of job",
            observed={"denied": denied},
            objects=(operator.ref,),
            todo="run playbooks/install.yml again, or apply the operator's ClusterRole and its binding.",
            commands=tuple(f"kubectl auth can-i {rule} --as {account} -A" for rule in denied),
            because=(operator.roles,),
        )
    if not asked:
        return errored("NotAsked", "nothing was asked about the operator's service account.", todo="run again.")
    return passed(f"{account} is allowed {len(asked)} of as many rules.", objects=(operator.ref,))


def after_volcano(operator: Operator, facts: Facts, proofs: Sequence[str]) -> Outcome:
    """The operator started when PodGroup was served, or did not miss it; `proofs` are checks that try it out."""
    crds.demand_gang_kinds(facts)
    operator.deployment(facts)
    operator.demand_real(facts)
    started = operator.started(facts)
    if started is None:
        message = f"no pod of {operator.ref} runs."
        because = (frozenset({operator.ref}),)
        return failed("NotRunning", message, objects=(operator.ref,), todo="bring up its pod.", because=because)
    since = podgroups_since(facts)
    if since is not None and started > since:
        return passed("the operator started after PodGroup was established.", objects=(operator.ref,))
    log = facts.read(OPERATOR_LOG).get(operator.component, "")
    if operator.late in log:
        return failed(
            "StartedTooEarly",
            f"{operator.ref} started before PodGroup was served and has not found it.",
            expected=f"operator started after the CRD {facts.expectations.gang.podgroups} was established",
            observed={"started": started, "established": since},
            objects=(operator.ref,),
            todo="restart the operator.",
            changes=(f"kubectl -n {operator.ref.namespace} rollout restart deployment/{operator.ref.name}",),
            evidence={"operator.log": log},
            refuted_by=proofs,
        )
    message = "the operator started before PodGroup was established, and its log has no complaint about it."
    return passed(message, objects=(operator.ref,))


def kinds(operator: Operator, facts: Facts, check: str) -> Outcome:
    """The operator's kinds are served and its webhook answers; `check` is the id of the check that says so."""
    names = operator.kinds(facts)
    if not names:
        return skipped("NotExpected", f"the chosen components have no {operator.title}.")
    broken = [replace(item, check=check, because=("B1",)) for item in crds.issues(facts, names)]
    hooks = [
        replace(item, check=check, because=("B3",))
        for item in webhooks.issues(facts)
        if facts.expectations.webhooks.get(item.ref) == operator.component and item.status is Status.FAIL
    ]
    looked_at = [Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name) for name in sorted(names)]
    own = {job["kind"] for job in operator.dry_runs}
    answered = facts.known(OPERATOR_ADMISSION) if broken or hooks else facts.read(OPERATOR_ADMISSION)
    answers = {kind: text for kind, text in answered.items() if kind in own}
    unanswered = {kind: text for kind, text in answers.items() if text}
    if unanswered and not (broken or hooks):
        return failed(
            "WebhookUnanswered",
            " ".join(f"{kind} as a dry run: {text}" for kind, text in unanswered.items()),
            expected="every dry-run create is answered",
            observed=unanswered,
            objects=looked_at,
            todo="see the operator's pod and its webhook configuration.",
            because=tuple(dict.fromkeys(named_in(text) or "B4" for text in unanswered.values())),
        )
    note = f"dry runs of {', '.join(answers)} were answered" if answers else "no dry run was made (read-only)"
    return verdict(
        [*broken, *hooks],
        looked_at,
        claim=f"{len(names)} kinds are served; {note}.",
        expected="CRDs as B1, webhooks as B3, every dry-run create answered",
    )


def ganged(operator: Operator, evidence: OperatorEvidence, facts: Facts) -> Outcome:
    """What the operator made of a job. Where something is missing, whatever creates it or may refuse it is a cause."""
    if evidence.rescheduling:
        return rescheduled(evidence.rescheduling, facts, because=("H1",))
    outcome = operator_verdict(evidence)
    if outcome.status is not Status.FAIL or outcome.because:
        return outcome
    gang = facts.expectations.gang
    podgroups = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", gang.podgroups)
    causes = {operator.ref, podgroups, *in_the_way(facts, *gang.podgroup, "podgroups", evidence.job.namespace)}
    if evidence.group:
        causes |= in_the_way(facts, "v1", "Pod", "pods", evidence.job.namespace)
    return replace(outcome, because=(frozenset(causes),))
