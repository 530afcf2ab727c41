"""Family B, answers: whether admission webhooks answer dry runs of objects that are made up for them.

An Available Deployment behind a webhook is not enough (GoogleCloudPlatform/kubeflow-distribution#43).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kubeflow_volcano.cluster.admission.minimal_objects import labels_matching, minimal_object
from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.text import counted
from validators.core.check import check
from validators.core.facts import Fact, Facts
from validators.core.outcome import Outcome, Severity, Status, errored, skipped
from validators.core.resources import CRDS, NAMESPACES
from validators.core.rights import Rule
from validators.reading.dry_runs import Answer, answer_of, try_create
from validators.reading.permissions import DRY_RUN_NAMESPACE, allowed, as_yaml
from validators.subjects import webhooks
from validators.subjects.simulation import SIMULATED_WEBHOOKS
from validators.subjects.troubles import Trouble, verdict

__all__ = ["CHECKS", "WEBHOOK_ANSWERS", "HookAnswer", "webhook_answers"]

_NAME = "kfv-dry-run"
_UNSEEN = "it sees no creation of an object whose shape is known"
_PARALLEL = 4
_DRY_RUN_SAFE = frozenset({"None", "NoneOnDryRun"})


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one admission webhook made of dry runs: it answered, or its silence, or why it was not asked.

    `forbidden` is the rule without which it could not be asked.
    """

    owner: Ref
    name: str
    silence: str = ""
    unasked: str = ""
    forbidden: Rule | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """The object by which a webhook is asked and the right that takes, or why it cannot be."""

    hook: Webhook
    obj: Object | None = None
    rule: Rule | None = None
    unasked: str = ""


def webhook_answers(cluster: Cluster, facts: Facts) -> tuple[HookAnswer, ...]:
    """What every admission webhook of the release made of dry runs, in the order of their configurations.

    Raises:
        ApiError: the API server itself did not answer.
    """
    seconds = facts.timing.dry_run_seconds
    plans = [_plan(cluster, hook, facts) for hook in entries(webhooks.configurations(facts))]
    granted = allowed(cluster, sorted({plan.rule for plan in plans if plan.rule}, key=str))
    objects = {_key(plan.obj): plan.obj for plan in plans if plan.obj and plan.rule and granted[plan.rule]}
    taken = in_parallel(lambda obj: answer_of(try_create(cluster, obj, seconds)), list(objects.values()), _PARALLEL)
    answers = dict(zip(objects, taken, strict=True))
    validating = {plan.hook.name for plan in plans if plan.hook.owner.kind.startswith("Validating")}
    return tuple(_answered(plan, granted, answers, validating) for plan in plans)


def _key(obj: Object | None) -> str:
    return json.dumps(obj, sort_keys=True)


def _plan(cluster: Cluster, hook: Webhook, facts: Facts) -> _Plan:
    namespace = _namespace(hook, facts)
    if why := _never_asked(hook) or ("" if namespace else "it sees no namespace in which to try"):
        return _Plan(hook, unasked=why)

    def definition(name: str) -> Object | None:  # with its schema, which the snapshot does not keep
        return next(iter(cluster.list(CRDS.api_version, CRDS.kind, fields=f"metadata.name={name}").items), None)

    obj = minimal_object(hook, _NAME, namespace, labels_matching(hook.text.get("objectSelector")), definition)
    if obj is None:
        return _Plan(hook, unasked=_UNSEEN)
    try:
        resource = cluster.resource(obj["apiVersion"], obj["kind"])
    except NotServed as error:
        return _Plan(hook, unasked=error.message)
    where = namespace if resource.namespaced else ""
    if not hook.intercepts(obj, labelled_namespace(facts.get(NAMESPACES, "", where), where), resource.plural):
        return _Plan(hook, unasked=_UNSEEN)
    return _Plan(hook, obj, Rule("create", Ref.of(obj).group, resource.plural, where))


