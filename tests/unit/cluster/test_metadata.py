"""Whose fields a roll-out sets back."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.metadata import may_be_overwritten


@pytest.mark.parametrize(
    "manager", ["kubectl", "kubectl-edit", "before-first-apply", "kubeflow-volcano", "vc-scheduler"]
)
def test_people_at_kubectl_and_who_writes_once_are_overruled(manager: str) -> None:
    assert may_be_overwritten(manager)


@pytest.mark.parametrize("manager", ["helm", "argocd-controller", "vc-controller-manager", "my-kubectl"])
def test_who_looks_after_an_object_is_not(manager: str) -> None:
    assert not may_be_overwritten(manager)
