"""Amounts of a queue that contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples.manifests import made, reasons


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"capability": {"cpu": 4}, "deserved": {"cpu": "4000m", "memory": "9Gi"}}, 0),
        ({"capability": {"cpu": 4}, "deserved": {"cpu": 5}}, 1),
        ({"deserved": {"cpu": 4}, "guarantee": {"resource": {"cpu": 5}}}, 1),
        ({"capability": {"a/b": 1}, "deserved": {"a/b": 2}, "guarantee": {"resource": {"a/b": 3}}}, 3),
    ],
)
def test_what_is_more_than_its_bound(spec: dict[str, Any], wrong: int) -> None:
    queue = made("scheduling.volcano.sh/v1beta1", "Queue", "q", "", spec=spec)
    assert reasons(queue, offline=True) == ["QueueAmounts"] * wrong
