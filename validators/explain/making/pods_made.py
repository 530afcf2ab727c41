"""What keeps the job's pods from being created: its end, classes and accounts that are missing, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator

from validators.explain.making.admission import unanswered
from validators.explain.making.makers import MAKERS, may_not
from validators.explain.making.refusals import VOLCANO_WEBHOOK, no_longer, of_pods, refused
from validators.explain.model import Event, Finding, Situation, finding
from validators.explain.queueing.queues import queue_open

__all__ = ["accounts", "creation", "leaving", "making", "priority"]

_CLASSES = "priorityclasses.scheduling.k8s.io"
_BUILT_IN = frozenset({"system-node-critical", "system-cluster-critical"})

# What the API server writes into events when it refuses a pod; its own words, the same since 1.16.
_REFUSALS = (
    (r"failed calling webhook", "WebhookUnanswered", "bring up the webhook's backend: nothing passes until then."),
    (r"admission webhook .* denied the request", "WebhookRefused", "do what the webhook asks, or ask who runs it."),
    (r"violates PodSecurity", "PodSecurity", "let the pod template meet the namespace's level, or lower the level."),
    (r"failed quota: .* must specify", "QuotaNeedsRequests", "set them in the pod template."),
    (r"exceeded quota", "QuotaTooSmall", "let others end, ask for less, or have the quota raised."),
    (r"(?:maximum|minimum|max|min) .* usage per|limit to request ratio", "OutsideLimits", "keep to the LimitRange."),
    (r"ValidatingAdmissionPolicy", "PolicyRefused", "do what the policy asks, or ask who owns it."),
    (r"no PriorityClass with name", "PriorityClassMissing", "make the class, or name one that exists."),
    (r"serviceaccount .* not found|service account", "ServiceAccountMissing", "make the service account."),
    (r"is being terminated", "NamespaceEnding", "make the job in another namespace."),
    (r"already exists|object is being deleted", "NameTaken", "see who holds the name: often a pod that does not end."),
    (r"is forbidden: User ", "ControllerMayNot", "apply the controller's ClusterRole and ClusterRoleBinding again."),
)


def leaving(situation: Situation) -> Iterator[Finding]:
    """The job, or all of its namespace, is being deleted: nothing more is made of it."""
    ref, meta = situation.job.ref, situation.obj["metadata"]
    if since := meta.get("deletionTimestamp"):
        held = ", ".join(meta.get("finalizers") or ()) or "nobody"
        yield finding(
            "BeingDeleted",
            f"{ref} is being deleted since {since}; what keeps it (finalizers): {held}.",
            needed="a job that stays.",
            todo="see that whoever has put the finalizers there is up and ends its work, then make the job anew.",
            objects=[ref],
        )
    space = situation.facts.objects.get("namespaces", ())
    if any("deletionTimestamp" in item["metadata"] for item in space):
        yield finding(
            "NamespaceEnding",
            f"namespace {ref.namespace} is being deleted: nothing can be made in it.",
            needed="a namespace that stays.",
            todo="make the job in another namespace.",
            objects=[ref],
        )


def making(situation: Situation) -> Iterator[Finding]:
    """What would refuse the pods that are still to be made, before anybody has tried."""
    if len(situation.pods) >= max(situation.job.wanted, situation.minimum):
        return
    yield from unanswered(situation, "Pod")
    for kind in ("pods", "jobs.batch"):
        yield from may_not(situation, kind)


def creation(situation: Situation) -> Iterator[Finding]:
    """What somebody tried to create for the job and the API server refused, in its own words."""
    job = situation.job
    if len(situation.pods) >= max(job.wanted, situation.minimum):
        return
    told: dict[str, Finding] = {}
    for event in reversed(refused(situation)):
        reason, todo = _class_of(event.message)
        if VOLCANO_WEBHOOK in event.message and (not queue_open(situation) or _groupless(situation)):
            continue  # Volcano's admission says of the queue and the PodGroup what is found there
        if past := no_longer(reason, event, situation):
            told.setdefault(reason, _again(event, past, situation))
            continue
        told.setdefault(
            reason,
            finding(
                reason,
                f"{_refused(event, situation)}.",
                needed=f"{'pods' if of_pods(event) else 'objects'} that the API server accepts.",
                todo=todo,
                objects=[event.ref],
                blocks=len(situation.pods) < situation.minimum,
            ),
        )
    yield from told.values()


def _groupless(situation: Situation) -> bool:
    """Whether the job has no PodGroup although a controller makes one for its kind, of which grouping has told why."""
    return situation.group is None and situation.job.ref.group in MAKERS


def _refused(event: Event, situation: Situation) -> str:
    what = "one" if of_pods(event) else "what they are made from"
    return (
        f"{len(situation.pods)} of {situation.job.wanted or situation.minimum} pods exist; creating {what} was "
        f"refused: {event.message.rstrip('.')} ({event.count} times, last at {event.last})"
    )


def _again(event: Event, past: str, situation: Situation) -> Finding:
    """What refused is no longer so; the controller has not tried since, for its pauses grow with each refusal."""
    ref = situation.job.ref
    makers = [item.ref for item in MAKERS.get(ref.group, ()) if "pods" in item.kinds]
    commands = [f"kubectl -n {item.namespace} rollout restart deployment/{item.name}" for item in makers]
    if ref.group == "kubeflow.org" or (ref.group == "trainer.kubeflow.org" and not of_pods(event)):
        commands = [f"kubectl -n {ref.namespace} annotate {ref.kind.lower()} {ref.name} kfv.io/look-again=now"]
    return finding(
        "NotTriedAgain",
        f"{_refused(event, situation)}. Since then {past}.",
        needed="the next try of the controller, whose pauses grow with each refusal, up to minutes.",
        todo="wait for it, or let the controller look at once; if that is refused again, the event says so.",
        objects=[event.ref],
        commands=commands,
        blocks=len(situation.pods) < situation.minimum,
    )


def _class_of(message: str) -> tuple[str, str]:
    for pattern, reason, todo in _REFUSALS:
        if re.search(pattern, message, re.IGNORECASE):
            return reason, todo
    return "PodsRefused", "do what the answer asks for."


def accounts(situation: Situation) -> Iterator[Finding]:
    """Service accounts that pod templates name and that do not exist."""
    if len(situation.pods) >= situation.job.wanted:
        return
    space = situation.job.ref.namespace
    named = dict.fromkeys(str(role.template["spec"].get("serviceAccountName") or "") for role in situation.job.roles)
    for name in named:
        if name and situation.facts.get("serviceaccounts", space, name) is None:
            yield finding(
                "ServiceAccountMissing",
                f"the job's pods are to run as ServiceAccount {space}/{name}, which does not exist: they are refused.",
                needed="the service account that the pod template names.",
                todo="make it, or name one that exists.",
                objects=[situation.job.ref],
                commands=[f"kubectl -n {space} get serviceaccounts"],
            )


def priority(situation: Situation) -> Iterator[Finding]:
    """Priority classes that are named and do not exist."""
    named = dict.fromkeys(
        name
        for name in (
            situation.job.priority_class,
            (situation.group or {"spec": {}})["spec"].get("priorityClassName"),
            *(role.template["spec"].get("priorityClassName") for role in situation.job.roles),
        )
        if name and name not in _BUILT_IN
    )
    for name in named:
        if situation.facts.get(_CLASSES, "", name) is None:
            of_pods = any(role.template["spec"].get("priorityClassName") == name for role in situation.job.roles)
            yield finding(
                "PriorityClassMissing",
                f"the job names PriorityClass {name}, which does not exist"
                f"{': its pods are refused' if of_pods else ': it counts as priority 0'}.",
                needed="a class of that name.",
                todo="make the class, or name one that exists.",
                objects=[situation.job.ref],
                commands=["kubectl get priorityclasses"],
                blocks=of_pods and not situation.pods,
            )
