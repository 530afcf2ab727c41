"""Which version of each component is on the cluster, by the records of roll-outs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kubeflow_volcano.catalog.operator import DEPLOYMENT
from kubeflow_volcano.cluster.applied_objects import APPLIED_OBJECTS, Brought, serialize
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.versions.installed import installed_versions, operator_version, own_version, remains

MAP = Ref("v1", "ConfigMap", "n", "a")


def cluster(records: Any = None) -> Any:
    live: dict[Ref, Object] = {} if records is None else {APPLIED_OBJECTS: {"data": records}}
    return SimpleNamespace(get=live.get)


def test_an_empty_cluster_has_none() -> None:
    assert installed_versions(cluster()) == {}


def test_the_versions_are_those_of_the_record() -> None:
    records = {
        "katib": serialize(Brought("1.9.1", {MAP: "u"})),
        "volcano": serialize(Brought("1.10.0", {MAP: "u"})),
        "dex": serialize(Brought("1.9.1", {}, {"1.8.1": {MAP: "u"}})),
        "training-operator": serialize(Brought("", {MAP: "u"})),
    }
    assert installed_versions(cluster(records)) == {"katib": "1.9.1", "volcano": "1.10.0"}


def test_a_component_is_shown_with_its_own_version_and_a_release_as_what_it_is() -> None:
    assert own_version("cert-manager", "1.9.1") == "1.14.5"
    assert own_version("cert-manager", "1.8.1") == "1.12.2"
    assert own_version("volcano", "1.10.0") == "1.10.0"
    assert own_version("cert-manager", "0.1") == "of Kubeflow 0.1"
    assert own_version("unknown", "1.9.1") == "of Kubeflow 1.9.1"


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("mirror.example/kubeflow/training-operator:v1-04f9f13", "1.8.1"),
        ("ghcr.io/kubeflow/training-v1/training-operator:v1.9.3", "1.9.3"),
        ("mirror.example/own/training-operator:latest", ""),
    ],
)
def test_the_training_operator_that_runs_is_known_by_its_image(image: str, version: str) -> None:
    pod = {"containers": [{"name": "proxy", "image": "docker.io/istio/proxyv2:1.20.0"}, {"name": "a", "image": image}]}
    live = {DEPLOYMENT: {"spec": {"template": {"spec": pod}}}}
    found: Any = SimpleNamespace(get=live.get)
    assert operator_version(found) == version
    assert operator_version(cluster()) == ""


def test_a_component_of_which_only_data_and_crds_are_recorded_is_uninstalled() -> None:
    claim = Ref("v1", "PersistentVolumeClaim", "n", "c")
    crd = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "as.b")
    records = {
        "pipelines": serialize(Brought("1.9.1", {claim: "u", crd: "v"})),
        "katib": serialize(Brought("1.9.1", {claim: "u", MAP: "w"})),
    }
    assert set(remains(cluster(records))) == {"pipelines"}
