"""Claims that hold for the training operator and for Trainer alike; each has its own checks, which pass on to these."""

from __future__ import annotations

from dataclasses import replace

from kubeflow_volcano.cluster.objects import Ref
from validators.core.facts import Facts
from validators.core.outcome import Outcome, errored, failed, passed, skipped
from validators.core.rights import Rule
from validators.subjects import crds, webhooks
from validators.subjects.gang.operators import Operator, podgroups_since
from validators.subjects.troubles import verdict

__all__ = ["NEEDS_ACCESS", "NEEDS_KINDS", "NEEDS_START", "READ_DEPLOYMENTS", "after_volcano", "kinds", "may_group"]

READ_DEPLOYMENTS = (Rule("list", "apps", "deployments"),)
NEEDS_ACCESS = (*READ_DEPLOYMENTS, Rule("create", "authorization.k8s.io", "subjectaccessreviews"))
NEEDS_START = (*READ_DEPLOYMENTS, *crds.READS, Rule("list", "", "pods"))
NEEDS_KINDS = (*READ_DEPLOYMENTS, *crds.READS, *webhooks.READS)


def may_group(operator: Operator, facts: Facts) -> Outcome:
    """The service account may do what the operator does."""
    operator.deployment(facts)
    facts.demand("operator-access")
    asked = facts.operator_access.get(operator.component, {})
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
        )
    if not asked:
        return errored("NotAsked", "nothing was asked about the operator's service account.", todo="run again.")
    return passed(f"{account} is allowed {len(asked)} of as many rules.", objects=(operator.ref,))


def after_volcano(operator: Operator, facts: Facts) -> Outcome:
    """The operator started when PodGroup was served, or did not miss it."""
    operator.deployment(facts)
    operator.demand_real(facts)
    started = operator.started(facts)
    if started is None:
        message = f"no pod of {operator.ref} runs."
        return failed("NotRunning", message, objects=(operator.ref,), todo="bring up its pod.", because=("C2",))
    since = podgroups_since(facts)
    if since is not None and started > since:
        return passed("the operator started after PodGroup was established.", objects=(operator.ref,))
    facts.demand("operator-log")
    log = facts.operator_log.get(operator.component, "")
    if operator.late in log:
        return failed(
            "StartedTooEarly",
            f"{operator.ref} started before PodGroup was served and has not found it.",
            expected=f"operator started after the CRD {facts.expectations.gang.podgroups} was established",
            observed={"started": started, "established": since},
            objects=(operator.ref,),
            todo="restart the operator.",
            commands=(f"kubectl -n {operator.ref.namespace} rollout restart deployment/{operator.ref.name}",),
            evidence={"operator.log": log},
        )
    message = "the operator started before PodGroup was established, and its log has no complaint about it."
    return passed(message, objects=(operator.ref,))


def kinds(operator: Operator, facts: Facts, check: str) -> Outcome:
    """The operator's kinds are served and its webhook answers; `check` is the id of the check that says so."""
    names = operator.kinds(facts)
    if not names:
        return skipped("NotExpected", f"the chosen components have no {operator.title}.")
    broken = [replace(item, check=check, because=("B1",)) for item in crds.troubled(facts, names)]
    hooks = [
        replace(item, check=check, because=("B3",))
        for item in webhooks.troubled(facts)
        if facts.expectations.webhooks.get(item.ref) == operator.component
    ]
    looked_at = [Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name) for name in sorted(names)]
    if not (broken or hooks):
        facts.demand("operator-admission")
    own = {job["kind"] for job in operator.dry_runs}
    answers = {kind: text for kind, text in facts.operator_admission.items() if kind in own}
    unanswered = {kind: text for kind, text in answers.items() if text}
    if unanswered and not (broken or hooks):
        return failed(
            "WebhookUnanswered",
            " ".join(f"{kind} as a dry run: {text}" for kind, text in unanswered.items()),
            expected="every dry-run create is answered",
            observed=unanswered,
            objects=looked_at,
            todo="see the operator's pod and its webhook configuration.",
            because=("B4",),
        )
    told = f"dry runs of {', '.join(answers)} were answered" if answers else "no dry run was made (read-only)"
    return verdict(
        [*broken, *hooks],
        looked_at,
        claim=f"{len(names)} kinds are served; {told}.",
        expected="CRDs as B1, webhooks as B3, every dry-run create answered",
    )
