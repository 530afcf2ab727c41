"""Jobs of kinds that nothing here is written for: RayJob, StatefulSet, MPIJob v2."""

from __future__ import annotations

from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.explain.kinds import foreign
from kubeflow_volcano.validators.explain.model import State
from kubeflow_volcano.validators.explain.reading.ownership import between, kinds_named
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from tests.samples.facts import facts
from tests.samples.jobs import explained, member, reasons
from tests.unit.conftest import Answer, FakeApi

RAY = "ray.io/v1"


def resource(kind: str) -> dict[str, Any]:
    return {
        "resource": f"{kind.lower()}s",
        "responseKind": {"kind": kind},
        "scope": "Namespaced",
        "verbs": ["get", "list"],
    }


def serve(api: FakeApi, **groups: list[str]) -> None:
    """Let discovery name the kinds of each version of these groups: ray_io="v1"."""
    items = [
        {
            "metadata": {"name": name.replace("_", ".")},
            "versions": [{"version": "v1", "resources": [resource(kind) for kind in kinds]}],
        }
        for name, kinds in groups.items()
    ]
    api.on("GET", "/apis", Answer(body={"kind": "APIGroupDiscoveryList", "items": items}))


def owned(api_version: str, kind: str, name: str, *owners: dict[str, Any], **more: Any) -> dict[str, Any]:
    meta = {
        "name": name,
        "namespace": "team-a",
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [
            {"apiVersion": item["apiVersion"], "kind": item["kind"], "name": item["metadata"]["name"]}
            | {"uid": item["metadata"]["uid"]}
            for item in owners
        ],
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **more}


def ray_job(workers: int = 2) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "ray", "resources": {"requests": {"cpu": "1"}}}]}}
    group = {"groupName": "gpu", "replicas": workers, "template": template}
    spec = {"rayClusterSpec": {"headGroupSpec": {"template": template}, "workerGroupSpecs": [group]}}
    return owned(RAY, "RayJob", "train", spec=spec)


def test_a_kind_is_found_by_each_of_its_names(api: FakeApi) -> None:
    serve(api, ray_io=["RayJob"], example_org=["RayJob", "Other"])
    cluster = api.connect()
    found = {word: [item.api_version for item in kinds_named(cluster, word)] for word in ("rayjob", "RAYJOBS", "other")}
    assert found == {"rayjob": [RAY, "example.org/v1"], "RAYJOBS": [RAY, "example.org/v1"], "other": ["example.org/v1"]}
    assert [item.api_version for item in kinds_named(cluster, "rayjobs.ray.io")] == [RAY]


def test_pods_are_a_jobs_through_all_that_stands_between(api: FakeApi) -> None:
    serve(api, ray_io=["RayJob", "RayCluster"])
    job = ray_job()
    cluster = owned(RAY, "RayCluster", "train-x", job)
    other = owned(RAY, "RayCluster", "other")
    for item in (cluster, other):
        api.on("GET", f"/apis/ray.io/v1/namespaces/team-a/rayclusters/{item['metadata']['name']}", Answer(body=item))
    pods = [owned("v1", "Pod", "mine", cluster), owned("v1", "Pod", "theirs", other), owned("v1", "Pod", "free")]
    connection = api.connect()
    connection.all_kinds()
    assert between(connection, "uid-train", pods) == ({"uid-train", "uid-train-x"}, {})


def test_an_owner_that_may_not_be_read_is_told(api: FakeApi) -> None:
    serve(api, ray_io=["RayCluster"])
    cluster = owned(RAY, "RayCluster", "train-x", ray_job())
    refused = api.status(403, "Forbidden", "no")
    api.on("GET", "/apis/ray.io/v1/namespaces/team-a/rayclusters/train-x", refused)
    connection = api.connect()
    connection.all_kinds()
    found, unread = between(connection, "uid-train", [owned("v1", "Pod", "mine", cluster)])
    assert (found, [item.reason for item in unread.values()]) == (set(), ["Forbidden"])


def test_a_word_that_names_no_served_kind_is_refused(api: FakeApi) -> None:
    serve(api, ray_io=["RayJob"])
    with pytest.raises(InvalidInput):
        read_situation(api.connect(), "team-a", "train", "Rayjop")


def test_templates_in_a_spec_are_its_roles() -> None:
    template = {"spec": {"containers": [{"name": "main"}]}}
    workers, jobs = {"replicas": 4, "template": template}, {"spec": {"parallelism": 3, "template": template}}
    specs: dict[str, Any] = {
        "RayJob": ray_job(3)["spec"],
        "StatefulSet": {"replicas": 2, "template": template},
        "Notebook": {"template": template},
        "MPIJob": {"mpiReplicaSpecs": {"Launcher": {"template": template}, "Worker": workers}},
        "JobSet": {"replicatedJobs": [{"name": "n", "replicas": 2, "template": jobs}]},
        "AppWrapper": {"parts": "unknown"},
    }
    read = {kind: foreign(owned("x/v1", kind, "a", spec=spec), facts()).roles for kind, spec in specs.items()}
    assert {kind: {role.name: role.replicas for role in roles} for kind, roles in read.items()} == {
        "RayJob": {"headGroupSpec": 1, "gpu": 3},
        "StatefulSet": {"": 2},
        "Notebook": {"": 1},
        "MPIJob": {"Launcher": 1, "Worker": 4},
        "JobSet": {"n": 6},
        "AppWrapper": {},
    }


def test_what_keeps_its_pods_from_a_node_is_found_and_no_operator_is_blamed() -> None:
    job = ray_job()
    pods = [member(job, number, cpu="9", metadata={"annotations": {}}) for number in range(3)]
    told = explained(job, *pods, without=["training-operator"])
    assert told.state is State.WAITING
    assert reasons(told) == ["NoNodeFitsNever"]


def test_a_kind_of_the_core_group_comes_before_others_of_its_name(api: FakeApi) -> None:
    metrics = {**resource("PodMetrics"), "resource": "pods"}
    version = {"version": "v1beta1", "resources": [metrics]}
    items = [{"metadata": {"name": "metrics.k8s.io"}, "versions": [version]}]
    api.on("GET", "/apis", Answer(body={"kind": "APIGroupDiscoveryList", "items": items}))
    pods = {"kind": "Pod", "name": "pods", "namespaced": True, "verbs": ["get", "list"]}
    api.on("GET", "/api/v1", Answer(body={"kind": "APIResourceList", "groupVersion": "v1", "resources": [pods]}))
    assert [(item.api_version, item.kind, item.resource) for item in kinds_named(api.connect(), "pods")] == [
        ("v1", "Pod", "pods")
    ]
