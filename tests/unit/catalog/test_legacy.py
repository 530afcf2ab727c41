"""Marks of unmaintained tools, on literal metadata."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.catalog.legacy import KFCTL, KSONNET, KUBE_BATCH, marks, runs


@pytest.mark.parametrize(
    ("tool", "metadata", "found"),
    [
        (KSONNET, {"labels": {"ksonnet.io/component": "argo"}}, ["ksonnet.io/component"]),
        (
            KSONNET,
            {"labels": {"app.kubernetes.io/deploy-manager": "ksonnet"}},
            ["app.kubernetes.io/deploy-manager=ksonnet"],
        ),
        (KSONNET, {"labels": {"app.kubernetes.io/deploy-manager": "other"}}, []),
        (KSONNET, {"annotations": {"ksonnet.io/managed": "{}"}}, ["ksonnet.io/managed"]),
        (KFCTL, {"annotations": {"kfctl.kubeflow.io/kfdef-instance": "a.b"}}, ["kfctl.kubeflow.io/kfdef-instance"]),
        # Manifests of Kubeflow 1.9 still have it.
        (KFCTL, {"labels": {"app.kubernetes.io/managed-by": "kfctl"}}, []),
        (KUBE_BATCH, {"labels": {"ksonnet.io/component": "argo"}, "annotations": None}, []),
    ],
)
def test_marks_are_named(tool: str, metadata: dict[str, Any], found: list[str]) -> None:
    assert marks(tool, metadata) == found


@pytest.mark.parametrize(
    ("tool", "image", "expected"),
    [
        (KUBE_BATCH, "registry.lan:5000/kubesigs/kube-batch:v0.5", True),
        (KUBE_BATCH, "kubesigs/kube-batch-tools:v0.5", False),
        (KFCTL, "aipipeline/kubeflow-operator@sha256:" + "a" * 64, True),
        (KSONNET, "ksonnet/ks", False),
    ],
)
def test_a_program_is_known_by_the_name_of_its_image(tool: str, image: str, *, expected: bool) -> None:
    workload = {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": image}]}}}}
    assert runs(tool, workload) is expected
