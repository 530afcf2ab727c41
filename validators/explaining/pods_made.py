"""What keeps the job's pods from being created: classes that are missing, webhooks, policies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from validators.explaining.model import Finding, Situation, finding
from validators.explaining.queues import queue_open

__all__ = ["creation", "priority"]

_CLASSES = "priorityclasses.scheduling.k8s.io"
_BUILT_IN = frozenset({"system-node-critical", "system-cluster-critical"})

_VOLCANO_WEBHOOK = "validatepod.volcano.sh"

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
)


def creation(situation: Situation) -> Iterator[Finding]:
    """Pods that somebody tried to create and the API server refused, in its own words."""
    job = situation.job
    if len(situation.pods) >= max(job.wanted, situation.minimum):
        return
    refused = [item for item in situation.events if "FailedCreate" in item.reason]
    told: dict[str, Finding] = {}
    for event in reversed(refused):
        reason, todo = _class_of(event.message)
        if _VOLCANO_WEBHOOK in event.message and not queue_open(situation):
            continue  # Volcano's admission says of the queue what is found there
        told.setdefault(
            reason,
            finding(
                reason,
                f"{len(situation.pods)} of {job.wanted or situation.minimum} pods exist; creating one was refused: "
                f"{event.message.rstrip('.')} ({event.count} times, last at {event.last}).",
                needed="pods that the API server accepts.",
                todo=todo,
                objects=[event.ref],
                blocks=len(situation.pods) < situation.minimum,
            ),
        )
    yield from told.values()


def _class_of(message: str) -> tuple[str, str]:
    for pattern, reason, todo in _REFUSALS:
        if re.search(pattern, message, re.IGNORECASE):
            return reason, todo
    return "PodsRefused", "do what the answer asks for."


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
