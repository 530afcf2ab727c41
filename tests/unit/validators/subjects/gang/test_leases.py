"""Which Lease a program waits for, and whether its holder is gone."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.checks.volcano import volcano
from kubeflow_volcano.validators.checks.workloads import workloads
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.subjects.gang.leases import LEASES, abandoned, leases_of
from tests.samples.facts import NOW, deployment, facts, pod

SCHEDULER = "volcano-system/volcano-scheduler"
REF = Ref("apps/v1", "Deployment", "volcano-system", "volcano-scheduler")


def program(place: str, image: str, *arguments: str) -> Object:
    return deployment(place, containers=[{"name": "c", "image": image, "args": list(arguments)}])


def lease(holder: str, *, age: float = 60.0, seconds: int = 86400) -> Object:
    renewed = datetime.fromtimestamp(NOW - age, UTC).isoformat()
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": seconds}
    return new_object("coordination.k8s.io/v1", "Lease", "volcano", "volcano-system", spec=spec)


@pytest.mark.parametrize(
    ("obj", "wanted"),
    [
        (program(SCHEDULER, "volcanosh/vc-scheduler:v1.10.0"), "volcano-system/volcano"),
        (program("batch/s", "volcanosh/vc-scheduler:v1.10.0"), "volcano-system/volcano"),
        (program(SCHEDULER, "volcanosh/vc-scheduler:v1", "--leader-elect=false"), ""),
        (
            program("b/s", "volcanosh/vc-scheduler:v1", "--lock-object-namespace=b", "--leader-elect-resource-name=x"),
            "b/x",
        ),
        (program("a/b", "volcanosh/vc-controller-manager:v1"), "volcano-system/vc-controller-manager"),
        (program("kubeflow/training-operator", "kubeflow/training-operator:v1-8f"), ""),
        (
            program("kubeflow/training-operator", "kubeflow/training-operator:v1-8f", "--leader-elect"),
            "kubeflow/1ca428e5.training-operator.kubeflow.org",
        ),
        (program("a/b", "kubeflow/trainer/trainer-controller-manager:v2.2.0"), "a/trainer.kubeflow.org"),
        (program("a/b", "nginx"), ""),
    ],
)
def test_the_lease_is_the_one_that_the_arguments_name(obj: Object, wanted: str) -> None:
    asked: list[Ref] = []
    cluster: Any = type("C", (), {"get": lambda _, ref: asked.append(ref)})()
    assert leases_of(cluster, [obj]) == {}
    assert [f"{ref.namespace}/{ref.name}" for ref in asked] == ([wanted] if wanted else [])


@pytest.mark.parametrize(
    ("found", "gone"),
    [
        (lease("other_1"), True),
        (lease("other_1", age=5), False),
        (lease("other_1", seconds=15), False),
        (lease("lives_1"), False),
        (lease(""), False),
    ],
    ids=["gone", "renewed just now", "expired", "its pod runs", "free"],
)
def test_a_holder_is_gone_if_it_renews_no_more_and_no_pod_has_its_name(found: Object, *, gone: bool) -> None:
    known = facts(pod("volcano-system/lives", owner="volcano-scheduler"), known={LEASES: {REF: found}})
    answer = abandoned(known, REF)
    assert (answer is not None) is gone
    if answer:
        assert answer.change == "kubectl -n volcano-system delete lease volcano"
        assert "other_1" in answer.found


def test_f1_names_the_holder_and_the_command_and_c2_follows_it() -> None:
    known = facts(
        deployment(SCHEDULER),
        workloads=(f"volcano Deployment {SCHEDULER}",),
        known={LEASES: {REF: lease("other_1")}},
    )
    outcome = volcano.components(known)
    assert (outcome.status, outcome.reason) == (Status.FAIL, "LeaseHeld")
    assert outcome.changes == ("kubectl -n volcano-system delete lease volcano",)
    assert workloads.deployments(known).because == ("F1",)
