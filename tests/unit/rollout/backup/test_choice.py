"""What of a backup is to be restored."""

from __future__ import annotations

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.backup.choice import Choice


def made(api_version: str, kind: str, name: str, space: str = "") -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": space or None}}


OBJECTS = [
    made("v1", "Namespace", "team-a"),
    made("kubeflow.org/v1", "Profile", "team-b"),
    made("argoproj.io/v1alpha1", "Workflow", "run", "team-a"),
    made("argoproj.io/v1alpha1", "Workflow", "run", "team-b"),
    made("kubeflow.org/v1", "Notebook", "run", "team-a"),
    made("scheduling.volcano.sh/v1beta1", "Queue", "run"),
]
ALL = [str(Ref.of(obj)) for obj in OBJECTS]


@pytest.mark.parametrize(
    ("entry", "left_out"),
    [
        ("Workflow", ["Workflow team-a/run", "Workflow team-b/run"]),
        ("Workflow.argoproj.io", ["Workflow team-a/run", "Workflow team-b/run"]),
        ("team-a/", ["Namespace team-a", "Workflow team-a/run", "Notebook team-a/run"]),
        ("Workflow team-a/", ["Workflow team-a/run"]),
        ("Workflow team-b/run", ["Workflow team-b/run"]),
        ("Queue run", ["Queue run"]),
        ("Profile team-b", ["Profile team-b"]),
    ],
)
def test_what_is_left_out(entry: str, left_out: list[str]) -> None:
    choice = Choice(exclude=(entry,))
    assert [name for name in ALL if name not in {str(Ref.of(obj)) for obj in choice.select(OBJECTS)}] == left_out
    assert [*choice.unknown(OBJECTS)] == []


def test_kinds_that_are_chosen_come_without_what_is_left_out() -> None:
    found = Choice(only=("Workflow",), exclude=("team-b/",)).select(OBJECTS)
    assert [str(Ref.of(obj)) for obj in found] == ["Workflow team-a/run"]


@pytest.mark.parametrize(
    ("entry", "meant"),
    [
        ("Worklow", "Workflow"),
        ("team-aa/", "team-a/"),
        ("Workflow team-a/runn", "Workflow team-a/run"),
        ("Queue team-a/run", "Queue run"),
        ("Workflow team-c/", ""),
        ("Workflow.kubeflow.org", ""),
    ],
)
def test_what_fits_nothing_is_named_with_what_is_meant(entry: str, meant: str) -> None:
    assert len(Choice(exclude=(entry,)).select(OBJECTS)) == len(OBJECTS)
    (problem,) = Choice(exclude=(entry,)).unknown(OBJECTS)
    assert repr(entry) in problem.found
    assert f"Did you mean {meant}?" in problem.found if meant else True


def test_a_kind_that_the_backup_does_not_have_is_named() -> None:
    (problem,) = Choice(only=("Workflow", "Notebok")).unknown(OBJECTS)
    assert "mean Notebook?" in problem.found
