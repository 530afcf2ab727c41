"""Objects that the API server refuses to create for the job: expected refusals, and those that events report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.cluster.pods.quantities import amounts
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.checks.operator.common import OPERATOR_ACCESS
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.explain.creation.companions import COMPANION_EVENTS
from kubeflow_volcano.validators.explain.creation.controllers import Controller, controllers_of, missing_permissions
from kubeflow_volcano.validators.explain.creation.webhooks import failing_webhooks, webhook_named
from kubeflow_volcano.validators.explain.kinds import JOBSETS, runtime_of
from kubeflow_volcano.validators.explain.model import Event, Finding, Situation, finding
from kubeflow_volcano.validators.explain.scheduling.queues import is_open
from kubeflow_volcano.validators.reading.dry_runs import Answer
from kubeflow_volcano.validators.subjects import webhooks
from kubeflow_volcano.validators.subjects.kubectl import look_again, restart

ADMISSION = Fact[Mapping[str, Answer]]("admission", lambda _cluster, _facts: {}, {})
"""By role, how a dry run of creating one of its pods was refused; accepted roles are left out."""
_VOLCANO_WEBHOOK = "validatepod.volcano.sh"

_QUOTA = re.compile(r"exceeded quota: (?P<name>[^,]+), requested: (?P<asked>.{0,2000}?), used: ")
_CLASS = re.compile(r"no PriorityClass with name (?P<name>\S+)")
_ACCOUNT = re.compile(r"service account [^/\s]+/(?P<name>[^:\s]+)")
_WEBHOOK = re.compile(r'webhook "(?P<name>[^"]+)"')
_OF_MPIJOB = "pod created failed: "
_WORDLESS = re.compile(r"^Created \w+ pod:\s*$")
"""An event of an MPIJob without a cause, which the next event has (pkg/controller.v1/mpi of the operator, 1.8)."""
_OF_TRAINJOB, _OF_JOBSET, _OF_VCJOB = "TrainJobResourcesCreationFailed", "JobCreationFailed", "PodGroupError"
_SETTLED_SECONDS = 30.0
"""The API server may not yet reach a webhook whose Service has had an endpoint for less than this."""


def expected_refusals(situation: Situation) -> Iterator[Finding]:
    """What will refuse the missing pods, even where no controller has tried to create them.

    Rules: those of webhooks.py and controllers.py.
    """
    if situation.missing <= 0:
        return
    yield from failing_webhooks(situation, "Pod")
    for kind in ("pods", "jobs.batch"):
        yield from missing_permissions(situation, kind)


def refusals(situation: Situation) -> Iterator[Finding]:
    """What the API server refused to create for the job, in its own words: one finding for each reason.

    Rules: none of its own: what is read are the words of apiserver/pkg/admission/plugin/resourcequota/controller.go
    and plugin/pkg/admission of Kubernetes, v1.22 to v1.37, in events of the controllers (see refused).
    """
    if situation.missing <= 0:
        return
    findings: dict[str, Finding] = {}
    for event in reversed(refused(situation)):
        reason, todo = _classify(event.message)
        if _VOLCANO_WEBHOOK in event.message and (not is_open(situation) or _lacks_group(situation)):
            continue  # the stages queue and podgroup report what Volcano's webhook found there
        if past := _change_since(reason, event, situation):
            findings.setdefault(reason, _not_tried_again(event, past, situation))
            continue
        findings.setdefault(
            reason,
            finding(
                reason,
                f"{_describe(event, situation)}.",
                needed=f"{'pods' if _is_of_pod(event) else 'objects'} that the API server accepts.",
                todo=todo,
                objects=[event.ref],
                blocks=len(situation.pods) < situation.minimum,
            ),
        )
    yield from findings.values()
    for role, answer in situation.facts.known(ADMISSION).items():
        reason, todo = _classify(answer.text)
        if answer.kind != "silent" and reason not in findings and not situation.pods:
            findings[reason] = _in_dry_run(role, answer, reason, todo)
            yield findings[reason]


def is_refused_in_dry_run(situation: Situation) -> bool:
    """Whether the API server takes no pod of a role, so that nothing is known of what admission would make of it."""
    return not situation.pods and any(map(_is_certain, situation.facts.known(ADMISSION).values()))


def _is_certain(answer: Answer) -> bool:
    """Whether a controller's pod would be refused like the caller's: webhooks and policies may tell them apart."""
    by_policy = _classify(answer.text)[0] == "PolicyRefused"
    return answer.kind == "invalid" or (answer.kind == "refused" and not by_policy)


def _in_dry_run(role: str, answer: Answer, reason: str, todo: str) -> Finding:
    """What no controller has tried yet."""
    invalid = answer.kind == "invalid"
    return finding(
        "PodInvalid" if invalid else reason,
        f"in a dry run, the API server refused a pod of {role}: {answer.text.rstrip('.')}.",
        needed="pods that the API server accepts.",
        todo="correct the pod template." if invalid else todo,
        blocks=_is_certain(answer),
    )


def refused(situation: Situation) -> tuple[Event, ...]:
    """Events about refused pods, or refused objects that create pods; oldest first.

    Rules: pkg/controller/trainjob_controller.go of Trainer v2.1.0, pkg/constants of JobSet v0.10.1.
    """
    return tuple(
        item
        for item in situation.events
        if (_is_of_pod(item) or item.reason == _OF_JOBSET or _is_of_trainer(item, situation) or _is_of_group(item))
        and not _WORDLESS.search(item.message)
    )


def _is_of_pod(event: Event) -> bool:
    """Whether a pod was refused; for an MPIJob the operator reports that in the event of the job's failure."""
    return ("FailedCreate" in event.reason and event.reason not in COMPANION_EVENTS) or _OF_MPIJOB in event.message


