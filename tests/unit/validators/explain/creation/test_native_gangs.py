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


def test_a_group_that_is_being_deleted_still_holds_its_pods_and_that_is_said() -> None:
    made = group(said=SAYS)
    made["metadata"] |= {"deletionTimestamp": instant(5), "finalizers": ["scheduling.k8s.io/podgroup-protection"]}
    found = explained(job(), made, *(pod(i) for i in range(3)), without=OF_VOLCANO)
    assert {item.reason: item.blocks for item in found.findings} == {"BeingDeleted": False, "GangWaits": True}


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


def of_volcano(index: int, group_name: str, **spec: Any) -> Object:
    """A pod that names a PodGroup of each scheduler, as Volcano's controller or a training operator annotates it."""
    made = pod(index, **spec)
    return {**made, "metadata": {**made["metadata"], "annotations": {VOLCANO.mark[-1]: group_name}}}


def owned_by_job(made: Object, name: str, least: int) -> Object:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-train", "controller": True}
    meta = {**made["metadata"], "name": name, "uid": f"uid-{name}", "ownerReferences": [owner]}
    return {"apiVersion": VOLCANO.api_version, "kind": "PodGroup", "metadata": meta, "spec": {"minMember": least}}


def test_volcano_places_pods_of_a_group_that_it_does_not_read_and_that_is_said_of_both() -> None:
    """Its controller gave each pod to a PodGroup for single pods, so that the job runs in part."""
    single = owned_by_job(group(), "podgroup-uid-train", 1)
    pods = [
        of_volcano(i, "podgroup-uid-train", node="n1" if i else "", schedulerName=VOLCANO.scheduler) for i in range(3)
    ]
    found = explained(job(), group(), single, *pods)
    assert "OtherScheduler" in {item.reason for item in found.findings}
    itself = explained(group(), single, *pods)
    assert len(itself.situation.pods) == 3
    assert reasons(itself) == ["OtherScheduler"]


def test_the_group_of_the_scheduler_that_places_the_pods_counts_before_one_that_the_job_owns() -> None:
    """An operator that is wired to Volcano makes a PodGroup for a job whose pods leave it to Kubernetes."""
    native = group(said=SAYS)
    made = owned_by_job(group(), "train", 3)
    found = explained(
        job(), native, made, *(of_volcano(i, "train", schedulerName="default-scheduler") for i in range(3))
    )
    assert found.situation.group == native


def test_numbers_have_the_names_of_their_scheduler() -> None:
    three = [pod(i, containers=[{"name": "main", "resources": {"requests": {"cpu": "3"}}}]) for i in range(3)]
    found = explained(job(), group(said=SAYS), *three)
    texts = " ".join(f"{item.problem.needed} {item.problem.todo}" for item in found.findings)
    assert "min" in texts
    assert not {"minMember", "minAvailable"} & {word.strip(".:,") for word in texts.split()}


def test_an_operator_beside_it_changes_nothing() -> None:
    operator = deployment("kubeflow/training-operator", containers=[{"name": "training-operator", "image": "x:y"}])
    assert told(group(said=SAYS), operator, *(pod(i) for i in range(3))) == ["GangWaits"]


def test_a_podgroup_of_pods_that_are_placed_one_by_one_is_no_gang() -> None:
    """The gate WorkloadWithJob makes one with the policy basic for each Job that asks for no gang."""
    basic = group() | {"spec": {"schedulingPolicy": {"basic": {}}}}
    pods = [pod(0, node="n1"), pod(1, node="n1"), pod(2)]
    pods[2]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
    found = explained(job(), basic, *pods, without=OF_VOLCANO)
    assert (found.situation.minimum, found.situation.unscheduled) == (3, 1)
    assert reasons(found) == ["NoNodeFitsNever"]
    early = explained(job(), basic, pods[0], without=OF_VOLCANO)
    assert "NotEnoughPods" not in reasons(early)
