"""Jobs that wait, each for another reason, all at the same time: the remedy is applied, and the job starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import pytest

from kubeflow_volcano.catalog.images.probes import BUSYBOX, PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.explain.model import State
from tests.integration.breaking import made, space
from tests.integration.explaining import LITTLE, SIMULATED, Jobs, job
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

QUEUES = "scheduling.volcano.sh/v1beta1"
NOTHING: Object = {"resources": {}}
HALF_A_CPU = {"resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "500m"}}}
LARGE = {"resources": {"requests": {"cpu": "12"}}}
WIDE = {"resources": {"requests": {"cpu": "900m"}}}


class Place(NamedTuple):
    """The namespaces of the jobs: without any rule, with a quota, with a LimitRange, with Pod Security."""

    plain: Jobs
    quota: Jobs
    limits: Jobs
    secure: Jobs

    @property
    def name(self) -> str:
        """What is unique to this run, for objects outside of namespaces."""
        return self.plain.namespace


def volume(claim: str) -> Object:
    return {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]}


def claim(name: str, **spec: Any) -> Object:
    whole = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Mi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": whole}


def elsewhere(place: str, container: Object = LITTLE) -> Object:
    """A gang of two roles for a node with a label that no node has."""
    return job("elsewhere", {"Master": 1, "Worker": 1}, container, nodeSelector={label(place): "a"})


def label(place: str) -> str:
    return f"example.org/{place}"


def partly(container: Object) -> Object:
    """A gang of which the chief alone finds a node, where it ends at once; the container is that of its worker."""
    gang = job("partly", {"Chief": 1}, {**LITTLE, "image": BUSYBOX, "command": ["true"]}, "TFJob")
    other = worker("partly", container, nodeSelector={"example.org/no": "where"})
    gang["spec"]["tfReplicaSpecs"] |= other["spec"]["tfReplicaSpecs"]
    return gang


def of_queue(queue: str) -> Object:
    pod = {"tolerations": SIMULATED, "containers": [{"name": "c", "image": PAUSE, **HALF_A_CPU}]}
    spec = {"minAvailable": 2, "queue": queue, "tasks": [{"name": "w", "replicas": 2, "template": {"spec": pod}}]}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "queued"}, "spec": spec}


def worker(name: str, container: Object = LITTLE, replicas: int = 1, **spec: Any) -> Object:
    return job(name, {"Worker": replicas}, container, "TFJob", **spec)


@pytest.fixture(scope="module")
def place(cluster: Cluster) -> Iterator[Place]:
    """All jobs, created at once; nothing of them afterwards."""
    with ExitStack() as stack:
        secure = {"pod-security.kubernetes.io/enforce": "restricted"}
        names = [stack.enter_context(space(cluster, **labels)) for labels in ({}, {}, {}, secure)]
        where = Place(*(Jobs(cluster, name) for name in names))
        stack.enter_context(made(cluster, limit(where), quota(where)))
        stack.enter_context(open_queue(cluster, where.name))
        suspended = worker("suspended")
        suspended["spec"]["runPolicy"]["suspend"] = True
        for item in (
            worker("claim", **volume("data")),
            worker("ranked", priorityClassName=where.name),
            worker("account", serviceAccountName="robot"),
            worker("held", schedulingGates=[{"name": "example.org/held"}]),
            worker("stranger", schedulerName="nobody"),
            worker("image", {**LITTLE, "image": "registry.invalid/none:v1"}),
            worker("wide", WIDE, replicas=3),
            suspended,
            elsewhere(where.name),
            of_queue(where.name),
            partly(NOTHING),
            claim("shared"),
            worker("shared", LARGE, 3, tolerations=SIMULATED, **volume("shared")),
        ):
            where.plain.create(item)
        where.quota.create(worker("quota", replicas=2))
        where.limits.create(worker("limits", HALF_A_CPU))
        where.secure.create(worker("secure"))
        try:
            yield where
        finally:
            for other in where[1:]:  # they end while the jobs of the first one do
                if live := cluster.get(Ref("v1", "Namespace", "", other.namespace)):
                    cluster.delete(Ref.of(live), uid=live["metadata"]["uid"])
            where.plain.remove_all()


def limit(where: Place) -> Object:
    spec = {"limits": [{"type": "Container", "max": {"cpu": "100m"}}]}
    return new_object("v1", "LimitRange", "small", where.limits.namespace, spec=spec)


def quota(where: Place) -> Object:
    return new_object("v1", "ResourceQuota", "small", where.quota.namespace, spec={"hard": {"pods": "1"}})


@contextmanager
def open_queue(cluster: Cluster, name: str) -> Iterator[None]:
    """A queue with room for less than the gang; Volcano deletes only closed ones."""
    spec = {"weight": 1, "capability": {"cpu": "600m"}}
    ref = Ref(QUEUES, "Queue", "", name)
    item = cluster.create({"apiVersion": QUEUES, "kind": "Queue", "metadata": {"name": name}, "spec": spec})
    try:
        until(lambda: (cluster.get(ref) or {}).get("status", {}).get("state") == "Open")
        yield
    finally:
        path = cluster.resource(QUEUES, "Queue").path("", name) + "/status"
        shut = {"status": {"state": "Closed"}}
        cluster.request("PATCH", path, body=shut, content_type="application/merge-patch+json")
        cluster.delete(ref, uid=item["metadata"]["uid"])
        until(lambda: cluster.get(ref) is None)


def created_again(jobs: Jobs, name: str) -> None:
    """The cause is gone; the controller retries at once when the job changes, as the remedy says."""
    jobs.cluster.patch(jobs.ref(name), {"metadata": {"annotations": {"kfv.io/look-again": "now"}}})
    jobs.starts(name)


def test_the_scheduling_gate_is_removed(place: Place) -> None:
    found = place.plain.cause("held", "Gated")
    assert "example.org/held" in found.problem.found
    for pod in place.plain.of_job("held"):
        place.plain.cluster.patch(Ref.of(pod), {"spec": {"schedulingGates": []}})
    place.plain.starts("held")


def test_a_suspended_job_is_resumed(place: Place) -> None:
    found = place.plain.cause("suspended", "Suspended")
    assert "suspend" in found.problem.todo
    place.plain.cluster.patch(place.plain.ref("suspended"), {"spec": {"runPolicy": {"suspend": False}}})
    place.plain.starts("suspended")


def test_the_missing_claim_is_created(place: Place) -> None:
    found = place.plain.cause("claim", "ClaimMissing")
    assert found.problem.todo.startswith("create the claim")
    place.plain.create(claim("data", accessModes=["ReadWriteOnce"]))
    place.plain.starts("claim")


def test_pods_that_share_an_unbound_claim_get_one_with_a_volume_for_all_nodes(place: Place) -> None:
    """Three pods of 12 CPUs on nodes of 32: two fit on one node, which the unbound claim requires."""
    found = place.plain.cause("shared", "GangNeverFits")
    assert "claim shared" in found.problem.found
    assert found.problem.todo.startswith("use a claim")
    place.plain.stays("shared", 5)
    spec = {
        "accessModes": ["ReadWriteMany"],
        "capacity": {"storage": "1Mi"},
        "claimRef": {"namespace": place.name, "name": "everywhere"},
        "hostPath": {"path": "/tmp"},  # noqa: S108  its pods are simulated
        "storageClassName": "",
    }
    volume_of_all = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": place.name}, "spec": spec}
    with made(place.plain.cluster, volume_of_all):
        bound = claim("everywhere", storageClassName="", volumeName=place.name)
        made_claim = place.plain.create(bound)
        place.plain.again("shared", worker("shared", LARGE, 3, tolerations=SIMULATED, **volume("everywhere")))
        place.plain.delete("shared")
        place.plain.cluster.delete(Ref.of(made_claim), uid=made_claim["metadata"]["uid"])


def test_the_missing_priority_class_is_created(place: Place) -> None:
    found = place.plain.cause("ranked", "PriorityClassMissing")
    assert found.problem.todo.startswith("create it")
    entry = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": place.name}}
    with made(place.plain.cluster, {**entry, "value": 7}):
        created_again(place.plain, "ranked")


def test_the_missing_account_is_created(place: Place) -> None:
    found = place.plain.cause("account", "ServiceAccountMissing")
    assert found.problem.todo.startswith("create it")
    place.plain.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}})
    created_again(place.plain, "account")


def test_the_quota_is_raised(place: Place) -> None:
    found = place.quota.cause("quota", "QuotaTooSmall")
    assert "quota" in found.problem.todo
    place.quota.cluster.patch(Ref.of(quota(place)), {"spec": {"hard": {"pods": "2"}}})
    created_again(place.quota, "quota")


def test_the_limit_range_is_changed(place: Place) -> None:
    found = place.limits.cause("limits", "OutsideLimits")
    assert "LimitRange" in found.problem.todo
    place.limits.cluster.patch(Ref.of(limit(place)), {"spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}})
    created_again(place.limits, "limits")


def test_the_level_of_pod_security_is_lowered(place: Place) -> None:
    found = place.secure.cause("secure", "PodSecurity")
    assert "level" in found.problem.todo
    level = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "privileged"}}}
    place.secure.cluster.patch(Ref("v1", "Namespace", "", place.secure.namespace), level)
    created_again(place.secure, "secure")


def test_the_capability_of_the_queue_is_raised(place: Place) -> None:
    found = place.plain.cause("queued", "OverCapability")
    assert found.problem.todo.startswith("raise spec.capability")
    place.plain.cluster.patch(Ref(QUEUES, "Queue", "", place.name), {"spec": {"capability": {"cpu": "2"}}})
    place.plain.starts("queued")


def test_a_node_gets_the_label_and_both_roles_are_told_once(place: Place) -> None:
    found = place.plain.cause("elsewhere", "NoNodeFits")
    assert sorted(re.findall(r"1 pod of (\w+)", found.problem.found)) == ["master", "worker"]
    assert found.problem.todo.startswith("label a node")
    nodes = place.plain.cluster.list("v1", "Node").items
    ref = next(Ref.of(node) for node in nodes if not node["spec"].get("taints"))
    place.plain.cluster.patch(ref, {"metadata": {"labels": {label(place.name): "a"}}})
    try:
        place.plain.starts("elsewhere")
    finally:
        place.plain.cluster.patch(ref, {"metadata": {"labels": {label(place.name): None}}})


def test_nodes_with_room_and_a_taint_are_named_and_the_taint_is_tolerated(place: Place) -> None:
    found = place.plain.cause("wide", "GangNeverFits")
    assert found.problem.todo.startswith("tolerate the taint")
    assert any("has the taint kwok.x-k8s.io/node=fake:NoSchedule" in line for line in found.details)
    assert not [pod for pod in place.plain.of_job("wide") if pod["spec"].get("nodeName")]
    place.plain.again("wide", worker("wide", WIDE, replicas=3, tolerations=SIMULATED))


def test_the_scheduler_is_corrected(place: Place) -> None:
    found = place.plain.cause("stranger", "SchedulerUnknown")
    assert re.search("volcano.* recreate", found.problem.todo)
    place.plain.again("stranger", worker("stranger", schedulerName="volcano"))


def test_the_image_is_corrected(place: Place) -> None:
    found = place.plain.cause("image", "ImageMissing")
    assert found.problem.todo.startswith("correct the name")
    place.plain.again("image", worker("image"))


def test_a_gang_that_ran_in_part_for_lack_of_requests_is_told_so_and_with_them_it_does_not(place: Place) -> None:
    until(lambda: place.plain.explained("partly").state is State.SUCCEEDED, every=1)
    (found,) = place.plain.explained("partly").findings
    assert found.reason == "NotHeldTogether"
    assert re.search(r"\b1 pod .*never", found.problem.found)
    assert found.problem.todo.startswith("set requests")
    place.plain.delete("partly")
    place.plain.create(partly(LITTLE))
    place.plain.cause("partly", "NoNodeFits")
    place.plain.stays("partly", 5)
