"""Whose the directories of volumes are: the live pod first, its workload then, the catalog last; doubt is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.hosts.volumes.owners import READS, VolumeOwner, volume_owners
from kubeflow_volcano.hosts.volumes.table import rendered, rows

CATALOG = Claim("kubeflow", "mysql", "20Gi", Ref("apps/v1", "Deployment", "kubeflow", "mysql"), 999, 998, 997)


def volume(name: str = "pv-1", claim: str = "mysql", host: str = "host-1", **source: Any) -> Object:
    where = {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
    spec = source or {"hostPath": {"path": f"/data/{name}"}}
    return {
        "metadata": {"name": name},
        "spec": {
            **spec,
            "claimRef": {"namespace": "kubeflow", "name": claim},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}},
        },
    }


def claim(name: str = "mysql", bound_to: str = "pv-1") -> Object:
    return {"metadata": {"namespace": "kubeflow", "name": name}, "spec": {"volumeName": bound_to}}


def spec(mount: dict[str, Any] | None = None, pod: dict[str, Any] | None = None, **own: Any) -> dict[str, Any]:
    return {
        "securityContext": pod or {},
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "mysql"}}],
        "containers": [
            {"name": "proxy"},
            {"name": "main", "securityContext": own, "volumeMounts": [{"name": "data", **(mount or {})}]},
        ],
    }


def pod(name: str = "mysql-0", text: dict[str, Any] | None = None, **status: Any) -> Object:
    return {"metadata": {"namespace": "kubeflow", "name": name}, "spec": text or spec(runAsUser=5), "status": status}


def deployment(text: dict[str, Any]) -> Object:
    return {"metadata": {"namespace": "kubeflow", "name": "mysql"}, "spec": {"template": {"spec": text}}}


def owners(**objects: list[Object]) -> tuple[VolumeOwner, ...]:
    node = {"metadata": {"name": "node-1", "labels": {"kubernetes.io/hostname": "host-1"}}}
    given: dict[str, list[Object]] = {kind: [] for kind in READS}
    given |= {"Node": [node], "PersistentVolume": [volume()], "PersistentVolumeClaim": [claim()]}
    return volume_owners(given | objects, [CATALOG])


def one(**objects: list[Object]) -> VolumeOwner:
    (found,) = owners(**objects)
    return found


def test_a_live_pod_says_it_before_its_workload_and_the_catalog() -> None:
    found = one(Pod=[pod()], Deployment=[deployment(spec(runAsUser=6))])
    assert (found.uid, found.gids, found.consumer) == (5, (), "Pod kubeflow/mysql-0")
    assert (found.node, found.volume, found.path, found.claim) == ("node-1", "pv-1", "/data/pv-1", "kubeflow/mysql")


def test_the_workload_says_it_where_no_pod_runs() -> None:
    gone = [pod(phase="Failed"), {**pod("b"), "metadata": {**pod("b")["metadata"], "deletionTimestamp": "now"}}]
    found = one(Pod=gone, Deployment=[deployment(spec(runAsUser=6, runAsGroup=7))])
    assert (found.uid, found.gids, found.consumer) == (6, (7,), "Deployment kubeflow/mysql")


def test_the_catalog_says_it_where_nobody_mounts_the_claim() -> None:
    found = one()
    assert (found.uid, found.gids, found.needed) == (999, (998, 997), "999:998")
    assert found.consumer.startswith("Deployment kubeflow/mysql, ")


def test_the_kubelet_may_say_as_whom_the_image_runs() -> None:
    statuses = [{"name": "main", "user": {"linux": {"uid": 11, "gid": 12}}}]
    found = one(Pod=[pod(text=spec(), containerStatuses=statuses)])
    assert (found.uid, found.gids) == (11, (12,))


@pytest.mark.parametrize(
    ("user", "name", "uid", "reason"),
    [
        (27, "mysql-0", 27, ""),
        (0, "mysql-0", None, "is root"),
        (None, "mysql-0", None, "only the image"),
        (27, "backup-0", None, "only the image"),
    ],
)
def test_the_image_of_the_known_consumer_says_what_its_pod_does_not(
    monkeypatch: pytest.MonkeyPatch, user: int | None, name: str, uid: int | None, reason: str
) -> None:
    by_image = replace(CATALOG, run_as_user=user, run_as_group=None, fs_group=None, source="the image")
    monkeypatch.setitem(globals(), "CATALOG", by_image)
    found = one(Pod=[pod(name, spec())])
    assert found.uid == uid
    assert reason in found.reason
    assert one(Pod=[pod()]).uid == 5


def test_the_group_of_volumes_is_right_too() -> None:
    found = one(Pod=[pod(text=spec(pod={"fsGroup": 100, "runAsGroup": 0}, runAsUser=1000))])
    assert (found.uid, found.gids) == (1000, (0, 100))


def test_a_group_alone_is_enough() -> None:
    found = one(Pod=[pod(text=spec(pod={"fsGroup": 111}))])
    assert (found.uid, found.gids, found.needed, found.reason) == (None, (111,), ":111", "")


@pytest.mark.parametrize(
    ("pods", "reason"),
    [
        ([pod(text=spec(runAsUser=0))], "its consumer is root"),
        ([pod(text=spec())], "only the image defines the user"),
        ([pod(), pod("b", spec(runAsUser=6))], "different users"),
    ],
)
def test_what_nobody_can_know_is_not_judged(pods: list[Object], reason: str) -> None:
    found = one(Pod=pods)
    assert reason in found.reason
    assert (found.uid, found.gids) == (None, ())


def test_a_claim_of_others_that_nobody_mounts_is_not_judged() -> None:
    found = one(PersistentVolume=[volume(claim="own")], PersistentVolumeClaim=[claim("own")])
    assert "no pod" in found.reason


def test_readers_do_not_count() -> None:
    assert one(Pod=[pod(text=spec({"readOnly": True}, runAsUser=5))]).uid == 999


def test_a_part_is_looked_at_as_such() -> None:
    assert one(Pod=[pod(text=spec({"subPath": "minio"}, runAsUser=5))]).sub_path == "minio"


def test_parts_have_owners_of_their_own_and_the_whole_has_none_beside_them() -> None:
    found = owners(Pod=[pod(text=spec({"subPath": "a"}, runAsUser=5)), pod("b", spec(runAsUser=6))])
    assert {(item.sub_path, item.uid) for item in found} == {("a", 5), ("", None)}


@pytest.mark.parametrize(
    "objects",
    [
        {"PersistentVolume": [volume(nfs={"path": "/x"})]},
        {"PersistentVolumeClaim": [claim(bound_to="other")]},
        {"PersistentVolumeClaim": []},
    ],
)
def test_volumes_elsewhere_and_those_that_are_not_bound_are_nobodys(objects: dict[str, list[Object]]) -> None:
    assert owners(**objects) == ()


OWNER = VolumeOwner("node-1", "pv-1", "kubeflow/mysql", "/data/pv-1", "", "Pod kubeflow/mysql-0", 999, (999,), "")
ANSWER = {
    "name": "pv-1",
    "owner": "0:0",
    "mode": "0770",
    "looked": 12,
    "wrong": 0,
    "given": 0,
    "left_alone": 0,
    "incomplete": "",
    "closed": False,
    "trouble": "",
}


def what(**answer: Any) -> str:
    (row,) = rows([OWNER], {"node-1": "a"}, {"a": [ANSWER | answer]})
    assert row.host == "a"
    return row.result


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({}, "right"),
        ({"wrong": 3}, "to be corrected (local_path_repair_permissions)"),
        ({"wrong": 3, "given": 3}, "3 corrected"),
        ({"mode": "0777"}, "world-writable (local_path_tighten_claims)"),
        ({"mode": "0777", "closed": True}, "closed to others"),
        ({"left_alone": 2}, "2 left alone"),
        ({"incomplete": "more than 5 entries"}, "not completely checked: more than 5 entries"),
        ({"wrong": 3, "given": 2, "trouble": "'x': not permitted", "mode": ""}, "2 corrected; 'x': not permitted"),
    ],
)
def test_the_table_says_what_is_to_be_done(answer: dict[str, Any], words: str) -> None:
    assert words in what(**answer)


def test_a_volume_that_is_not_there_is_told_as_such() -> None:
    absent = {"name": "pv-1", "wrong": 0, "given": 0, "closed": False, "mode": "", "trouble": "'pv-1': No such file"}
    (row,) = rows([OWNER], {"node-1": "a"}, {"a": [absent]})
    assert (row.found, row.result, row.notable) == ("not looked at", "'pv-1': No such file", True)


def test_nodes_that_are_no_hosts_and_hosts_that_did_not_answer_are_listed_as_such() -> None:
    (elsewhere,) = rows([OWNER], {}, {})
    (silent,) = rows([OWNER], {"node-1": "a"}, {})
    assert elsewhere.host == "Node node-1"
    assert "inventory" in elsewhere.result
    assert "not answer" in silent.result
    assert elsewhere.notable
    assert silent.notable


def test_the_table_names_what_is_notable_and_counts_the_rest() -> None:
    several = [OWNER] * 60
    answers = [ANSWER | {"wrong": 1}] * 50 + [ANSWER] * 10
    text = rendered(rows(several, {"node-1": "a"}, {"a": answers})).splitlines()
    assert text[0].split() == ["host", "directory", "consumer", "found", "needed", "result"]
    assert text[1].startswith("a     /data/pv-1  Pod kubeflow/mysql-0  0:0 0770, 1 of 12 with another owner  999:999")
    assert text[-2:] == ["and 10 more", "10 of 60 volume directories are right."]


def test_where_all_is_well_one_line_says_so() -> None:
    assert rendered(rows([OWNER], {"node-1": "a"}, {"a": [ANSWER]})) == "1 of 1 volume directory is right."
