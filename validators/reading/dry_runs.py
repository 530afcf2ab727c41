"""Dry runs of creating an object: how the API server took it, and whether a webhook was silent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline

TRIES = 3
"""A webhook answers each of so many dry runs (checks.md, B4)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How the API server took an object: accepted, denied by webhook `by`, refused otherwise, or `by` was silent."""

    kind: str
    by: str = ""
    text: str = ""


def try_create(cluster: Cluster, obj: Object, seconds: float) -> ApiError | None:
    """What dry runs of creating the object were refused with; None where none was. The first silence ends them.

    A webhook that lets the API server wait for `seconds` is reported with status 0, as no answer is.

    Raises:
        ApiError: the API server itself did not answer, or cannot just now.
    """
    refusal: ApiError | None = None
    for _ in range(TRIES):
        deadline = Deadline(seconds)
        try:
            cluster.create(obj, dry_run=True, deadline=deadline)
        except ApiError as error:
            if error.status == 0 and deadline.passed:
                cluster.request("GET", "/version", deadline=Deadline(seconds))  # else it is not a webhook's silence
                text = f"no answer within {seconds:.0f} s, while the API server answers other requests"
                return ApiError(0, error.reason, text)
            if error.transient:
                raise
            refusal = error
            if error.webhook_unanswered:
                break
    return refusal


def admitted(cluster: Cluster, obj: Object, seconds: float) -> Object | ApiError:
    """The object as admission would change it; or what a dry run of creating it was refused with."""
    try:
        return cluster.create(obj, dry_run=True, deadline=Deadline(seconds))
    except ApiError as error:
        return error


def is_own_denial(error: ApiError) -> bool:
    """Whether the caller may not create such objects; admission was not reached (apiserver, endpoints/handlers)."""
    return error.status == HTTPStatus.FORBIDDEN and 'is forbidden: User "' in error.message


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
