"""Outcomes of probes that could not be carried out: rejected objects, interruptions, missing images."""

from __future__ import annotations

import re
from dataclasses import replace

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.cluster.admission.denials import denier, look_at
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.cluster.watch.leaders import CONTROLLERS, SCHEDULER
from kubeflow_volcano.experiment.ended import ALTERED, BAD_STARTS, UNPLACED, UNSEEN
from kubeflow_volcano.experiment.session import EVERYWHERE
from kubeflow_volcano.validators.core.outcome import Cause, Outcome, errored, failed
from kubeflow_volcano.validators.subjects.interception import named_in
from kubeflow_volcano.validators.subjects.outages import taints_in

_UNPREPARED = CONTROLLERS.program
"""In the session's text about a namespace without ServiceAccount or counted quota."""
_UNANSWERED = "no answer from "
"""In the client's text about a server that did not answer in time."""
_HOOKS = "admissionregistration.k8s.io/v1"
_HOOK = re.compile(r"(MutatingWebhookConfiguration|MutatingAdmissionPolicy) ([^\s,)]+)")
_OF_THE_CLUSTER = frozenset({"PolicyParameters", "WebhookUnanswered"})
"""Symptoms that no exemption of the probe mends."""
_FIRST = ("E1",)
"""The check that is first to need an ordinary pod: what says of no pod who refuses it is reported once, by this one."""
_UNREAD = frozenset({"Forbidden", "Unauthorized", "Unreachable"})


def refusal(text: str, *, owns: bool = False) -> Outcome:
    """A quota, LimitRange, Pod Security, RBAC or a webhook rejected an object; a webhook without answer is a cause.

    What ordinary namespaces deny as well is a failure of the cluster, which the check that `owns` it reports. A
    namespace that no controller prepared is an interruption, for which no policy is to be changed.
    """
    if _UNPREPARED in text:
        return replace(
            interruption(text),
            todo="start kube-controller-manager: its log says why it does not act. Then run again.",
            because=(frozenset({CONTROLLERS.lease}),),
        )
    if _UNANSWERED in text:
        return interruption(text)
    policy = denier(text) if EVERYWHERE in text else None
    if policy:
        return _denied(policy, text, owns=owns)
    todo = "exempt the probe from the named policy, or name a namespace that admits it (--probe-namespace)."
    known = recognise(text, "admission")
    broken = bool(known and (named_in(text) or known.reason in _OF_THE_CLUSTER))
    if known and broken:
        todo = f"{known.todo} Then run again."
    return errored(
        "ProbeRefused",
        f"the API server rejected a probe object: {text}",
        expected="small pods are admitted at the Pod Security level of their identity",
        todo=todo,
        commands=known.commands if known and broken else (),
        because=_causes(text) or (_FIRST if known and known.reason == "WebhookUnanswered" else ()),
    )


def _denied(policy: Ref, text: str, *, owns: bool) -> Outcome:
    return failed(
        "PolicyDenies",
        f"{policy.kind} {policy.name} denies ordinary objects, not only the probe's: {text}",
        expected="users' namespaces admit pods within the restricted Pod Security level, and those of gangs",
        objects=(policy,),
        todo="change the named policy so that it admits such objects: until then, users' jobs do not start.",
        commands=(look_at(policy),),
        because=() if owns else (frozenset({policy}),),
    )


def altered(text: str) -> Outcome:
    """Admission changes pods so that they get no node; the check of names, which is first to need a pod, reports it."""
    hooks = [Ref(_HOOKS, kind, "", name) for kind, name in dict.fromkeys(_HOOK.findall(text))]
    return failed(
        ALTERED,
        text,
        expected="pods that are stored as they are sent, in what decides about their node",
        objects=hooks,
        todo="let what changes them leave such pods out: by its namespaceSelector, objectSelector or matchConditions; "
        "users' pods are changed in the same way.",
        commands=[f"kubectl get {ref.kind.lower()} {ref.name} -o yaml" for ref in hooks],
        because=_FIRST,
    )


def interruption(text: str) -> Outcome:
    """The API server did not answer, or an experiment timed out; causes are webhooks and lost nodes that it names."""
    return errored(
        "ProbeInterrupted",
        f"the probe was interrupted: {text}",
        expected="the API server and its webhooks answer during the probe",
        todo="check the health of the API server, then run again.",
        because=_causes(text),
    )


def _causes(text: str) -> tuple[Cause, ...]:
    causes = named_in(text) | taints_in(text)
    return (causes,) if causes else ()


def not_tried(failure: tuple[str, str]) -> Outcome:
    """Why a probe pod did not run, by reason and text: image, admission, interruption, or a missing fact."""
    reason, text = failure
    if reason == ALTERED:
        return altered(text)
    if reason in BAD_STARTS:
        return errored("ProbeImage", f"the probe pod cannot start: {text}", todo="mirror or override its image.")
    if (symptom := recognise(text, "sandbox")) and symptom.reason == reason:
        return errored(reason, f"the probe pod cannot start: {text}. Cause: {symptom.cause}.", todo=symptom.todo)
    if reason == "ProbeRefused":
        return refusal(text)
    if reason in _UNREAD:
        return errored(reason, text, todo="grant the right to read it, or check the API server, then run again.")
    return _not_placed(reason, text) if reason in {UNSEEN, UNPLACED} else interruption(text)


def _not_placed(reason: str, text: str) -> Outcome:
    """No scheduler has looked at a probe pod, or by its word no node takes it."""
    if reason == UNSEEN:
        return failed(
            reason,
            text,
            expected="kube-scheduler considers the probe pod",
            todo=f"see why {SCHEDULER.program} does not act, or has no profile of that name: its log says so.",
            because=_FIRST,
            breaks=(SCHEDULER.lease,),
        )
    known = recognise(text, "scheduler")
    todo = known.todo if known else "make room for a small pod, and run again."
    return errored(reason, text, todo=todo, commands=known.commands if known else (), because=("A4",))
