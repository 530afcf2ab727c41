"""Which answers are worth another try, and when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kubeflow_volcano.cluster.api.errors import ApiError, NotServed, from_response


@pytest.mark.parametrize(
    ("status", "reason", "message", "heals"),
    [
        (0, "NoAnswer", "connection reset by peer", True),
        (429, "TooManyRequests", "slow down", True),
        (503, "ServiceUnavailable", "starting", True),
        (504, "Timeout", "request timed out", True),
        (500, "InternalError", "rpc error: etcdserver: leader changed", True),
        (500, "InternalError", "context deadline exceeded", True),
        (500, "InternalError", "resource quota evaluation timed out", True),
        (500, "InternalError", "something broke", False),
        (500, "InternalError", 'failed calling webhook "w": connection refused', False),
        (409, "Conflict", "the object has been modified; please apply your changes to the latest version", True),
        (409, "Conflict", 'Apply failed with 1 conflict: conflict with "helm" using v1: .data.a', False),
        (409, "Conflict", "Precondition failed: UID in precondition", False),
        (409, "AlreadyExists", "there is one", False),
        (422, "Invalid", "field is immutable", False),
        (403, "Forbidden", "may not", False),
        (404, "NotFound", "not found", False),
    ],
)
def test_what_heals(status: int, reason: str, message: str, heals: bool) -> None:  # noqa: FBT001  a column of the table
    assert ApiError(status, reason, message).transient is heals


def test_a_kind_that_is_not_served_does_not_come_by_asking_again() -> None:
    assert not NotServed("g.io/v1", "Foo").transient


def test_retry_after_is_read_as_seconds_and_as_a_date() -> None:
    assert from_response(429, {"Retry-After": "7"}, b"{}").retry_after == 7
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=10), usegmt=True)
    assert 7 < (from_response(429, {"Retry-After": date}, b"{}").retry_after or 0) <= 10
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=10), usegmt=True)
    assert from_response(503, {"Retry-After": past}, b"{}").retry_after == 0
    assert from_response(429, {}, b'{"details": {"retryAfterSeconds": 3}}').retry_after == 3
    assert from_response(429, {"Retry-After": "soon"}, b"{}").retry_after is None
    assert from_response(429, {}, b"{}").retry_after is None
