"""Claims that cannot become what is declared are told before the first change, with what to do."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.rollout.requirements.claims import unmet_claims
from kubeflow_volcano.rollout.settings.settings import parse
from tests.samples.stored import Stored
from tests.unit.rollout.patches.pods.test_claims import claim, stateful_set

CLASSES = [
    new_object("storage.k8s.io/v1", "StorageClass", name, allowVolumeExpansion=name == "fast")
    for name in ("slow", "fast")
]


def with_class(obj: Object, name: str | None, phase: str = "Bound") -> Object:
    spec = obj["spec"] | ({"storageClassName": name} if name else {})
    return obj | {"spec": spec, "status": {"phase": phase}}


def problems(live: Object | None, declared: Object, **variables: Any) -> list[Any]:
    settings = parse({"kubeflow_profile": "full", **variables})
    cluster: Any = Stored(*CLASSES, *([live] if live else ()))
    return [*unmet_claims(cluster, settings.claims, settings.ceded, {"katib": [declared]})]


@pytest.mark.parametrize(
    ("live", "declared"),
    [
        (None, with_class(claim(), "fast")),
        (with_class(claim(), "slow"), claim()),
        (with_class(claim(), "slow"), with_class(claim(size="20480Mi"), "slow")),
        (with_class(claim(), "fast"), with_class(claim(size="30Gi"), "fast")),
        (stateful_set(claim()), stateful_set(claim(size="20480Mi"), claim("new"))),
    ],
)
def test_what_the_api_server_accepts_is_accepted(live: Object | None, declared: Object) -> None:
    assert problems(live, declared) == []


@pytest.mark.parametrize(
    ("live", "declared", "found", "todo"),
    [
        (with_class(claim(), "slow"), with_class(claim(), "fast"), "slow, and fast is declared", "storage_class: slow"),
        (with_class(claim(), "fast"), claim(size="10Gi"), "has 20Gi, and 10Gi is declared", "size: 20Gi"),
        (with_class(claim(), "slow"), claim(size="30Gi"), "slow cannot expand volumes", "size: 20Gi"),
        (with_class(claim(), "fast", "Pending"), claim(size="30Gi"), "no volume yet", "kubectl delete"),
        (stateful_set(claim()), stateful_set(claim(size="30Gi")), "size 20Gi, and 30Gi is", "--cascade=orphan"),
        (
            stateful_set(claim()),
            stateful_set(with_class(claim(), "fast")),
            "class of the default, and fast is",
            "--cascade=orphan",
        ),
    ],
)
def test_what_it_would_refuse_is_told(live: Object, declared: Object, found: str, todo: str) -> None:
    (problem,) = problems(live, declared)
    assert found in problem.found
    assert todo in problem.todo


def test_a_class_has_to_exist_or_to_be_brought() -> None:
    claims = {"katib": {"data": {"storage_class": "fats"}}}
    (problem,) = problems(None, with_class(claim(), "fats"), kubeflow_claims=claims)
    assert "StorageClass fats" in problem.found
    assert "fast, slow" in problem.needed


def test_fields_that_are_left_to_others_are_not_judged() -> None:
    ceded = {"kind": "PersistentVolumeClaim", "name": "data", "paths": ["/spec/resources/requests/storage"]}
    assert problems(with_class(claim(), "slow"), claim(size="10Gi"), kubeflow_ceded_fields=[ceded]) == []


def test_without_claims_nothing_is_asked() -> None:
    assert [*unmet_claims(None, {}, (), {"katib": []})] == []  # type: ignore[arg-type]
