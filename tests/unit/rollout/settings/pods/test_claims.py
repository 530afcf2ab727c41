"""Class and size of claims: what can be no class and no size is refused, and so are volumes that exist beforehand."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.samples import refusals


def problems(claims: Any, **variables: Any) -> list[str]:
    found = refusals.problems(**{"kubeflow_profile": "full", "kubeflow_claims": claims} | variables)
    return [problem.found for problem in found]


@pytest.mark.parametrize("size", ["1", "50Gi", "1.5Ti", "500M", "20k"])
def test_quantities_are_sizes(size: str) -> None:
    assert problems({"katib": {"katib-mysql": {"size": size, "storage_class": "fast.example"}}}) == []


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ({"size": "0"}, "kubeflow_claims"),
        ({"size": "-1Gi"}, "kubeflow_claims"),
        ({"size": "20GB"}, "kubeflow_claims"),
        ({"size": 20}, "kubeflow_claims"),
        ({"storage_class": "Fast"}, "kubeflow_claims"),
        ({"storage_class": ""}, "kubeflow_claims"),
        ({}, "kubeflow_claims"),
        ({"storageClass": "fast"}, "kubeflow_claims"),
    ],
)
def test_anything_else_is_refused(claim: Any, said: str) -> None:
    assert [said in text for text in problems({"katib": {"katib-mysql": claim}})] == [True]


def test_components_that_are_not_installed_are_refused() -> None:
    (found,) = problems({"katibb": {"katib-mysql": {"size": "1Gi"}}})
    assert re.search(r"kubeflow_claims\.katibb,.* mean katib\?", found)


def test_static_volumes_have_their_sizes() -> None:
    claims = {"katib": {"katib-mysql": {"size": "1Gi"}}}
    (found,) = problems(claims, local_path_storage_mode="static", local_path_static_node="one")
    assert "local_path_storage_mode is static" in found