def _is_of_trainer(event: Event, situation: Situation) -> bool:
    """Whether Trainer could not create a PodGroup or JobSet that is still missing; not for a missing runtime."""
    if event.reason != _OF_TRAINJOB:
        return False
    jobset = situation.facts.get(JOBSETS, situation.job.ref.namespace, situation.job.ref.name)
    missing = jobset is None or situation.group is None
    return missing and runtime_of(situation.obj, situation.facts) is not None


def _is_of_group(event: Event) -> bool:
    """Whether the PodGroup of a Volcano job was refused (initiateJob of pkg/controllers/job, v1.8.0 to v1.15.1)."""
    return event.reason == _OF_VCJOB and "is forbidden" in event.message


def _lacks_group(situation: Situation) -> bool:
    """Whether the job has no PodGroup although a controller creates one for its kind."""
    return situation.group is None and bool(_controllers(situation))


def _controllers(situation: Situation) -> tuple[Controller, ...]:
    return controllers_of(situation.job.family, situation.facts.expectations.scheduler)


def _classify(message: str) -> tuple[str, str]:
    """Reason and remedy of a refusal, by the table of symptoms."""
    found = recognise(message, "admission")
    return (found.reason, found.todo) if found else ("PodsRefused", "do what the message says.")


def _describe(event: Event, situation: Situation) -> str:
    what = "a pod" if _is_of_pod(event) else "an object that creates them"
    return (
        f"{len(situation.pods)} of {situation.job.wanted or situation.minimum} pods exist; the API server refused to "
        f"create {what}: {event.message.rstrip('.')} ({counted(event.count, 'time')}, last at {event.last})"
    )


def _not_tried_again(event: Event, past: str, situation: Situation) -> Finding:
    """The cause of the refusal is gone, but the controller has not retried: its backoff grows with each refusal."""
    ref = situation.job.ref
    owners = [item.ref for item in _controllers(situation) if "pods" in item.kinds]
    changes = [restart(item) for item in owners]
    family = situation.job.family
    if family == "kubeflow.org" or (family == "trainer.kubeflow.org" and not _is_of_pod(event)):
        changes = [look_again(ref)]
    return finding(
        "NotTriedAgain",
        f"{_describe(event, situation)}. Since then {past}.",
        needed="the next attempt of the controller, whose backoff grows with each refusal, up to minutes.",
        todo="wait for it, or make the controller reconcile now; a new event reports a further refusal.",
        objects=[event.ref],
        changes=changes,
        blocks=len(situation.pods) < situation.minimum,
    )


def _change_since(reason: str, event: Event, situation: Situation) -> str:
    """How the cause that the event names has changed since; empty where it has not, or that is unknown."""
    facts, space = situation.facts, situation.job.ref.namespace
    match reason:
        case "QuotaTooSmall":
            return _room_in_quota(event, situation)
        case "PriorityClassMissing":
            return _created("priorityclasses.scheduling.k8s.io", "", _CLASS.search(event.message), facts)
        case "ServiceAccountMissing":
            return _created("serviceaccounts", space, _ACCOUNT.search(event.message), facts)
        case "ControllerMayNot":
            granted = any(answers.get("create pods") for answers in facts.known(OPERATOR_ACCESS).values())
            return "the permission was granted" if granted else ""
        case "WebhookUnanswered" | "WebhookRefused":
            return _webhook_since(reason, event, situation)
    return ""


def _created(resource: str, namespace: str, match: re.Match[str] | None, facts: Facts) -> str:
    name = match["name"].strip('"') if match else ""
    return f"{name} was created" if name and facts.get(resource, namespace, name) else ""


def _room_in_quota(event: Event, situation: Situation) -> str:
    match = _QUOTA.search(event.message)
    if match is None:
        return ""
    quota = situation.facts.get("resourcequotas", situation.job.ref.namespace, match["name"])
    if quota is None:
        return f"quota {match['name']} was deleted"
    asked = amounts(dict(pair.split("=", 1) for pair in match["asked"].split(",") if "=" in pair))
    hard, used = (amounts(quota.get("status", {}).get(key)) for key in ("hard", "used"))
    zero, count = Decimal(0), max(situation.job.wanted - len(situation.pods), 1) if _is_of_pod(event) else 1
    fits = all(used.get(name, zero) + count * amount <= hard[name] for name, amount in asked.items() if name in hard)
    return f"quota {match['name']} has room for everything that is missing" if asked and fits else ""


def _webhook_since(reason: str, event: Event, situation: Situation) -> str:
    match = _WEBHOOK.search(event.message)
    if match is None or situation.facts.unread.keys() & {*webhooks.RESOURCES.values()}:
        return ""
    name = match["name"]
    hook = webhook_named(situation, name)
    if hook is None:
        return f"webhook {name} was deleted"
    if reason == "WebhookUnanswered":
        old = situation.facts.taken - datetime.fromisoformat(event.last).timestamp() > _SETTLED_SECONDS
        answers = old and not webhooks.fault(hook.text, situation.facts, hook.owner)
        return f"webhook {name} has a ready endpoint" if answers else ""
    if name == _VOLCANO_WEBHOOK and "to get PodGroup" in event.message:
        return "its PodGroup was created" if situation.group else ""
    if name == _VOLCANO_WEBHOOK and "queue" in event.message and is_open(situation):
        return f"queue {situation.queue} was opened"
    return ""
