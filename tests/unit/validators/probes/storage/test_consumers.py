"""Who is tried on which volume, and what is left out for which reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.users import ImageUser, keep_user
from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.catalog.shipped import shipped_claims
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.probes.storage import claims
from kubeflow_volcano.validators.probes.storage.consumers import MOST_DIRECTORIES, targets
from kubeflow_volcano.validators.probes.storage.identities import Identity
from kubeflow_volcano.validators.probes.storage.writing import Target
from tests.samples.facts import deployment, facts, node, obj, pod

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
DB = Ref("apps/v1", "Deployment", "ns", "db")


def storage_class(name: str = "local-path", provisioner: str = "rancher.io/local-path", **meta: Any) -> Object:
    return obj("StorageClass", name, metadata={"annotations": DEFAULT, **meta}, provisioner=provisioner)


def claim(name: str = "data", volume: str = "pv", storage: str | None = "local-path", **spec: Any) -> Object:
    body = {"accessModes": ["ReadWriteOnce"], "volumeName": volume, "storageClassName": storage} | spec
    return obj("PersistentVolumeClaim", f"ns/{name}", spec=body, status={"phase": "Bound"})


def volume(name: str = "pv", path: str = "/opt/pv", **spec: Any) -> Object:
    return obj("PersistentVolume", name, spec={"hostPath": {"path": path}} | spec, status={"phase": "Bound"})


def consumer(
    name: str = "ns/db-1", claim_name: str = "data", mount: Any = None, status: Any = None, **security: Any
) -> Object:
    mounts = [{"name": "d", "mountPath": "/data", **(mount or {})}]
    spec = {
        "nodeName": "n1",
        "securityContext": {"runAsUser": 999} | security,
        "containers": [{"name": "main", "volumeMounts": mounts}],
        "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": claim_name}}],
    }
    return pod(name, owner="db", spec=spec, **({"status": status} if status else {}))


def test_a_consumer_is_tried_on_a_new_volume_and_in_its_own_directory() -> None:
    chosen, skipped = targets(facts(storage_class(), claim(), volume(), consumer(), node()))
    assert chosen == (
        Target(Identity(user=999), (DB,), storage_class="local-path"),
        Target(Identity(user=999), (DB,), volume="pv", path="/opt/pv", node="n1"),
    )
    assert skipped == ()


def test_the_same_identity_is_tried_once() -> None:
    chosen, _ = targets(facts(storage_class(), claim(), volume(), consumer(), consumer("ns/db-2"), node()))
    assert len(chosen) == 2


def test_the_part_that_is_mounted_is_the_directory() -> None:
    chosen, _ = targets(facts(storage_class(), claim(), volume(), consumer(mount={"subPath": "minio"}), node()))
    assert chosen[1].path == "/opt/pv/minio"


def test_a_volume_of_another_kind_is_left_out_with_that_reason() -> None:
    csi = volume(hostPath=None, csi={"driver": "x"})
    chosen, skipped = targets(facts(storage_class(), claim(), csi, consumer(), node()))
    assert [item.existing for item in chosen] == [False]
    assert "own claim" in skipped[0].reason


def test_a_local_volume_is_a_directory_too() -> None:
    chosen, _ = targets(facts(storage_class(), claim(), volume(hostPath=None, local={"path": "/mnt/x"}), consumer()))
    assert chosen[1].path == "/mnt/x"


def test_a_block_device_is_left_out() -> None:
    chosen, skipped = targets(facts(storage_class(), claim(volumeMode="Block"), volume(), consumer(), node()))
    assert all(item.consumers == () for item in chosen)
    assert ["block device" in item.reason for item in skipped] == [True]


def test_a_pod_that_failed_to_write_is_a_consumer() -> None:
    chosen, _ = targets(facts(storage_class(), claim(), volume(), consumer(status={"phase": "Failed"}), node()))
    assert chosen[1].path == "/opt/pv"


def test_a_consumer_on_a_simulated_node_is_skipped_with_that_reason() -> None:
    fake = node(metadata={"annotations": {"kwok.x-k8s.io/node": "fake"}})
    chosen, skipped = targets(facts(storage_class(), claim(), volume(), consumer(), fake))
    assert [item.existing for item in chosen] == [False]
    assert "simulated node n1" in skipped[0].reason
    assert skipped[0].consumer == DB


@pytest.mark.parametrize(
    "idle",
    [
        consumer(mount={"readOnly": True}),
        consumer(status={"phase": "Succeeded"}),
        consumer(status={"phase": "Failed", "reason": "Evicted"}),
    ],
    ids=["reads only", "has ended", "was evicted"],
)
def test_who_does_not_write_is_not_tried(idle: Object) -> None:
    chosen, _ = targets(facts(storage_class(), claim(), volume(), idle, node()))
    assert all(item.consumers == () for item in chosen)


def test_without_consumers_the_catalogs_identities_are_tried_on_the_default_class() -> None:
    chosen, _ = targets(facts(storage_class(), node()))
    assert {item.storage_class for item in chosen} == {"local-path"}
    assert {item.identity.user for item in chosen} == {item.run_as_user for item in shipped_claims()}
    assert 999 in {item.identity.user for item in chosen}


def test_without_consumers_and_without_a_default_class_there_is_nothing_to_try() -> None:
    assert targets(facts(storage_class(annotations={}), node())) == ((), ())


def test_without_a_provisioner_that_runs_no_volume_is_waited_for() -> None:
    idle = deployment("local-path-storage/local-path-provisioner", replicas=0)
    expected = Expectations(workloads={Ref.of(idle): "local-path"})
    chosen, skipped = targets(facts(storage_class(), idle, node(), expected=expected))
    assert chosen == ()
    assert "no pod" in skipped[0].reason


def test_the_catalog_knows_whom_an_image_runs_as() -> None:
    known = Claim("ns", "data", "1Gi", DB, 111, 112, 113)
    bare = consumer()
    bare["spec"]["securityContext"] = {}
    chosen, _ = targets(facts(storage_class(), claim(), bare, node(), expected=Expectations(claims=(known,))))
    assert chosen[0].identity == Identity(user=111, group=112, fs_group=113)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize(
    ("user", "architecture", "own", "right"),
    [
        ("999:998", "amd64", {}, Identity(user=999, group=998, fs_group=5)),
        ("999:998", "amd64", {"runAsUser": 7}, Identity(user=7, fs_group=5)),
        ("999", "amd64", {"runAsNonRoot": True}, Identity(user=999, fs_group=5)),
        ("", "amd64", {}, Identity(user=0, fs_group=5)),
        ("mysql", "amd64", {}, Identity(fs_group=5)),
        ("999", "arm64", {}, Identity(fs_group=5)),
    ],
    ids=["numbers", "the pod says it", "not root", "root", "a name", "another architecture"],
)
def test_the_user_of_the_image_that_runs_is_known_from_a_roll_out(
    user: str, architecture: str, own: dict[str, Any], right: Identity
) -> None:
    digest = f"sha256:{'a' * 64}"
    keep_user(cache_directory(), ["registry.example/db:1"], ImageUser(user, digest), ["amd64"])
    status = {"phase": "Running", "containerStatuses": [{"name": "main", "imageID": f"mirror.example/db@{digest}"}]}
    bare = consumer(status=status)
    bare["spec"]["securityContext"] = {"fsGroup": 5, **own}
    place = node()
    place["status"]["nodeInfo"] = {"architecture": architecture}
    chosen, _ = targets(facts(storage_class(), claim(), volume(), bare, place))
    assert {item.identity for item in chosen} == {right}
    status["containerStatuses"][0]["imageID"] = f"mirror.example/db@sha256:{'b' * 64}"  # type: ignore[index]
    others, _ = targets(facts(storage_class(), claim(), volume(), bare, place))
    assert {item.identity.user for item in others if item.consumers} <= {own.get("runAsUser")}


def test_an_image_whose_user_is_unknown_is_skipped() -> None:
    hidden = consumer(runAsNonRoot=True)
    del hidden["spec"]["securityContext"]["runAsUser"]
    _, skipped = targets(facts(storage_class(), claim(), volume(), hidden, node()))
    assert " image " in skipped[0].reason


def test_a_pod_that_is_not_placed_is_tried_where_its_volume_is() -> None:
    waiting = consumer()
    del waiting["spec"]["nodeName"]
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n7"]}]}
    affinity: Any = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    chosen, _ = targets(facts(storage_class(), claim(), volume(**affinity), waiting, node()))
    assert chosen[1].node == "n7"
    _, skipped = targets(facts(storage_class(), claim(), volume(), waiting, node()))
    assert "no node" in skipped[0].reason


def test_directories_beyond_one_runs_limit_are_named() -> None:
    many = [
        item
        for i in range(MOST_DIRECTORIES + 2)
        for item in (claim(f"c{i}", f"pv{i}"), volume(f"pv{i}", f"/opt/{i}"), consumer(f"ns/p{i}", f"c{i}"))
    ]
    chosen, skipped = targets(facts(storage_class(), *many, node()))
    assert sum(item.existing for item in chosen) == MOST_DIRECTORIES
    assert [item.beyond for item in skipped] == [True, True]


@pytest.mark.parametrize(
    ("name", "objects", "why"),
    [
        ("", (), "names no class"),
        ("gone", (), "does not exist"),
        ("manual", (storage_class("manual", "kubernetes.io/no-provisioner"),), "no provisioner"),
        (
            "local-path",
            (
                storage_class(),
                obj(
                    "PersistentVolume", "spare", spec={"storageClassName": "local-path"}, status={"phase": "Available"}
                ),
            ),
            "PersistentVolume spare of class local-path is free",
        ),
    ],
)
def test_a_claim_that_could_take_somebodys_volume_is_not_made(name: str, objects: Any, why: str) -> None:
    assert why in claims.unsafe(name, facts(*objects))


def test_a_class_that_provisions_is_safe() -> None:
    taken = obj(
        "PersistentVolume",
        "reserved",
        spec={"storageClassName": "local-path", "claimRef": {}},
        status={"phase": "Bound"},
    )
    assert claims.unsafe("local-path", facts(storage_class(), taken)) == ""
