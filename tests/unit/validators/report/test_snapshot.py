"""What of the cluster stands in every report: nodes with their pods, storage, images; and what was not read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES, DEVICES, SLICES
from kubeflow_volcano.validators.report.snapshot import snapshot
from kubeflow_volcano.validators.report.summary import gpus
from tests.samples.facts import facts, node, obj, pod, ref

SIMULATED = {"annotations": {"kwok.x-k8s.io/node": "fake"}}
NOT_READY = {"conditions": [{"type": "Ready", "status": "False"}]}


def waiting(name: str, **rest: Any) -> Object:
    return pod(name, status={"phase": "Pending", "conditions": []}, **rest)


def test_pods_are_counted_by_node_and_namespace() -> None:
    seen = snapshot(facts(node("n1"), node("n2"), pod("a/one"), pod("a/two"), pod("b/three"), waiting("b/four")))
    by_name = {item["name"]: item["pods"] for item in seen["nodes"]}
    assert by_name == {
        "n1": [{"namespace": "a", "well": 2, "unwell": 0}, {"namespace": "b", "well": 1, "unwell": 1}],
        "n2": [],
    }


def test_a_pod_that_has_run_to_its_end_is_well() -> None:
    seen = snapshot(facts(node("n1"), pod("a/done", status={"phase": "Succeeded"})))
    assert seen["nodes"][0]["pods"] == [{"namespace": "a", "well": 1, "unwell": 0}]


def test_a_pod_without_a_node_is_told_apart() -> None:
    seen = snapshot(facts(node(), waiting("a/one", spec={"containers": []})))
    assert seen["unplaced"] == [{"namespace": "a", "well": 0, "unwell": 1}]
    assert seen["nodes"][0]["pods"] == []


def test_nodes_that_are_not_well_come_first_and_what_is_simulated_is_told() -> None:
    seen = snapshot(
        facts(
            node("a", metadata=SIMULATED),
            node("b", spec={"unschedulable": True}),
            node("c", status=NOT_READY),
        )
    )
    told = [(item["name"], item["ready"], item["cordoned"], item["simulated"]) for item in seen["nodes"]]
    assert told == [("c", False, False, False), ("b", True, True, False), ("a", True, False, True)]


def test_what_was_not_read_is_null_and_not_empty() -> None:
    why = Unread("Forbidden", "may not", "grant it")
    seen = snapshot(facts(node(), unread={"pods": why, "storageclasses.storage.k8s.io": why}))
    assert (seen["images"], seen["unplaced"], seen["classes"]) == (None, None, None)
    assert seen["nodes"][0]["pods"] is None
    assert seen["claims"] == []
    assert snapshot(None)["nodes"] is None


def test_requests_of_pods_that_were_not_read_are_not_zero() -> None:
    gpu = node(
        "n1", status={"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"nvidia.com/gpu": "4"}}
    )
    known = facts(gpu)
    read = {name: items for name, items in known.objects.items() if name != "pods"}
    seen = snapshot(replace(known, objects=read))
    assert [item["requested"] for item in (*seen["nodes"][0]["accelerators"], *seen["accelerators"])] == [None, None]
    document = {"snapshot": seen}
    assert gpus(document) == "nvidia.com/gpu: 4 on 1 node, pods not read"


def test_of_many_rows_some_hundred_are_kept_and_the_rest_is_counted() -> None:
    seen = snapshot(facts(*(node(f"n{number:04}") for number in range(250)), node("bad", status=NOT_READY)))
    assert (len(seen["nodes"]), seen["left_out"]["nodes"]) == (200, 51)
    assert seen["nodes"][0]["name"] == "bad"


def test_gpus_are_counted_by_node_and_kind_and_ended_pods_use_none() -> None:
    def gpu_node(name: str, **more: Any) -> Object:
        status = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "8", "nvidia.com/gpu": "4"},
        }
        return node(name, status=status, **more)

    def user(name: str, **rest: Any) -> Object:
        limits = {"resources": {"limits": {"nvidia.com/gpu": "3", "cpu": "1"}}}
        return pod(name, spec={"nodeName": "g1", "containers": [{"name": "main", "image": "i", **limits}]}, **rest)

    ended = user("a/ended", status={"phase": "Succeeded"})
    npu = node("n1", status={"allocatable": {"cpu": "2", "huawei.com/Ascend910": "8"}})
    seen = snapshot(facts(gpu_node("g1"), gpu_node("g2", metadata=SIMULATED), npu, user("a/one"), ended))
    rows = {
        item["name"]: [(row["resource"], row["requested"]) for row in item["accelerators"]] for item in seen["nodes"]
    }
    assert rows == {
        "g1": [("nvidia.com/gpu", 3)],
        "g2": [("nvidia.com/gpu", 0)],
        "n1": [("huawei.com/Ascend910", 0)],
    }
    npus, gpus = seen["accelerators"]
    assert npus["allocatable"] == 8
    assert (gpus["nodes"], gpus["simulated"], gpus["allocatable"], gpus["requested"]) == (2, 1, 8, 3)
    assert snapshot(None)["accelerators"] is None


def test_storage_is_told_by_class_and_claim() -> None:
    default = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    seen = snapshot(
        facts(
            obj("StorageClass", "slow", provisioner="x", reclaimPolicy="Delete", volumeBindingMode="Immediate"),
            obj("StorageClass", "zfast", metadata=default, provisioner="y"),
            obj(
                "PersistentVolumeClaim",
                "a/data",
                spec={
                    "storageClassName": "slow",
                    "volumeName": "pv1",
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "10Gi"}},
                },
                status={"phase": "Bound"},
            ),
            obj("PersistentVolumeClaim", "b/data", spec={"storageClassName": "slow"}, status={"phase": "Pending"}),
        )
    )
    assert [(item["name"], item["default"], item["claims"]) for item in seen["classes"]] == [
        ("zfast", True, 0),
        ("slow", False, 2),
    ]
    assert [(item["namespace"], item["phase"]) for item in seen["claims"]] == [("b", "Pending"), ("a", "Bound")]
    assert (seen["claims"][1]["asked"], seen["claims"][1]["modes"]) == ("10Gi", ["ReadWriteOnce"])


def test_images_are_told_with_the_digest_that_the_node_took() -> None:
    running = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "main", "ready": True, "imageID": "docker.io/library/x@sha256:abc"}],
    }
    seen = snapshot(facts(pod("a/one", status=running), pod("b/two"), waiting("b/three")))
    (row,) = seen["images"]
    assert (row["image"], row["pods"], row["unwell"]) == ("example/image:v1", 3, 1)
    assert (row["namespaces"], row["digests"]) == (["a", "b"], ["sha256:abc"])
    assert (row["planned"], row["as_planned"]) == ([], None)


def test_images_stand_beside_what_is_planned_for_their_containers_and_others_come_first() -> None:
    planned = {
        (ref("Deployment", "kubeflow/a"), "main"): "docker.io/example/image:v1",
        (ref("Deployment", "kubeflow/b"), "main"): "docker.io/example/other:v2",
    }
    other = pod("kubeflow/b-1", owner="b", spec={"containers": [{"name": "main", "image": "example/other:v1"}]})
    seen = snapshot(facts(pod("kubeflow/a-1", owner="a"), other, expected=Expectations(images=planned)))
    assert [(row["image"], row["planned"], row["as_planned"]) for row in seen["images"]] == [
        ("example/other:v1", ["docker.io/example/other:v2"], False),
        ("example/image:v1", ["docker.io/example/image:v1"], True),
    ]


def test_devices_of_claims_are_counted_by_driver_where_they_were_read() -> None:
    def slice_of(name: str, node: str, generation: int, *devices: str) -> Object:
        pool = {"name": name, "generation": generation}
        where = {"nodeName": node} if node else {"allNodes": True}
        spec = {"driver": "gpu.example.com", "pool": pool, **where, "devices": [{"name": item} for item in devices]}
        return {"metadata": {"name": f"{name}-{generation}"}, "spec": spec}

    def result(device: str, **more: Any) -> Object:
        return {"driver": "gpu.example.com", "pool": "a", "device": device, **more}

    def claim(*results: Object) -> Object:
        return {"metadata": {"name": "c"}, "status": {"allocation": {"devices": {"results": list(results)}}}}

    expression = "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].type == 'gpu'"
    chosen = {"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}
    read = {
        SLICES: (slice_of("a", "n1", 1, "old"), slice_of("a", "n1", 2, "0", "1", "2"), slice_of("b", "", 1, "0")),
        CLAIMS: (claim(result("0"), result("1", shareID="x")), claim(result("1", shareID="y")), claim(), {}),
        CLASSES: (chosen,),
    }
    (row,) = snapshot(facts(node("n1", metadata=SIMULATED), known={DEVICES: read}))["accelerators"]
    assert row == {
        "resource": "devices of gpu.example.com",
        "model": "gpu",
        "nodes": 1,
        "simulated": 1,
        "allocatable": 4,
        "requested": 2,
    }
    unknown: tuple[Any, ...] = ({}, Unread("Forbidden", "may not", "grant it"))
    for found in unknown:
        assert snapshot(facts(node("n1"), known={DEVICES: found}))["accelerators"] == []
    assert snapshot(facts(node("n1")))["accelerators"] == []
