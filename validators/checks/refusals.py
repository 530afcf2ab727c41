"""Outcomes of probes that could not be carried out: rejected objects, interruptions, missing images."""

from __future__ import annotations

from kubeflow_volcano.experiment.ended import BAD_STARTS
from validators.core.outcome import Outcome, errored

__all__ = ["interruption", "not_tried", "refusal"]

_WEBHOOK = "failed calling webhook"
_UNREAD = frozenset({"Forbidden", "Unauthorized", "Unreachable"})


def refusal(text: str) -> Outcome:
    """A quota, LimitRange, Pod Security, RBAC or a webhook rejected an object; B3 reports a webhook without answer."""
    todo = "exempt the probe from the named policy, or name a namespace that admits it (--probe-namespace)."
    if _WEBHOOK in text:
        todo = "see why the backend of the named webhook is not ready, and run again."
    return errored(
        "ProbeRefused",
        f"the API server rejected a probe object: {text}",
        expected="small pods are admitted at the Pod Security level of their identity",
        todo=todo,
        because=("B3",) if _WEBHOOK in text else (),
    )


def interruption(text: str) -> Outcome:
    """The API server did not answer, or an experiment timed out; if a webhook is the cause, B3 reports it."""
    return errored(
        "ProbeInterrupted",
        f"the probe was interrupted: {text}",
        expected="the API server and its webhooks answer during the probe",
        todo="check the health of the API server, then run again.",
        because=("B3",) if _WEBHOOK in text else (),
    )


def not_tried(failure: tuple[str, str]) -> Outcome:
    """Why a probe pod did not run, by reason and text: image, admission, interruption, or a missing fact."""
    reason, text = failure
    if reason in BAD_STARTS:
        return errored("ProbeImage", f"the probe pod cannot start: {text}", todo="mirror or override its image.")
    if reason == "ProbeRefused":
        return refusal(text)
    if reason in _UNREAD:
        return errored(reason, text, todo="grant the right to read it, or check the API server, then run again.")
    return interruption(text)
