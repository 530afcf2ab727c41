"""Which volumes are a session's to remove: those that a provisioner made for its claims, and no others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.experiment.volumes import is_provisioned, volume_of

UID = "0b1d6f0e-3c1a-4a5e-9c0e-0123456789ab"
BY = {"pv.kubernetes.io/provisioned-by": "rancher.io/local-path"}


def volume(name: str = "disk-1", annotations: dict[str, str] | None = None, uid: str | None = UID) -> Object:
    meta: dict[str, Any] = {"name": name} | ({"annotations": annotations} if annotations else {})
    return {"metadata": meta, "spec": {"claimRef": {"uid": uid}} if uid else {}}


@pytest.mark.parametrize(
    ("found", "provisioned"),
    [
        (volume(annotations=BY), True),
        (volume(f"pvc-{UID}"), True),
        (volume(), False),
        (volume(annotations={"pv.kubernetes.io/bound-by-controller": "yes"}), False),
        (volume("pvc-of-somebodys-own"), False),
        (volume(annotations=BY, uid=None), False),
    ],
)
def test_a_volume_that_was_there_before_its_claim_is_none_of_the_sessions(found: Object, *, provisioned: bool) -> None:
    assert is_provisioned(found) is provisioned


def test_a_static_volume_that_a_claim_was_bound_to_stays() -> None:
    claim = {"metadata": {"uid": UID}, "spec": {"volumeName": "disk-1"}}

    def found(live: Object) -> Object | None:
        return volume_of(cast("Cluster", SimpleNamespace(get=lambda _: live)), claim)

    assert found(volume()) is None
    assert found(volume(annotations=BY)) is not None
    assert found(volume(annotations=BY, uid="another")) is None
