"""Family B, admission: do webhooks answer, how much hangs on them, and does each have a backend at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted
from validators.core.check import check
from validators.core.facts import Facts, HookAnswer
from validators.core.outcome import Outcome, Severity, Status, errored, skipped
from validators.core.rights import Rule
from validators.reading.permissions import as_yaml
from validators.subjects import crds, webhooks
from validators.subjects.troubles import Trouble, verdict

__all__ = ["CHECKS"]

_SYSTEM = "kube-system"
_ANYBODYS = labelled_namespace(None, "somebody-elses")
"""A namespace without labels, of which nobody knows."""

_PODS = frozenset({"pods", "*", "*/*"})

_CREATES = (Rule("create", "", "pods"), Rule("create", "batch.volcano.sh", "jobs"))
"""What everybody who runs this may try; other kinds are tried by those who may create them anyway."""


@check("B4", "webhooks-answer", severity=Severity.BLOCKER, needs=(*webhooks.READS, *crds.READS, *_CREATES))
def webhooks_answer(facts: Facts) -> Outcome:
    """Every admission webhook answers a dry run within 5 s, three times of three.

    For each, an object is made up that it sees and created as a server-side dry run; an answer is an admission or a
    refusal in its own words. A webhook that does not answer stops every request that it intercepts: see the pods
    behind its Service and their logs. Webhooks that cannot be asked from outside are named with the reason.
    """
    facts.demand("webhook-answers")
    answers = facts.webhook_answers
    if answers is None:
        return skipped("ReadOnly", "needs dry runs, and this run is read-only.")
    if not answers and not facts.expectations.webhooks:
        return skipped("NotExpected", "the chosen components have no webhook, and none calls one of their Services.")
    unsound = {item.ref for item in webhooks.troubled(facts)}
    silent = [_silent(item, unsound) for item in answers if item.silence]
    asked = [item for item in answers if not item.unasked]
    declared = {(rule.group, rule.resource) for rule in _CREATES}
    missing = [rule for item in answers if (rule := item.forbidden) and (rule.group, rule.resource) in declared]
    if missing and not silent:
        rules = dict.fromkeys(missing)
        return errored(
            "Forbidden",
            f"webhooks cannot be asked, as you may not {', '.join(map(str, rules))}.",
            objects=sorted({item.owner for item in answers if item.forbidden}),
            todo=f"grant these rules, which only dry runs are made with:\n{as_yaml(rules)}",
        )
    if not asked:
        return errored(
            "NoneAsked",
            f"none of {len(answers)} webhooks could be asked.{_unasked(answers)}",
            objects=sorted({item.owner for item in answers}),
            todo="see what the reasons name; B3 looks at what their backends are made of.",
            because=("B3",),
        )
    return verdict(
        silent,
        sorted({item.owner for item in asked}),
        claim=f"{counted(len(asked), 'webhook')} answered.{_simulated(asked, facts)}{_unasked(answers)}",
        expected="an answer within 5 s, three times of three",
    )


def _silent(item: HookAnswer, unsound: set[Ref]) -> Trouble:
    message = f"{item.owner}: webhook {item.name} does not answer: {item.silence}."
    todo = "see the pods behind its Service and their logs."
    because = ("B3",) if item.owner in unsound else ()
    return Trouble("B4", Status.FAIL, item.owner, "Unanswered", message, todo, because)


def _simulated(asked: list[HookAnswer], facts: Facts) -> str:
    stubs = {(item.kind, name) for item in facts.simulated_webhooks for name in item.webhooks}
    stubbed = sum((item.owner.kind, item.name) in stubs for item in asked)
    return f" {stubbed} of them are answered by the rehearsal." if stubbed else ""


def _unasked(answers: tuple[HookAnswer, ...]) -> str:
    reasons = Counter(item.unasked for item in answers if item.unasked)
    return "".join(f" {number} not asked: {reason}." for reason, number in sorted(reasons.items()))


@check(
    "B5",
    "webhook-blast-radius",
    severity=Severity.MINOR,
    needs=(*webhooks.LISTS, Rule("list", "", "namespaces")),
)
def webhook_blast_radius(facts: Facts) -> Outcome:
    """No webhook of the release can stop pods that have nothing to do with it.

    One that sees the creation of all pods and fails closed keeps pods of everybody from starting while its backend is
    down; where it sees kube-system too, its own backend and the cluster's DNS do not come back. Volcano 1.7 to 1.11 is
    shipped so, but for kube-system. Give it failurePolicy Ignore, or a namespaceSelector with a label that only the
    namespaces have that it is for.
    """
    hooks = [*entries(webhooks.configurations(facts))]
    if not hooks:
        return skipped("NoObjects", "the chosen components have no webhook.")
    system = labelled_namespace(facts.get("namespaces", "", _SYSTEM), _SYSTEM)
    found = [_stops(hook, system) for hook in hooks if _sees_all_pods(hook) and hook.matches_namespace(_ANYBODYS)]
    return verdict(
        sorted(found, key=lambda item: item.reason),
        sorted({hook.owner for hook in hooks}),
        claim=f"{len(hooks)} webhooks see only pods of namespaces that ask for it, or fail open.",
        expected="failurePolicy Ignore, or a selector by a label that strangers' namespaces do not have",
    )


def _stops(hook: Webhook, system: Object) -> Trouble:
    everywhere = hook.matches_namespace(system)
    where = "any namespace" if everywhere else "namespaces that have nothing to do with it"
    return Trouble(
        "B5",
        Status.WARN,
        hook.owner,
        "StopsEveryPod" if everywhere else "StopsOthersPods",
        f"{hook.owner}: while webhook {hook.name} is down, no pod can be created in {where}.",
        "give it failurePolicy Ignore, or a namespaceSelector with a label; of Volcano's a roll-out sees to that "
        "(volcano_pod_webhook_failure_policy, volcano_pod_webhook_namespace_labels).",
    )


def _sees_all_pods(hook: Webhook) -> bool:
    """Whether it fails closed and no label of a pod keeps the pod from it."""
    text = hook.text
    return (
        text.get("failurePolicy", "Fail") == "Fail"
        and not text.get("objectSelector")
        and not text.get("matchConditions")
        and any(
            {"*", "CREATE"} & set(rule["operations"])
            and {"*", ""} & set(rule["apiGroups"])
            and _PODS & set(rule["resources"])
            and rule.get("scope", "*") != "Cluster"
            for rule in text.get("rules") or ()
        )
    )


@dataclass(frozen=True, slots=True)
class _Call:
    """Who calls which Service: an admission webhook, or a CRD whose versions are converted by one."""

    owner: Ref
    words: str
    service: Ref


@check(
    "B6",
    "no-orphan-webhooks",
    severity=Severity.MAJOR,
    needs=(*webhooks.LISTS, *crds.READS, Rule("list", "", "services"), Rule("list", "", "namespaces")),
)
def no_orphan_webhooks(facts: Facts) -> Outcome:
    """Every webhook of the cluster, of admission and of conversion, calls a Service that exists.

    What is left of an uninstall refuses whatever it intercepts, for ever. Remove the webhook configuration, or the
    CRD's conversion, or install its component again.
    """
    calls = [*_calls(facts)]
    absent: dict[_Call, str] = {}
    for call in calls:
        if not facts.get("services", call.service.namespace, call.service.name):
            there = facts.get("namespaces", "", call.service.namespace)
            absent[call] = "which does not exist" if there else f"and there is no namespace {call.service.namespace}"
    found = [
        Trouble(
            "B6",
            Status.FAIL,
            call.owner,
            "NoService",
            f"{call.owner}: {call.words} calls {call.service}, {why}.",
            "remove it if its component is gone for good, else install the component again.",
        )
        for call, why in absent.items()
    ]
    return verdict(
        found,
        sorted({call.owner for call in calls}),
        claim=f"the Services of all {len(calls)} webhooks exist.",
        expected="a Service for every webhook",
    )


def _calls(facts: Facts) -> Iterator[_Call]:
    every = [item for resource in webhooks.RESOURCES.values() for item in facts.all(resource)]
    for hook in entries(every):
        if hook.service:
            yield _Call(hook.owner, f"webhook {hook.name}", Ref("v1", "Service", *hook.service))
    for crd in facts.all(crds.RESOURCE):
        webhook = (crd["spec"].get("conversion") or {}).get("webhook") or {}
        if service := webhook.get("clientConfig", {}).get("service"):
            yield _Call(Ref.of(crd), "its conversion", Ref("v1", "Service", service["namespace"], service["name"]))


CHECKS = (webhooks_answer, webhook_blast_radius, no_orphan_webhooks)
