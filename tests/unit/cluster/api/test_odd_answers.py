"""Answers of another shape than an API server's are errors with a reason, never a traceback."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, from_response

ODD: tuple[Any, ...] = (None, [], "text", 1, {"resources": None}, {"resources": [1]}, {"resources": [{"name": None}]})
ODD_GROUPS: tuple[Any, ...] = (
    *ODD,
    {"kind": "APIGroupDiscoveryList", "items": None},
    {"kind": "APIGroupDiscoveryList", "items": [{"metadata": []}]},
    {"kind": "APIGroupDiscoveryList", "items": [{"metadata": {"name": "a"}, "versions": [{"version": "v1"}, []]}]},
)


def cluster(monkeypatch: pytest.MonkeyPatch, answer: Any) -> Cluster:
    made = Cluster(lambda: None, "", "")  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(made, "request", lambda *_, **__: answer)
    return made


@pytest.mark.parametrize("answer", ODD, ids=str)
def test_odd_discovery_of_a_group_version(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    with pytest.raises(ApiError) as caught:
        cluster(monkeypatch, answer).kinds("v1")
    assert caught.value.reason == "OddAnswer"


@pytest.mark.parametrize("answer", ODD_GROUPS, ids=str)
def test_odd_aggregated_discovery(monkeypatch: pytest.MonkeyPatch, answer: Any) -> None:
    with pytest.raises(ApiError) as caught:
        cluster(monkeypatch, answer).all_kinds()
    assert caught.value.reason == "OddAnswer"


@pytest.mark.parametrize(
    "body", [b"[]", b'{"details": []}', b'{"details": {"causes": {"a": 1}}}', b'{"details": {"causes": [1]}}']
)
def test_odd_refusals(body: bytes) -> None:
    assert from_response(500, {}, body).status == 500
