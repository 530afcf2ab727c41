"""Volumes that are made in advance: one for each claim, on the node that was chosen, for nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.plan.steps import steps_of
from kubeflow_volcano.rollout.settings.settings import Settings, parse
from kubeflow_volcano.rollout.storage.static_volumes import (
    STATIC_CLASS,
    StaticVolume,
    objects_of,
    static_volumes,
    validate_static_volumes,
)

CLAIMS = {
    "1.6.1": {"authservice-pvc", "katib-mysql", "minio-pvc", "mysql-pv-claim"},
    "26.03": {"katib-mysql", "mysql-pv-claim", "seaweedfs-pvc"},
}


def static(**variables: Any) -> Settings:
    given = {"kubeflow_profile": "full", "local_path_storage_mode": "static", "local_path_static_node": "node-1"}
    return parse(given | variables)


def volumes(settings: Settings) -> tuple[StaticVolume, ...]:
    return static_volumes(settings.storage, settings.components)


@pytest.mark.parametrize("release", CLAIMS)
def test_each_claim_of_the_release_has_its_volume(release: str) -> None:
    storage_class, *made = objects_of(volumes(static(kubeflow_release=release)))
    assert storage_class["metadata"]["annotations"] == {"storageclass.kubernetes.io/is-default-class": "true"}
    assert (storage_class["provisioner"], storage_class["volumeBindingMode"]) == (
        "kubernetes.io/no-provisioner",
        "WaitForFirstConsumer",
    )
    assert {volume["spec"]["claimRef"]["name"] for volume in made} == CLAIMS[release]
    assert {volume["spec"]["storageClassName"] for volume in made} == {STATIC_CLASS}
    assert {volume["spec"]["persistentVolumeReclaimPolicy"] for volume in made} == {"Retain"}


def test_a_volume_is_as_large_as_its_claim_and_lies_on_its_node() -> None:
    settings = static(
        kubeflow_components=["katib"],
        local_path_base_directory="/data",
        local_path_node_paths={"node-2": "/fast"},
        local_path_static_nodes={"kubeflow/katib-mysql": "node-2"},
    )
    _, volume = objects_of(volumes(settings))
    spec = volume["spec"]
    assert spec["capacity"] == {"storage": "10Gi"}
    assert spec["local"] == {"path": "/fast/static/kubeflow_katib-mysql"}
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-2"]}]
    assert spec["claimRef"]["namespace"] == "kubeflow"


def test_directories_belong_to_the_consumers_that_the_catalog_knows() -> None:
    owners = {volume.claim.name: volume.owner for volume in volumes(static(kubeflow_release="26.03"))}
    assert owners == {
        "katib-mysql": (999, 999, 0o770),
        "mysql-pv-claim": (999, 999, 0o770),
        "seaweedfs-pvc": (1000, 1000, 0o770),
    }


def test_a_consumer_that_only_its_group_admits_gets_that_group() -> None:
    owners = {volume.claim.name: volume.owner for volume in volumes(static(kubeflow_release="1.6.1"))}
    assert owners["authservice-pvc"] == (0, 111, 0o770)


def test_a_consumer_that_changes_its_user_may_come_through_but_not_read() -> None:
    owners = {volume.claim.name: volume.owner for volume in volumes(static(kubeflow_release="1.9.1"))}
    assert owners["katib-mysql"] == (0, 0, 0o771)


@pytest.mark.parametrize("mode", ["local_path", "existing"])
def test_other_modes_make_none(mode: str) -> None:
    settings = parse({"kubeflow_profile": "full", "local_path_storage_mode": mode})
    assert objects_of(volumes(settings)) == ()


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"local_path_static_node": ""}, "no node for the volumes of .*kubeflow/mysql-pv-claim"),
        ({"kubeflow_profile": "training"}, "no chosen component has a PersistentVolumeClaim"),
        ({"local_path_static_nodes": {"kubeflow/mysql-pv": "n"}}, "Did you mean kubeflow/mysql-pv-claim"),
    ],
)
def test_what_cannot_be_made_is_refused_before_anything(variables: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        static(**variables)


def test_a_plan_waits_for_no_provisioner_where_there_is_none() -> None:
    settings = static()
    step = next(iter(steps_of(settings, {"local-path": objects_of(volumes(settings))})))
    assert (step["component"], step["objects"], step["ready"]) == ("local-path", 4, [])
    assert "made in advance" in step["source"]


@pytest.mark.parametrize(
    ("labels", "told"),
    [({"kubernetes.io/hostname": "node-1"}, 0), ({"kubernetes.io/hostname": "other"}, 1), ({}, 1)],
)
def test_a_node_that_its_label_does_not_name_is_refused(api: Any, labels: dict[str, str], told: int) -> None:
    kinds = [
        {"name": name, "kind": kind, "namespaced": False}
        for name, kind in (("nodes", "Node"), ("persistentvolumes", "PersistentVolume"))
    ]
    api.on("GET", "/api/v1", api.reply(body={"resources": kinds}))
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "labels": labels}}
    api.on("GET", "/api/v1/nodes/node-1", api.reply(body=node))
    problems = list(validate_static_volumes(api.connect(), volumes(static())))
    assert len(problems) == told
    assert all("that label" in problem.needed for problem in problems)
