"""Claims that a job's pods mount."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object
from tests.samples.facts import instant
from tests.samples.jobs import SPACE, event, explained, group, healthy, member, reasons, tfjob

MOUNTED = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


def storage(kind: str, name: str, api_version: str = "v1", **rest: Any) -> Object:
    meta: Object = {"name": name, "uid": f"uid-{name}", "creationTimestamp": instant(60)}
    if kind == "PersistentVolumeClaim":
        meta["namespace"] = SPACE
    return {"apiVersion": api_version, "kind": kind, "metadata": meta | rest.pop("metadata", {}), **rest}


def claim(phase: str, **spec: Any) -> Object:
    return storage("PersistentVolumeClaim", "data", spec=spec, status={"phase": phase})


def storage_class(mode: str, *, topologies: Sequence[Object] = (), **meta: Any) -> Object:
    return storage(
        "StorageClass",
        "fast",
        "storage.k8s.io/v1",
        metadata=meta,
        provisioner="example.com/disk",
        volumeBindingMode=mode,
        allowedTopologies=list(topologies),
    )


def answer(*around: Object) -> Any:
    job = tfjob(template=MOUNTED)
    return explained(job, group(job), *around)


def test_a_claim_that_does_not_exist() -> None:
    assert reasons(answer()) == ["ClaimMissing"]


def test_a_bound_claim_and_one_that_waits_for_its_pod_are_in_nobody_s_way() -> None:
    assert reasons(answer(claim("Bound"))) == ["Unexplained"]
    waits = storage_class("WaitForFirstConsumer")
    assert reasons(answer(claim("Pending", storageClassName="fast"), waits)) == ["Unexplained"]


def csi_node(*drivers: str) -> Object:
    spec = {"drivers": [{"name": name, "nodeID": "n1", "topologyKeys": None} for name in drivers]}
    return storage("CSINode", "n1", "storage.k8s.io/v1", spec=spec)


@pytest.mark.parametrize(
    ("around", "found"),
    [
        ([], ["ClaimCounted"]),
        ([csi_node("example.com/other")], ["ClaimCounted"]),
        ([csi_node("example.com/disk")], ["Unexplained"]),
    ],
)
def test_a_claim_that_volcano_counts_for_a_driver_of_no_node(around: list[Object], found: list[str]) -> None:
    pending, late = claim("Pending", storageClassName="fast"), storage_class("WaitForFirstConsumer")
    job = tfjob(template=MOUNTED, workers=1)
    pod = member(job, spec=MOUNTED)

    def told(*more: Object) -> Any:
        return explained(job, group(job, 1, phase="Inqueue"), pod, pending, late, *around, *more)

    assert reasons(told()) == found
    scheduler = next(item for item in healthy() if item["metadata"]["name"] == "volcano-scheduler")
    container = scheduler["spec"]["template"]["spec"]["containers"][0]
    container["args"] = [*container["args"], "--ignored-provisioners=example.com/disk"]
    assert reasons(told(scheduler)) == ["Unexplained"]
    container["args"].pop()
    container["image"] = "volcanosh/vc-scheduler:v1.8.0"
    assert reasons(told(scheduler)) == ["Unexplained"]


def test_topologies_of_a_class_are_held_against_the_labels_of_nodes() -> None:
    pending = claim("Pending", storageClassName="fast")
    hosts = [
        {"matchLabelExpressions": [{"key": "kubernetes.io/hostname", "values": [name]}]} for name in ("gone", "n2")
    ]
    away = answer(pending, storage_class("WaitForFirstConsumer", topologies=hosts[:1]))
    assert reasons(away) == ["NoNodeOfTopology"]
    assert reasons(answer(pending, storage_class("WaitForFirstConsumer", topologies=hosts))) == ["Unexplained"]


def test_a_volume_that_exists_needs_no_topology_of_its_class() -> None:
    terms = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
    around = claim("Pending", storageClassName="fast"), storage_class("WaitForFirstConsumer", topologies=terms)
    assert reasons(answer(*around)) == ["NoNodeOfTopology"]
    volume = storage("PersistentVolume", "v", spec={"storageClassName": "fast"}, status={"phase": "Available"})
    assert reasons(answer(*around, volume)) == ["Unexplained"]


def test_the_annotation_of_old_claims_names_their_class() -> None:
    old = claim("Pending")
    old["metadata"]["annotations"] = {"volume.beta.kubernetes.io/storage-class": "fast"}
    assert reasons(answer(old, storage_class("WaitForFirstConsumer"))) == ["Unexplained"]
    assert reasons(answer(old)) == ["ClassMissing"]


def test_a_claim_that_nobody_binds_is_told_with_what_the_provisioner_said() -> None:
    pending = claim("Pending", storageClassName="fast")
    said = event(pending, "ProvisioningFailed", "quota of disks exceeded.")
    found = answer(pending, storage_class("Immediate"), said)
    assert reasons(found) == ["ClaimUnbound"]
    assert f"Pending: {said['message']}" in found.findings[0].problem.found


def test_a_claim_of_a_class_that_does_not_exist() -> None:
    found = answer(claim("Pending", storageClassName="slow"), storage_class("Immediate"))
    assert reasons(found) == ["ClassMissing"]
    assert "there are fast" in found.findings[0].problem.needed


def test_a_claim_without_a_class_needs_a_default_one() -> None:
    assert reasons(answer(claim("Pending"), storage_class("Immediate"))) == ["NoDefaultClass"]
    marked = storage_class("Immediate", annotations={"storageclass.kubernetes.io/is-default-class": "true"})
    assert reasons(answer(claim("Pending"), marked)) == ["ClaimUnbound"]


def test_a_claim_that_lost_its_volume() -> None:
    assert reasons(answer(claim("Lost", volumeName="v"))) == ["ClaimLost"]


def test_a_volume_of_one_node_holds_the_pods_there() -> None:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n9"]}]}]
    volume = storage("PersistentVolume", "v", spec={"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}})
    found = answer(claim("Bound", volumeName="v"), volume)
    assert reasons(found) == ["NoNodeFitsVolume"]
    assert "claim data" in found.findings[0].details[0]


def test_pods_that_share_a_claim_which_is_not_bound_start_on_one_node_or_not_at_all() -> None:
    """Volcano places them in one session, in which the first one fixes the node of the claim."""
    around = claim("Pending", storageClassName="fast"), storage_class("WaitForFirstConsumer")

    def told(workers: int, *more: Object) -> Any:
        job = tfjob(workers=workers, template=MOUNTED)
        return explained(job, group(job, workers), *around, *more)

    assert reasons(told(4)) == ["Unexplained"]
    (found,) = told(5).findings
    assert found.reason == "GangNeverFits"
    assert "4 of the 5" in found.problem.found
    assert "unbound claim data" in found.problem.found
    assert found.problem.todo.startswith("use a claim")
    other = tfjob("other")
    (waits,) = told(4, group(other, phase="Running"), *(member(other, n, on=f"n{n + 1}") for n in range(2))).findings
    assert waits.reason == "GangDoesNotFit"
    assert re.match("wait .* claim", waits.problem.todo)
    job = tfjob(workers=5, template=MOUNTED)
    alone = explained(job, *around, *(member(job, n, spec=MOUNTED) for n in range(5)))
    assert {"PodsDoNotFit", "PodsNeverFit"}.isdisjoint(reasons(alone)), "the claim is bound with the first pod"
    bound = claim("Bound", storageClassName="fast", volumeName="pv")
    job = tfjob(workers=5, template=MOUNTED)
    assert reasons(explained(job, group(job, 5), bound, around[1])) == ["Unexplained"]


def test_roles_that_share_a_claim_go_to_one_node_together() -> None:
    job = tfjob(workers=3, template=MOUNTED)
    replicas = job["spec"]["tfReplicaSpecs"]
    replicas["PS"] = {**replicas["Worker"], "replicas": 2}
    around = claim("Pending", storageClassName="fast"), storage_class("WaitForFirstConsumer")
    (found,) = explained(job, group(job, 5), *around).findings
    assert found.reason == "GangNeverFits"
    assert "for 4 once" in found.problem.found
