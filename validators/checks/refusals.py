"""What it means when a probe object is not admitted: the question stays open, in the server's own words."""

from __future__ import annotations

from kubeflow_volcano.experiment.ended import BAD_STARTS
from validators.core.outcome import Outcome, errored

__all__ = ["interruption", "not_tried", "refusal"]

_WEBHOOK = "failed calling webhook"
_UNREAD = frozenset({"Forbidden", "Unauthorized", "Unreachable"})


def refusal(text: str) -> Outcome:
    """Quota, LimitRange, Pod Security, authorization or a webhook said no; one that did not answer is B3's finding."""
    todo = "exempt the probe from the policy that is named, or name a namespace that admits it."
    if _WEBHOOK in text:
        todo = "bring up what answers for the webhook that is named, and run again."
    return errored(
        "ProbeRefused",
        f"the cluster does not admit a probe object: {text}",
        expected="small pods at the Pod Security level that their identity needs are admitted",
        todo=todo,
        because=("B3",) if _WEBHOOK in text else (),
    )


def interruption(text: str) -> Outcome:
    """The server did not answer, or an experiment ran out of its time; a webhook may be why, which B3 finds."""
    return errored(
        "ProbeInterrupted",
        f"the probe did not come to its end: {text}",
        expected="the API server and its webhooks answer for as long as the probe takes",
        todo="see the API server's health, then run again.",
        because=("B3",) if _WEBHOOK in text else (),
    )


def not_tried(trouble: tuple[str, str]) -> Outcome:
    """Why a pod did not do what it was made for, by reason and text: image, admission, outage, or a missing fact."""
    reason, text = trouble
    if reason in BAD_STARTS:
        return errored("ProbeImage", f"the probe pod cannot start: {text}", todo="mirror or override its image.")
    if reason == "ProbeRefused":
        return refusal(text)
    if reason in _UNREAD:
        return errored(reason, text, todo="see that it can be read, then run again.")
    return interruption(text)
