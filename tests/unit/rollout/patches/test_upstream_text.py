"""Placeholders of one component that another one fills, as in upstream's build of both."""

from __future__ import annotations

from dataclasses import replace

from kubeflow_volcano.catalog import read
from kubeflow_volcano.catalog.model import JointValue
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.rollout.patches.upstream import fill_joint_values

RELEASE = replace(
    read.load_release("1.9.1"), joint_values=(JointValue("asks", "foos.io", "from", "$(A)/$(B)", "gives", "a/b"),)
)


def crd(name: str, text: str) -> Object:
    return {"kind": "CustomResourceDefinition", "metadata": {"name": name, "annotations": {"from": text, "other": "x"}}}


def test_a_placeholder_is_filled_where_its_provider_is_there_too() -> None:
    asked = crd("foos.io", "$(A)/$(B)")
    parts = {"asks": (asked, crd("bars.io", "$(A)/$(B)")), "gives": (crd("foos.io", "$(A)/$(B)"),)}
    found = fill_joint_values(parts, RELEASE)
    assert found["asks"] == (crd("foos.io", "a/b"), crd("bars.io", "$(A)/$(B)"))
    assert found["gives"] == parts["gives"]
    assert asked == crd("foos.io", "$(A)/$(B)")


def test_nothing_is_filled_without_the_provider_or_where_there_is_a_value() -> None:
    alone = {"asks": (crd("foos.io", "$(A)/$(B)"),), "gives": ()}
    assert fill_joint_values(alone, RELEASE) == alone
    filled_already = {"asks": (crd("foos.io", "own/value"),), "gives": (crd("x", "y"),)}
    assert fill_joint_values(filled_already, RELEASE) == filled_already
