"""Objects without a field are labelled; all others stay as they are."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import new_object
from kubeflow_volcano.rollout.patches.bare import mark_bare
from kubeflow_volcano.rollout.state.store import LABELS


def account(meta: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return new_object("v1", "ServiceAccount", "a", "n", meta={**(meta or {})}, **fields)


@pytest.mark.parametrize("obj", [account(), account({"labels": {}, "annotations": None}), account(secrets=[])])
def test_an_object_without_a_field_is_labelled(obj: dict[str, Any]) -> None:
    mark_bare([obj])
    assert obj["metadata"]["labels"] == LABELS


@pytest.mark.parametrize("obj", [account({"labels": {"app": "a"}}), account(automountServiceAccountToken=True)])
def test_an_object_with_a_field_is_left_as_it_is(obj: dict[str, Any]) -> None:
    before = str(obj)
    mark_bare([obj])
    assert str(obj) == before
