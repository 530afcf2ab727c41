"""Family B, webhook answers: do admission webhooks answer dry runs of made-up objects.

An Available Deployment behind a webhook is not enough (GoogleCloudPlatform/kubeflow-distribution#43).
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.cluster.admission.minimal_objects import labels_matching, minimal_object
from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.machinery.cut_off import allowing, keeping_out
from kubeflow_volcano.validators.checks.machinery.silence import Silence, Tried, backend_of, silence_in
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, errored, skipped
from kubeflow_volcano.validators.core.resources import CRDS, NAMESPACES, PODS, SERVICES
from kubeflow_volcano.validators.core.rights import HOMES, Rule
from kubeflow_volcano.validators.reading.dry_runs import Answer, admitted, answer_of, try_create
from kubeflow_volcano.validators.reading.permissions import DRY_RUN_NAMESPACE, allowed, as_yaml
from kubeflow_volcano.validators.subjects import services, webhooks
from kubeflow_volcano.validators.subjects.interception import webhook_ref
from kubeflow_volcano.validators.subjects.issues import Issue, verdict
from kubeflow_volcano.validators.subjects.simulation import SIMULATED_WEBHOOKS

_NAME = "kfv-dry-run"
_UNSEEN = "it intercepts no creation of an object that can be made up"
_PARALLEL = 4
_DRY_RUN_SAFE = frozenset({"None", "NoneOnDryRun"})


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """How one admission webhook answered dry runs: its failure to answer, or why it was not called; else it answered.

    `forbidden` is the rule without which it could not be called.
    """

    owner: Ref
    name: str
    silence: str = ""
    unasked: str = ""
    forbidden: Rule | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """The object with which a webhook is called and the rule for it, or why it cannot be called."""

    hook: Webhook
    obj: Object | None = None
    rule: Rule | None = None
    unasked: str = ""


def webhook_answers(cluster: Cluster, facts: Facts) -> tuple[HookAnswer, ...]:
    """How every admission webhook of the release answered dry runs, in the order of their configurations.

    Behind them come those of others that did not answer.

    Raises:
        ApiError: the API server itself did not answer.
    """
    seconds = facts.timing.dry_run_seconds
    plans = [_plan(cluster, hook, facts) for hook in entries(webhooks.configurations(facts))]
    granted = allowed(cluster, sorted({plan.rule for plan in plans if plan.rule}, key=str))
    called = {_key(plan.obj): plan for plan in plans if plan.obj and plan.rule and granted[plan.rule]}
    objects = [plan.obj for plan in called.values() if plan.obj]
    taken = in_parallel(lambda obj: answer_of(try_create(cluster, obj, seconds)), objects, _PARALLEL)
    every = [hook for resource in webhooks.RESOURCES.values() for hook in entries(facts.all(resource))]
    tried = [
        Tried(_all_called(plan, every, facts), answer) for plan, answer in zip(called.values(), taken, strict=True)
    ]

    def again(number: int, longer: float) -> Answer:
        found = admitted(cluster, objects[number], longer)
        return answer_of(found if isinstance(found, ApiError) else None)

    silence = silence_in(tried, seconds, again)
    dry_runs = dict(zip(called, tried, strict=True))
    validating = {plan.hook.name for plan in plans if plan.hook.owner.kind.startswith("Validating")}
    answers = [_answered(plan, granted, dry_runs, validating) for plan in plans]
    return tuple(_with_silence(answers, tried, silence))


def _all_called(plan: _Plan, every: Sequence[Webhook], facts: Facts) -> tuple[Webhook, ...]:
    """The webhooks that the API server calls for the object of a plan."""
    obj, rule = plan.obj, plan.rule
    if obj is None or rule is None:
        return ()
    where = labelled_namespace(facts.get(NAMESPACES, "", rule.namespace), rule.namespace)
    return tuple(hook for hook in every if hook.intercepts(obj, where, rule.resource))


def _with_silence(answers: Sequence[HookAnswer], tried: Sequence[Tried], silence: Silence) -> Iterator[HookAnswer]:
    """The answers, with silence for those webhooks alone that were silent, also for those of others."""
    silent: dict[tuple[Ref, str], str] = {}
    waiting: dict[tuple[Ref, str], str] = {}
    for number, item in enumerate(tried):
        behind = silence.behind(number, item)
        for hook in item.hooks:
            own = (hook.owner, hook.name)
            if item.hung and backend_of(hook) in behind:
                silent[own] = _silence_of(hook, item.answer, len(behind))
            elif item.hung:
                waiting[own] = f"the dry run waited for {few(sorted(behind))}"
            elif item.answer.kind == "silent" and item.answer.by == hook.name:
                silent[own] = item.answer.text
    for answer in answers:
        own = (answer.owner, answer.name)
        text = silent.pop(own, "")
        if text:
            yield replace(answer, silence=text, unasked="")
        elif answer.unasked or own not in waiting:
            yield answer
        else:
            yield replace(answer, silence="", unasked=waiting[own])
    yield from (HookAnswer(owner, name, silence=text) for (owner, name), text in silent.items())


def _silence_of(hook: Webhook, answer: Answer, suspects: int) -> str:
    ignored = hook.text.get("failurePolicy", "Fail") != "Fail"
    text = f"{answer.text}; then it is admitted without one (failurePolicy Ignore)" if ignored else answer.text
    return f"{text}; it is this one or another of {suspects} that are called" if suspects > 1 else text


def _key(obj: Object | None) -> str:
    return json.dumps(obj, sort_keys=True)


def _plan(cluster: Cluster, hook: Webhook, facts: Facts) -> _Plan:
    namespace = _namespace(hook, facts)
    if why := _never_asked(hook) or ("" if namespace else "it intercepts no namespace in which a dry run is possible"):
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
        return "requests are admitted if they do not answer (failurePolicy Ignore)"
    if hook.text.get("sideEffects") not in _DRY_RUN_SAFE:
        return "it does not support dry runs (sideEffects)"
    return "its matchConditions select the requests" if hook.text.get("matchConditions") else ""


def _namespace(hook: Webhook, facts: Facts) -> str:
    """Where to try: the probe namespace, or the one that exists in every cluster, or the first that it intercepts."""
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
    plan: _Plan, granted: Mapping[Rule, bool], dry_runs: Mapping[str, Tried], validating: set[str]
) -> HookAnswer:
    hook = plan.hook
    if plan.obj is None or plan.rule is None:
        return HookAnswer(hook.owner, hook.name, unasked=plan.unasked)
    if not granted[plan.rule]:
        return HookAnswer(hook.owner, hook.name, unasked=f"you may not {plan.rule}", forbidden=plan.rule)
    answer = dry_runs[_key(plan.obj)].answer
    mutating = hook.owner.kind.startswith("Mutating")
    if answer.kind == "accepted" or (answer.kind == "denied" and answer.by == hook.name):
        return HookAnswer(hook.owner, hook.name)
    if answer.kind == "silent" and answer.by in {"", hook.name}:
        return HookAnswer(hook.owner, hook.name, silence=answer.text)
    # The object is mutated first, then checked against its schema, then validated.
    if mutating and (answer.kind == "invalid" or answer.by in validating):
        return HookAnswer(hook.owner, hook.name)
    return HookAnswer(hook.owner, hook.name, unasked=f"the dry run ended before it: {answer.text}")


_CREATES = (Rule("create", "", "pods"), Rule("create", "batch.volcano.sh", "jobs"))
"""The rules that every run needs; webhooks for other kinds are called if the caller may create these."""

WEBHOOK_ANSWERS = Fact[tuple[HookAnswer, ...] | None](
    "answers of webhooks",
    webhook_answers,
    None,
    reads=(*webhooks.LISTS, NAMESPACES, CRDS),
    needs=_CREATES,
    dry_run=True,
)
"""Answers of all admission webhooks; None without dry runs, as in a read-only run."""


def _policies(cluster: Cluster, facts: Facts) -> Mapping[Ref, tuple[Ref, ...]]:
    blocking: dict[Ref, tuple[Ref, ...]] = {}
    hooks = _hooks(facts)
    for item in facts.known(WEBHOOK_ANSWERS) or ():
        service = _service(hooks.get((item.owner, item.name)), facts)
        if item.silence and service and Ref.of(service) not in blocking:
            where = service["metadata"]["namespace"]
            with contextlib.suppress(ApiError):  # it only enriches a message
                policies = cluster.list("networking.k8s.io/v1", "NetworkPolicy", namespace=where).items
                blocking[Ref.of(service)] = keeping_out(policies, service, facts.all(PODS))
    return {ref: refs for ref, refs in blocking.items() if refs}


POLICIES = Fact[Mapping[Ref, tuple[Ref, ...]]](
    "network policies",
    _policies,
    {},
    reads=(*webhooks.LISTS, WEBHOOK_ANSWERS, SERVICES, PODS),
    needs=(Rule("list", "networking.k8s.io", "networkpolicies", HOMES),),
    dry_run=True,
    enriches=True,
)
"""NetworkPolicies that may keep the API server from backends that do not answer, by their Services."""


@check("B4", "webhooks-answer", severity=Severity.BLOCKER, reads=(*webhooks.READS, WEBHOOK_ANSWERS, POLICIES))
def webhooks_answer(facts: Facts) -> Outcome:
    """Every admission webhook answers three of three dry runs within 5 s.

    For each webhook an object that it intercepts is created as a server-side dry run; it answers if it admits or
    rejects the object. A webhook that does not answer rejects every request that it intercepts, or lets it wait: see
    the pods of its Service and their logs, and what is between the API server and them, such as a NetworkPolicy. Only
    those that do not answer themselves are reported, once for each Service. Webhooks that cannot be called this way are
    listed with the reason.
    """
    answers = facts.read(WEBHOOK_ANSWERS)
    if answers is None:
        return skipped("ReadOnly", "needs dry runs, and this run is read-only.")
    if not answers and not facts.expectations.webhooks:
        return skipped("NotExpected", "the chosen components have no webhook, and none calls one of their Services.")
    unsound = {item.ref for item in webhooks.issues(facts) if item.status is Status.FAIL}
    silent = [*_silent(answers, unsound, facts)]
    asked = [item for item in answers if not item.unasked]
    declared = {(rule.group, rule.resource) for rule in _CREATES}
    missing = [rule for item in answers if (rule := item.forbidden) and (rule.group, rule.resource) in declared]
    if missing and not silent:
        rules = dict.fromkeys(missing)
        return errored(
            "Forbidden",
            f"Webhooks cannot be called, because you may not {', '.join(map(str, rules))}.",
            objects=sorted({item.owner for item in answers if item.forbidden}),
            todo=f"grant these rules, which are used for dry runs only:\n{as_yaml(rules)}",
        )
    if not asked:
        return errored(
            "NoneAsked",
            f"none of {counted(len(answers), 'webhook')} could be called.{_unasked(answers)}",
            objects=sorted({item.owner for item in answers}),
            todo="see the reasons; B3 checks the backends.",
            because=("B3",),
        )
    return verdict(
        silent,
        sorted({item.owner for item in asked}),
        claim=f"{counted(len(asked), 'webhook')} answered.{_simulated(asked, facts)}{_unasked(answers)}",
        expected="an answer within 5 s to each of three dry runs",
    )


def _silent(answers: Sequence[HookAnswer], unsound: set[Ref], facts: Facts) -> Iterator[Issue]:
    """One issue for each backend."""
    hooks = _hooks(facts)
    by_backend: dict[str, list[HookAnswer]] = {}
    for item in answers:
        if item.silence:
            hook = hooks.get((item.owner, item.name))
            by_backend.setdefault(backend_of(hook) if hook else str(item.owner), []).append(item)
    for items in by_backend.values():
        hook = hooks.get((items[0].owner, items[0].name))
        service = _service(hook, facts)
        ref = Ref.of(service) if service else items[0].owner
        names = dict.fromkeys(item.name for item in items)
        yield Issue(
            "B4",
            Status.FAIL,
            ref,
            "Unanswered",
            f"{ref}: webhook {', '.join(names)} does not answer: {items[0].silence}.",
            _remedy(hook, service, items[0].silence, facts),
            _because(hook, service, {item.owner for item in items} & unsound),
            breaks=tuple(map(webhook_ref, names)),
            changes=_changes(service, facts),
        )


def _because(hook: Webhook | None, service: Object | None, unsound: set[Ref]) -> tuple[str, ...]:
    if unsound:
        return ("B3",)
    return ("B6",) if hook and hook.service and not service else ()


def _changes(service: Object | None, facts: Facts) -> tuple[str, ...]:
    if service is None:
        return ()
    if Ref.of(service) in facts.known(POLICIES):
        return (allowing(service),)
    return tuple(dict.fromkeys(item.change for item in services.strays(service, facts)))


def _remedy(hook: Webhook | None, service: Object | None, silence: str, facts: Facts) -> str:
    if service and (policies := facts.known(POLICIES).get(Ref.of(service))):
        return (
            f"{few(list(map(str, policies)))} selects its pods and admits nothing but other pods: unless the network "
            "plugin lets the API server through all the same, allow it."
        )
    if service and (astray := [*services.strays(service, facts)]):
        where = few([f"{item.address} of {item.slice}" for item in astray], 3)
        return f"see what is at {where}, which is no address of its pods: delete the slice if nothing answers there."
    if hook and not hook.service:
        return "see the server that the URL names, and what is between the API server and it."
    known = recognise(silence, "admission")
    if known and not known.general:
        return known.todo
    return (
        "see the pods of its Service and their logs. If these are well, find what keeps the API server from them, such "
        "as a firewall."
    )


def _hooks(facts: Facts) -> Mapping[tuple[Ref, str], Webhook]:
    every = [item for resource in webhooks.RESOURCES.values() for item in facts.all(resource)]
    return {(hook.owner, hook.name): hook for hook in entries(every)}


def _service(hook: Webhook | None, facts: Facts) -> Object | None:
    return facts.get(SERVICES, *hook.service) if hook and hook.service else None


def _simulated(asked: list[HookAnswer], facts: Facts) -> str:
    stubs = {(item.kind, name) for item in facts.known(SIMULATED_WEBHOOKS) for name in item.webhooks}
    stubbed = sum((item.owner.kind, item.name) in stubs for item in asked)
    return f" The rehearsal answered for {stubbed} of them." if stubbed else ""


def _unasked(answers: tuple[HookAnswer, ...]) -> str:
    reasons = Counter(item.unasked for item in answers if item.unasked)
    return "".join(f" {number} not called: {reason}." for reason, number in sorted(reasons.items()))
