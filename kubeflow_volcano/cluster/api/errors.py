"""Errors of the API server, and which of them are transient."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.retries import retry_after_seconds

UNTRUSTED = "NotTrusted"
"""Reason of an error without an answer: one side rejects the other's certificate. Not transient."""

ODD = "OddAnswer"
"""Reason of an answer of another shape than the API has."""

_TRANSIENT_STATUS = frozenset({429, 502, 503, 504})
# Errors of etcd and of webhooks have status 500; only the text distinguishes them (carvel-dev/kapp#106).
_TRANSIENT_500 = (
    "leader changed",
    "etcdserver:",
    "connection refused",
    "connection reset",
    "context deadline exceeded",
    "the object has been modified",
    "timed out",
)
_WEBHOOK = "failed calling webhook"
# Conflicts of a deletion that a retry meets again: another UID or version, or a namespace that is terminating.
_LASTING_CONFLICTS = ("Precondition failed", "in the precondition", "The system is ensuring all content is removed")


class ApiError(Exception):
    """An answer other than 2xx. `status` 0: no answer."""

    def __init__(
        self, status: int, reason: str, message: str, *, retry_after: float | None = None, causes: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.causes = causes

    @property
    def webhook_unanswered(self) -> bool:
        """Whether the API server could not call an admission webhook; recovers when its backend is ready."""
        return self.status == HTTPStatus.INTERNAL_SERVER_ERROR and _WEBHOOK in self.message

    @property
    def field_conflict(self) -> bool:
        """Whether another field manager owns applied fields; does not recover by itself."""
        return self.status == HTTPStatus.CONFLICT and any(
            "conflict with" in text for text in (self.message, *self.causes)
        )

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed later without a change."""
        if self.status in _TRANSIENT_STATUS:
            return True
        if self.status == 0:
            return self.reason != UNTRUSTED
        if self.webhook_unanswered:
            return False  # its backend may need much longer to become ready
        if self.status == HTTPStatus.CONFLICT:
            lasting = self.field_conflict or any(text in self.message for text in _LASTING_CONFLICTS)
            return self.reason == "Conflict" and not lasting
        return self.status == HTTPStatus.INTERNAL_SERVER_ERROR and any(text in self.message for text in _TRANSIENT_500)

    def __str__(self) -> str:
        return f"{self.status} {self.reason}: {self.message}" if self.status else self.message


class NotServed(ApiError):  # noqa: N818  reads as what it states
    """The kind is not served: its CRD is missing or not established yet."""

    def __init__(self, api_version: str, kind: str) -> None:
        super().__init__(404, "NotServed", f"the API server serves no kind {kind} in {api_version}")


def from_response(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The error in an HTTP answer, which may also come from a proxy."""
    try:
        parsed: Any = read_json(body)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict) or not isinstance(parsed.get("details") or {}, dict):
        parsed = {"message": body[:300].decode("utf-8", "replace").strip()}
    details = parsed.get("details") or {}
    causes = tuple(str(cause.get("message", "")) for cause in _mappings(details.get("causes")))
    after = headers.get("Retry-After") or details.get("retryAfterSeconds")
    message = str(parsed.get("message") or f"HTTP status {status}")
    reason = str(parsed.get("reason") or "Unknown")
    return ApiError(status, reason, message, retry_after=retry_after_seconds(after), causes=causes)


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


@contextmanager
def odd_answers(about: str) -> Iterator[None]:
    """Around the reading of an answer: one may have another shape than the API has.

    It is not from an API server then, or an object is of a kind whose CRD says nothing of its fields.

    Raises:
        ApiError: it has.
    """
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        text = f"its answer about {about} has another shape than the API has ({error!r})"
        raise ApiError(HTTPStatus.OK, ODD, text) from error
