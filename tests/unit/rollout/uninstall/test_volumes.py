"""Volumes of removed claims: which are waited for, and what is said of those that stay."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.uninstall.volumes import volumes_left

VOLUMES = "/api/v1/persistentvolumes"
PROVISIONER = Ref("apps/v1", "Deployment", "local-path-storage", "local-path-provisioner")


def volume(policy: str = "Delete", claim: str = "c", by: str = "rancher.io/local-path") -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv", "uid": "u", "annotations": {"pv.kubernetes.io/provisioned-by": by}},
        "spec": {"persistentVolumeReclaimPolicy": policy, "claimRef": {"uid": claim}},
    }


def left(api: Any, item: Object, *, provisioner: bool) -> list[str]:
    resources = [{"name": "persistentvolumes", "kind": "PersistentVolume", "namespaced": False}]
    api.on("GET", "/api/v1", api.reply(body={"resources": resources}))
    api.on("GET", VOLUMES, api.reply(body={"metadata": {"resourceVersion": "1"}, "items": [item]}))
    api.on("GET", f"{VOLUMES}/pv", api.reply(body=item))
    kinds = [{"name": "deployments", "kind": "Deployment", "namespaced": True}]
    api.on("GET", "/apis/apps/v1", api.reply(body={"resources": kinds}))
    if provisioner:
        path = "/apis/apps/v1/namespaces/local-path-storage/deployments/local-path-provisioner"
        api.on("GET", path, api.reply(body={"metadata": {"name": "local-path-provisioner"}}))
    return [item.why for item in volumes_left(api.connect(), {"c"}, PROVISIONER, Deadline(0.5), silent)]


def test_without_its_provisioner_a_volume_is_not_waited_for(api: Any) -> None:
    (why,) = left(api, volume(), provisioner=False)
    assert "Deployment local-path-storage/local-path-provisioner" in why
    assert not api.seen("GET", f"{VOLUMES}/pv")


def test_a_volume_that_its_provisioner_does_not_delete_is_named(api: Any) -> None:
    (why,) = left(api, volume(), provisioner=True)
    assert "provisioner did not" in why


@pytest.mark.parametrize("other", [volume(policy="Retain"), volume(claim="x"), volume(by="csi.example.org")])
def test_retained_volumes_and_those_of_others_are_none_of_its_concern(api: Any, other: Object) -> None:
    assert left(api, other, provisioner=True) == []
