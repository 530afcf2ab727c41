"""PodGroups and queues of kube-batch as Volcano has them, on literal objects."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, new_object
from kubeflow_volcano.rollout.uninstall.legacy.translate import foreign_schedulers, translated

GROUP: Object = new_object(
    "scheduling.incubator.k8s.io/v1alpha1",
    "PodGroup",
    "job",
    "team",
    meta={"labels": {"a": "b"}, "uid": "1", "resourceVersion": "7"},
    spec={"minMember": 3, "queue": "q", "unknown": True},
    status={"phase": "Running"},
)


def pod(name: str = "a", group: str = "job", scheduler: str = "kube-batch", phase: str = "Pending") -> Object:
    meta = {"name": name, "namespace": "team", "annotations": {"scheduling.k8s.io/group-name": group}}
    return {"metadata": meta, "spec": {"schedulerName": scheduler}, "status": {"phase": phase}}


def test_a_podgroup_keeps_its_name_and_its_gang_and_loses_what_the_server_wrote() -> None:
    assert translated(GROUP) == new_object(
        "scheduling.volcano.sh/v1beta1",
        "PodGroup",
        "job",
        "team",
        meta={"labels": {"a": "b"}},
        spec={"minMember": 3, "queue": "q"},
    )


def test_a_queue_has_no_namespace_and_keeps_weight_and_capability() -> None:
    spec = {"weight": 2, "capability": {"cpu": "4"}}
    old = {"apiVersion": "scheduling.sigs.dev/v1alpha2", "kind": "Queue", "metadata": {"name": "q"}, "spec": spec}
    assert translated(old) == new_object("scheduling.volcano.sh/v1beta1", "Queue", "q", spec=spec)


def test_other_kinds_have_nothing_in_volcano() -> None:
    assert translated({"kind": "Lease", "metadata": {"name": "a"}}) is None


@pytest.mark.parametrize(
    ("member", "schedulers"),
    [
        (pod(scheduler="other"), {"other"}),
        (pod(), set()),
        (pod(group="another", scheduler="other"), set()),
        (pod(scheduler="other", phase="Succeeded"), set()),
    ],
)
def test_a_group_is_of_the_scheduler_of_its_unfinished_pods(member: dict[str, Any], schedulers: set[str]) -> None:
    assert foreign_schedulers(GROUP, [member], ("kube-batch", "volcano")) == schedulers
