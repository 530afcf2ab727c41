"""Answers of registries are told apart by the words in which runtimes and tools pass them on."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog.images.answers import Answer, answer_of


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        ('FATA[0001] rpc error: code = NotFound desc = failed to resolve "q.io/a:1": q.io/a:1', Answer.REFUSED),
        ('msg="failed to resolve reference q.io/a:1: q.io/a:1: not found"', Answer.REFUSED),
        ("unexpected status from HEAD request to https://m.lan/v2/a/manifests/1: 403 Forbidden", Answer.REFUSED),
        ("pinging container registry m.lan: invalid status code from registry 403 (Forbidden)", Answer.REFUSED),
        ("reading manifest nope in m.lan/a/b: manifest unknown: a/b", Answer.REFUSED),
        ("pull access denied, repository does not exist or may require authorization", Answer.REFUSED),
        ("unexpected status from HEAD request to https://m.lan/v2/a/manifests/1: 429 Too Many Requests", Answer.BUSY),
        ("toomanyrequests: You have reached your pull rate limit", Answer.BUSY),
        ("unexpected status from GET request to https://m.lan/v2/a: 503 Service Unavailable", Answer.SILENT),
        ('failed to do request: Head "https://m.lan/v2/a": dial tcp 10.0.0.9:443: i/o timeout', Answer.SILENT),
        ("dial tcp: lookup gcr.io on 10.96.0.10:53: no such host", Answer.SILENT),
        ("timed out after 30 s", Answer.SILENT),
        ("tls: failed to verify certificate: x509: certificate signed by unknown authority", Answer.UNTRUSTED),
        ("write /var/lib/containerd/ingest/x/data: no space left on device", Answer.FULL),
        ("mismatched rootfs and manifest layers of image q.io/a/b:503", Answer.FAILED),
        ("failed commit on ref q.io/a:404: unexpected commit digest", Answer.FAILED),
    ],
)
def test_errors_mean_what_their_words_say_and_no_tag_is_taken_for_a_status(error: str, meaning: Answer) -> None:
    assert answer_of(error) is meaning
