"""Whether admission webhooks answer: dry runs of objects that are made up for them. Nothing of them is kept.

An Available Deployment behind a webhook is not enough (GoogleCloudPlatform/kubeflow-distribution#43).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from kubeflow_volcano.cluster.admission.minimal_objects import labels_matching, minimal_object
from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace, webhooks
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel
from validators.core.facts import Facts, HookAnswer
from validators.core.rights import Rule
from validators.reading.permissions import DRY_RUN_NAMESPACE, allowed
from validators.subjects.webhooks import configurations

__all__ = ["TRIES", "TRY_SECONDS", "Answer", "answer_of", "ask", "webhook_answers"]

TRIES, TRY_SECONDS = 3, 5.0
"""A webhook answers each of so many dry runs within so many seconds (checks.md, B4)."""

_NAME = "kfv-dry-run"
_UNSEEN = "it sees no creation of an object whose shape is known"
_PARALLEL = 4
_CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
_DRY_RUN_SAFE = frozenset({"None", "NoneOnDryRun"})


@dataclass(frozen=True, slots=True)
class Answer:
    """How the API server took an object: accepted, denied by webhook `by`, refused otherwise, or `by` was silent."""

    kind: str
    by: str = ""
    text: str = ""


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
    plans = [_plan(cluster, hook, facts) for hook in webhooks(configurations(facts))]
    granted = allowed(cluster, sorted({plan.rule for plan in plans if plan.rule}, key=str))
    objects = {_key(plan.obj): plan.obj for plan in plans if plan.obj and plan.rule and granted[plan.rule]}
    taken = in_parallel(lambda obj: answer_of(ask(cluster, obj)), list(objects.values()), _PARALLEL)
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
        return next(iter(cluster.list(*_CRD, fields=f"metadata.name={name}").items), None)

    obj = minimal_object(hook, _NAME, namespace, labels_matching(hook.text.get("objectSelector")), definition)
    if obj is None:
        return _Plan(hook, unasked=_UNSEEN)
    try:
        resource = cluster.resource(obj["apiVersion"], obj["kind"])
    except NotServed as error:
        return _Plan(hook, unasked=error.message)
    where = namespace if resource.namespaced else ""
    if not hook.intercepts(obj, labelled_namespace(facts.get("namespaces", "", where), where), resource.plural):
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
    live = {item["metadata"]["name"]: item for item in facts.all("namespaces")}
    seen = sorted(
        name for name, item in live.items() if hook.matches_namespace(labelled_namespace(item, name)) and _active(item)
    )
    wanted = facts.probe_namespace or DRY_RUN_NAMESPACE
    if wanted in seen or facts.probe_namespace:
        return wanted if wanted in seen else ""
    return seen[0] if seen else ""


def _active(namespace: Object) -> bool:
    return "deletionTimestamp" not in namespace["metadata"]


def ask(cluster: Cluster, obj: Object) -> ApiError | None:
    """What dry runs of creating the object were refused with; None where none was. The first silence ends them.

    A webhook that lets the API server wait too long is told with status 0, as no answer is.

    Raises:
        ApiError: the API server itself did not answer, or cannot just now.
    """
    refusal: ApiError | None = None
    for _ in range(TRIES):
        deadline = Deadline(TRY_SECONDS)
        try:
            cluster.create(obj, dry_run=True, deadline=deadline)
        except ApiError as error:
            if error.status == 0 and deadline.passed:
                cluster.request("GET", "/version", deadline=Deadline(TRY_SECONDS))  # else it is not a webhook's silence
                text = f"no answer within {TRY_SECONDS:.0f} s, while the API server answers other requests"
                return ApiError(0, error.reason, text)
            if error.transient:
                raise
            refusal = error
            if error.webhook_unanswered:
                break
    return refusal


def answer_of(error: ApiError | None) -> Answer:
    """What a refusal says about webhooks (apiserver, admission/plugin/webhook/errors/statuserror.go)."""
    if error is None:
        return Answer("accepted")
    if error.status == 0:
        return Answer("silent", "", error.message)
    if error.webhook_unanswered:
        return Answer("silent", _named(r'failed calling webhook "([^"]+)"', error.message), error.message)
    if by := _named(r'admission webhook "([^"]+)" denied the request', error.message):
        return Answer("denied", by, error.message)
    if error.reason == "AlreadyExists":  # which is found out behind all webhooks
        return Answer("accepted")
    return Answer("invalid" if error.reason == "Invalid" else "refused", "", error.message)


def _named(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    return match[1] if match else ""


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
