"""Jobs whose gangs Kubernetes itself makes: what of the group and its pods keeps them waiting."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.catalog.gangs import KUBERNETES, VOLCANO
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.explain.rendering import document
from tests.samples.facts import deployment, instant
from tests.samples.jobs import explained, reasons

OF_VOLCANO = ("volcano-scheduler", "volcano-controllers", "volcano-scheduler-configmap", "default")
SAYS = "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"


def job(parallelism: int = 3) -> Object:
    meta = {"name": "train", "namespace": "team-a", "uid": "uid-train", "creationTimestamp": instant(60)}
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
    spec = {"parallelism": parallelism, "template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def group(minimum: int = 3, said: str = "", reason: str = "Unschedulable", **spec: Any) -> Object:
    meta = {"name": "g", "namespace": "team-a", "uid": "uid-g", "creationTimestamp": instant(60)}
    condition = {"type": KUBERNETES.placed, "status": "False", "reason": reason, "message": said}
    return {
        "apiVersion": KUBERNETES.api_version,
        "kind": "PodGroup",
        "metadata": meta,
        "spec": {**KUBERNETES.group_spec(minimum), **spec},
        "status": {"conditions": [condition]} if said else {},
    }


def pod(index: int, *, node: str = "", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"train-{index}",
            "namespace": "team-a",
            "uid": f"uid-train-{index}",
            "creationTimestamp": instant(60),
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-train", "controller": True}
            ],
        },
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}],
            **KUBERNETES.marks("g")["spec"],
            **({"nodeName": node} if node else {}),
            **spec,
        },
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        if node
        else {"phase": "Pending"},
    }


def told(*objects: Object, of: Object | None = None) -> list[str]:
    return reasons(explained(of or job(), *objects, without=OF_VOLCANO))


def test_what_the_scheduler_says_is_the_answer_where_nothing_else_is_known() -> None:
    found = explained(job(), group(said=SAYS), *(pod(i) for i in range(3)), without=OF_VOLCANO)
    assert reasons(found) == ["GangWaits"]
    assert SAYS in found.findings[0].problem.found
    gang = document(found)["gang"]
    assert (gang["pod_group"], gang["phase"], gang["min_member"], gang["queue"]) == ("g", "Unschedulable", 3, "")


def test_a_group_that_nobody_has_looked_at_is_the_schedulers() -> None:
    assert told(group(), *(pod(i) for i in range(3))) == ["SchedulerSilent"]


def test_pods_wait_for_a_group_that_is_missing_and_for_each_other() -> None:
    assert told(pod(0), pod(1), pod(2)) == ["PodGroupMissing"]
    assert told(group(), pod(0)) == ["NotEnoughPods"]


def test_pods_that_do_not_go_together_are_named() -> None:
    three = [pod(i, priority=7) for i in range(3)]
    assert told(group(said="x", reason="SchedulerError"), *three) == ["PodsDisagree"]
    assert told(group(said=SAYS, priority=7), *three) == ["GangWaits"]
    mixed = [pod(0), pod(1), pod(2, schedulerName="another")]
    assert told(group(said="x", reason="SchedulerError"), *mixed) == ["PodsDisagree"]
    theirs = [pod(i, schedulerName=VOLCANO.scheduler) for i in range(3)]
    assert "OtherScheduler" in told(group(), *theirs)


def test_pods_placed_one_by_one_show_a_scheduler_without_the_gate() -> None:
    assert told(group(), pod(0, node="n1"), pod(1, node="n1"), pod(2)) == ["GangOff"]


def test_groups_of_one_name_are_told_apart() -> None:
    volcanos = {**group(), "apiVersion": VOLCANO.api_version, "spec": {"minMember": 2}}
    volcanos["metadata"] = {**volcanos["metadata"], "uid": "uid-v"}
    native = group(said=SAYS)
    found = explained(job(), native, volcanos, *(pod(i) for i in range(3)))
    assert found.situation.group == native
    itself = explained(native, volcanos, *(pod(i) for i in range(3)))
    assert (itself.situation.group, len(itself.situation.pods)) == (native, 3)
    other = explained(volcanos, native, *(pod(i) for i in range(3)))
    assert (other.situation.group, other.situation.pods) == (volcanos, ())


def test_an_operator_beside_it_changes_nothing() -> None:
    operator = deployment("kubeflow/training-operator", containers=[{"name": "training-operator", "image": "x:y"}])
    assert told(group(said=SAYS), operator, *(pod(i) for i in range(3))) == ["GangWaits"]
