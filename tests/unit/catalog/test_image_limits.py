"""One rule for the answers of mirrors, whether images are checked, copied or pulled.

What counts towards a ban is what DaoCloud's mirror counts (DaoCloud/public-image-mirror issue 34109): 403, 404, 429
and 5xx.
"""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.images.limits import (
    LONGEST_PAUSE_SECONDS,
    PAUSE_SECONDS,
    Meaning,
    Tally,
    meaning_of_error,
    meaning_of_status,
)


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        ('FATA[0001] rpc error: code = NotFound desc = failed to resolve "q.io/a:1": q.io/a:1', Meaning.REFUSED),
        ('msg="failed to resolve reference q.io/a:1: q.io/a:1: not found"', Meaning.REFUSED),
        ("unexpected status from HEAD request to https://m.lan/v2/a/manifests/1: 403 Forbidden", Meaning.REFUSED),
        ("pinging container registry m.lan: invalid status code from registry 403 (Forbidden)", Meaning.REFUSED),
        ("reading manifest nope in m.lan/a/b: manifest unknown: a/b", Meaning.REFUSED),
        ("pull access denied, repository does not exist or may require authorization", Meaning.UNAUTHORIZED),
        (
            "unexpected status from HEAD request to https://m.lan/v2/a/manifests/1: 429 Too Many Requests",
            Meaning.RATE_LIMITED,
        ),
        ("toomanyrequests: You have reached your pull rate limit", Meaning.RATE_LIMITED),
        ("unexpected status from GET request to https://m.lan/v2/a: 503 Service Unavailable", Meaning.UNAVAILABLE),
        ('failed to do request: Head "https://m.lan/v2/a": dial tcp 10.0.0.9:443: i/o timeout', Meaning.SILENT),
        ("dial tcp: lookup gcr.io on 10.96.0.10:53: no such host", Meaning.SILENT),
        ("timed out after 30 s", Meaning.SILENT),
        ("/usr/bin/skopeo did not finish in 30 s", Meaning.SILENT),
        (
            "unexpected status from HEAD request to https://m.lan/v2/a/manifests/1: 401 Unauthorized",
            Meaning.UNAUTHORIZED,
        ),
        ("failed to authorize: failed to fetch anonymous token: unexpected status: 403 Forbidden", Meaning.REFUSED),
        ("denied: requested access to the resource is denied", Meaning.REFUSED),
        ("tls: failed to verify certificate: x509: certificate signed by unknown authority", Meaning.UNTRUSTED),
        ("write /var/lib/containerd/ingest/x/data: no space left on device", Meaning.FULL),
        ("mismatched rootfs and manifest layers of image q.io/a/b:503", Meaning.FAILED),
        ("failed commit on ref q.io/a:404: unexpected commit digest", Meaning.FAILED),
    ],
)
def test_errors_mean_what_their_words_say_and_no_tag_is_taken_for_a_status(error: str, meaning: Meaning) -> None:
    assert meaning_of_error(error) is meaning


@pytest.mark.parametrize(
    ("status", "meaning", "final", "counted"),
    [
        (200, Meaning.OK, False, False),
        (401, Meaning.UNAUTHORIZED, True, False),
        (403, Meaning.REFUSED, True, True),
        (404, Meaning.REFUSED, True, True),
        (429, Meaning.RATE_LIMITED, False, True),
        (500, Meaning.UNAVAILABLE, False, True),
        (503, Meaning.UNAVAILABLE, False, True),
        (0, Meaning.SILENT, False, False),
        (400, Meaning.FAILED, False, False),
    ],
)
def test_a_status_says_whether_to_request_the_image_again_and_whether_it_counts_towards_a_ban(
    status: int,
    meaning: Meaning,
    final: bool,  # noqa: FBT001  columns of the table
    counted: bool,  # noqa: FBT001
) -> None:
    found = meaning_of_status(status)
    assert (found, found.is_final, found.is_counted) == (meaning, final, counted)


@pytest.mark.parametrize("status", [403, 404, 429, 500])
def test_counted_answers_end_the_run_although_others_are_between_them(status: int) -> None:
    tally = Tally(most=3)
    for _ in range(2):
        tally.add(meaning_of_status(status))
        tally.add(Meaning.OK)
    assert (tally.refusals, tally.stopped) == (2, "")
    tally.add(meaning_of_status(status))
    assert tally.stopped.startswith("3 answers")


def test_no_number_of_401_ends_the_run() -> None:
    tally = Tally(most=3)
    for _ in range(50):
        assert tally.add(Meaning.UNAUTHORIZED) == 0
    assert (tally.refusals, tally.stopped) == (0, "")


@pytest.mark.parametrize(("retry_after", "pause"), [(0, PAUSE_SECONDS), (7, 7), (LONGEST_PAUSE_SECONDS, 600)])
def test_a_429_is_repeated_once_after_the_time_that_the_mirror_demands(retry_after: float, pause: float) -> None:
    tally = Tally(most=9)
    assert tally.add(Meaning.RATE_LIMITED, retry_after=retry_after) == pause
    assert tally.stopped == ""
    assert tally.add(Meaning.RATE_LIMITED, repeated=True) == 0
    assert "429" in tally.stopped
    assert tally.cause is Meaning.RATE_LIMITED


def test_a_pause_that_is_too_long_ends_the_run() -> None:
    tally = Tally(most=9)
    assert tally.add(Meaning.RATE_LIMITED, retry_after=86400) == 0
    assert "86400 s" in tally.stopped
    assert tally.cause is Meaning.RATE_LIMITED


@pytest.mark.parametrize("meaning", [Meaning.SILENT, Meaning.UNAVAILABLE])
def test_three_times_no_answer_end_the_run_and_an_answer_between_them_starts_again(meaning: Meaning) -> None:
    tally = Tally(most=9)
    for found in (meaning, meaning, Meaning.OK, meaning, meaning):
        tally.add(found, "timed out")
    assert tally.stopped == ""
    tally.add(meaning, "timed out")
    assert tally.cause is meaning
    assert tally.stopped.endswith(": timed out")


@pytest.mark.parametrize(
    ("meaning", "why", "stopped"),
    [
        (Meaning.UNTRUSTED, "self-signed", "its certificate is not trusted: self-signed"),
        (Meaning.FULL, "no space left on device", "no space left on device"),
    ],
)
def test_what_the_next_image_would_meet_too_ends_the_run_at_once(meaning: Meaning, why: str, stopped: str) -> None:
    tally = Tally(most=9)
    tally.add(meaning, why)
    tally.add(Meaning.SILENT, "later")
    assert (tally.stopped, tally.cause) == (stopped, meaning)
