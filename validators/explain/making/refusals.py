"""Refusals of the past: is what the API server refused pods for still so."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

from kubeflow_volcano.cluster.pods.quantities import amounts
from validators.checks.operator.common import OPERATOR_ACCESS
from validators.core.facts import Facts
from validators.explain.kinds import JOBSETS, runtime_of
from validators.explain.making.admission import hook_of
from validators.explain.model import Event, Situation
from validators.explain.queueing.queues import queue_open
from validators.subjects import webhooks

__all__ = ["VOLCANO_WEBHOOK", "no_longer", "of_pods", "refused"]

VOLCANO_WEBHOOK = "validatepod.volcano.sh"

# plugin/pkg/admission/resourcequota/controller.go of Kubernetes: the same words since 1.6.
_QUOTA = re.compile(r"exceeded quota: (?P<name>[^,]+), requested: (?P<asked>.*?), used: ")
_CLASS = re.compile(r"no PriorityClass with name (?P<name>\S+)")
_ACCOUNT = re.compile(r"service account [^/\s]+/(?P<name>[^:\s]+)")
_HOOK = re.compile(r'webhook "(?P<name>[^"]+)"')
_OF_MPIJOB = "pod created failed: "
_WORDLESS = re.compile(r"^Created \w+ pod:\s*$")
"""An event of an MPIJob that tells no cause; the next one does (pkg/controller.v1/mpi of the operator, 1.8)."""
_OF_TRAINJOB, _JOBS = "TrainJobResourcesCreationFailed", "JobCreationFailed"
_SETTLED_SECONDS = 30.0
"""A webhook whose Service has had an endpoint for less than this may still be on its way."""


def refused(situation: Situation) -> tuple[Event, ...]:
    """What was said when the pods, or what they are made from, could not be created; oldest first.

    Rules: pkg/controller/trainjob_controller.go of Trainer v2.1.0, pkg/constants of JobSet v0.10.1.
    """
    return tuple(
        item
        for item in situation.events
        if (of_pods(item) or item.reason == _JOBS or _by_trainer(item, situation))
        and not _WORDLESS.search(item.message)
    )


def of_pods(event: Event) -> bool:
    """Whether it was a pod that was refused; of an MPIJob, the operator says so in the event of its failure."""
    return "FailedCreate" in event.reason or _OF_MPIJOB in event.message


def _by_trainer(event: Event, situation: Situation) -> bool:
    """Trainer could not make PodGroup or JobSet, of which one is missing still; a missing runtime is told as such."""
    if event.reason != _OF_TRAINJOB:
        return False
    jobset = situation.facts.get(JOBSETS, situation.job.ref.namespace, situation.job.ref.name)
    missing = jobset is None or situation.group is None
    return missing and runtime_of(situation.obj, situation.facts) is not None


def no_longer(reason: str, event: Event, situation: Situation) -> str:
    """How what the event names has changed since; empty where it has not, or nobody can tell."""
    facts = situation.facts
    match reason:
        case "QuotaTooSmall":
            return _room_in_quota(event, situation)
        case "PriorityClassMissing":
            return _there("priorityclasses.scheduling.k8s.io", "", _CLASS.search(event.message), facts)
        case "ServiceAccountMissing":
            found = _ACCOUNT.search(event.message)
            return _there("serviceaccounts", situation.job.ref.namespace, found, facts)
        case "ControllerMayNot":
            granted = any(answers.get("create pods") for answers in facts.known(OPERATOR_ACCESS).values())
            return "the right was granted" if granted else ""
        case "WebhookUnanswered" | "WebhookRefused":
            return _webhook(reason, event, situation)
    return ""


def _there(resource: str, namespace: str, found: re.Match[str] | None, facts: Facts) -> str:
    name = found["name"].strip('"') if found else ""
    return f"{name} was made" if name and facts.get(resource, namespace, name) else ""


def _room_in_quota(event: Event, situation: Situation) -> str:
    found = _QUOTA.search(event.message)
    if found is None:
        return ""
    quota = situation.facts.get("resourcequotas", situation.job.ref.namespace, found["name"])
    if quota is None:
        return f"quota {found['name']} was removed"
    asked = amounts(dict(pair.split("=", 1) for pair in found["asked"].split(",") if "=" in pair))
    hard, used = (amounts(quota.get("status", {}).get(key)) for key in ("hard", "used"))
    zero, count = Decimal(0), max(situation.job.wanted - len(situation.pods), 1) if of_pods(event) else 1
    fits = all(used.get(name, zero) + count * amount <= hard[name] for name, amount in asked.items() if name in hard)
    return f"quota {found['name']} has room for all that is missing" if asked and fits else ""


def _webhook(reason: str, event: Event, situation: Situation) -> str:
    found = _HOOK.search(event.message)
    if found is None or situation.facts.unread.keys() & {*webhooks.RESOURCES.values()}:
        return ""
    name = found["name"]
    hook = hook_of(situation, name)
    if hook is None:
        return f"webhook {name} was removed"
    if reason == "WebhookUnanswered":
        old = situation.facts.taken - datetime.fromisoformat(event.last).timestamp() > _SETTLED_SECONDS
        return f"webhook {name} has a ready endpoint" if old and not webhooks.fault(hook.text, situation.facts) else ""
    if name == VOLCANO_WEBHOOK and "to get PodGroup" in event.message:
        return "its PodGroup was made" if situation.group else ""
    if name == VOLCANO_WEBHOOK and "queue" in event.message and queue_open(situation):
        return f"queue {situation.queue} was opened"
    return ""