def _never_asked(hook: Webhook) -> str:
    if hook.text.get("failurePolicy", "Fail") != "Fail":
        return "requests go on without them while they are silent (failurePolicy Ignore)"
    if hook.text.get("sideEffects") not in _DRY_RUN_SAFE:
        return "it takes no dry runs (sideEffects)"
    return "its matchConditions choose what it sees" if hook.text.get("matchConditions") else ""


def _namespace(hook: Webhook, facts: Facts) -> str:
    """Where to try: where the run stays, or in the namespace that exists everywhere, or in the first that it sees."""
    live = {item["metadata"]["name"]: item for item in facts.all(NAMESPACES)}
    seen = sorted(
        name for name, item in live.items() if hook.matches_namespace(labelled_namespace(item, name)) and _active(item)
    )
    wanted = facts.probe_namespace or DRY_RUN_NAMESPACE
    if wanted in seen or facts.probe_namespace:
        return wanted if wanted in seen else ""
    return seen[0] if seen else ""


def _active(namespace: Object) -> bool:
    return "deletionTimestamp" not in namespace["metadata"]


def _answered(
    plan: _Plan, granted: Mapping[Rule, bool], answers: Mapping[str, Answer], validating: set[str]
) -> HookAnswer:
    hook = plan.hook
    if plan.obj is None or plan.rule is None:
        return HookAnswer(hook.owner, hook.name, unasked=plan.unasked)
    if not granted[plan.rule]:
        return HookAnswer(hook.owner, hook.name, unasked=f"you may not {plan.rule}", forbidden=plan.rule)
    answer = answers[_key(plan.obj)]
    mutating = hook.owner.kind.startswith("Mutating")
    if answer.kind == "accepted" or (answer.kind == "denied" and answer.by == hook.name):
        return HookAnswer(hook.owner, hook.name)
    if answer.kind == "silent" and answer.by in {"", hook.name}:
        return HookAnswer(hook.owner, hook.name, silence=answer.text)
    # The object is mutated first, then held against its schema, then validated.
    if mutating and (answer.kind == "invalid" or answer.by in validating):
        return HookAnswer(hook.owner, hook.name)
    return HookAnswer(hook.owner, hook.name, unasked=f"the dry run ended before it: {answer.text}")


_CREATES = (Rule("create", "", "pods"), Rule("create", "batch.volcano.sh", "jobs"))
"""What everybody who runs this may try; other kinds are tried by those who may create them anyway."""

WEBHOOK_ANSWERS = Fact[tuple[HookAnswer, ...] | None](
    "webhook-answers",
    webhook_answers,
    None,
    reads=(*webhooks.LISTS, NAMESPACES, CRDS),
    needs=_CREATES,
    dry_run=True,
)
"""What dry runs came to; None where none was made, as by a read-only run."""


@check("B4", "webhooks-answer", severity=Severity.BLOCKER, reads=(*webhooks.READS, WEBHOOK_ANSWERS))
def webhooks_answer(facts: Facts) -> Outcome:
    """Every admission webhook answers a dry run within 5 s, three times of three.

    For each, an object is made up that it sees and created as a server-side dry run; an answer is an admission or a
    refusal in its own words. A webhook that does not answer stops every request that it intercepts: see the pods
    behind its Service and their logs. Webhooks that cannot be asked from outside are named with the reason.
    """
    answers = facts.read(WEBHOOK_ANSWERS)
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
    stubs = {(item.kind, name) for item in facts.known(SIMULATED_WEBHOOKS) for name in item.webhooks}
    stubbed = sum((item.owner.kind, item.name) in stubs for item in asked)
    return f" {stubbed} of them are answered by the rehearsal." if stubbed else ""


def _unasked(answers: tuple[HookAnswer, ...]) -> str:
    reasons = Counter(item.unasked for item in answers if item.unasked)
    return "".join(f" {number} not asked: {reason}." for reason, number in sorted(reasons.items()))


CHECKS = (webhooks_answer,)
