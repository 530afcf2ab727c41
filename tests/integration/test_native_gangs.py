"""Gangs of Kubernetes itself, on a cluster of generation 1.37, with pods without a gang as control."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from tests.integration.breaking import space
from tests.pages.manifests import manifests, refusal
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

SPEC = RehearsalSpec(f"gangs-{uuid.uuid4().hex[:6]}", gpu_nodes=2, generation="1.37")
API = "scheduling.k8s.io/v1beta1"
GANG = {"gang": {"minCount": 3}}


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    try:
        yield Cluster.connect(up(SPEC).kubeconfig)
    finally:
        assert down(SPEC.name).left == ()


@pytest.fixture
def namespace(running: Cluster) -> Iterator[str]:
    with space(running) as name:
        yield name


def one(kind: str, name: str, namespace: str, spec: dict[str, Any], api_version: str = API) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def template(**more: Any) -> dict[str, Any]:
    """A pod that needs one GPU, as one of the simulated nodes has."""
    limits = {"limits": {"nvidia.com/gpu": "1"}}
    return {"containers": [{"name": "main", "image": "nosuch/thing:1", "resources": limits}], **more}


def three_pods(cluster: Cluster, namespace: str, name: str, **more: Any) -> None:
    for index in range(3):
        cluster.create(one("Pod", f"{name}-{index}", namespace, template(**more), "v1"))


def of_group(name: str) -> dict[str, Any]:
    return {"schedulingGroup": {"podGroupName": name}}


def pods(cluster: Cluster, namespace: str) -> list[Object]:
    return list(cluster.list("v1", "Pod", namespace=namespace).items)


def bound(cluster: Cluster, namespace: str) -> int:
    return sum("nodeName" in pod["spec"] for pod in pods(cluster, namespace))


def condition(cluster: Cluster, ref: Ref) -> dict[str, Any]:
    return conditions(cluster.get(ref) or {}).get("PodGroupInitiallyScheduled", {})


def test_a_gang_that_fits_in_part_is_not_bound_at_all_and_is_when_all_of_it_fits(
    running: Cluster, namespace: str
) -> None:
    group = Ref.of(running.create(one("PodGroup", "gang", namespace, {"schedulingPolicy": GANG})))
    three_pods(running, namespace, "gang", **of_group("gang"))

    until(lambda: condition(running, group).get("status") == "False")
    said = condition(running, group)
    assert (said["reason"], bound(running, namespace)) == ("Unschedulable", 0)
    assert "minCount (3) cannot be satisfied: 2 scheduled" in said["message"]
    waits = conditions(pods(running, namespace)[0])["PodScheduled"]
    assert (waits["status"], waits["reason"]) == ("False", "Unschedulable")

    up(replace(SPEC, gpu_nodes=3))
    try:
        until(lambda: bound(running, namespace) == 3)
        until(lambda: condition(running, group).get("status") == "True")
    finally:
        up(SPEC)


def test_the_same_pods_without_a_gang_are_bound_in_part(running: Cluster, namespace: str) -> None:
    group = Ref.of(running.create(one("PodGroup", "loose", namespace, {"schedulingPolicy": {"basic": {}}})))
    three_pods(running, namespace, "loose", **of_group("loose"))
    until(lambda: bound(running, namespace) == 2)
    for pod in pods(running, namespace):
        running.delete(Ref.of(pod), uid=pod["metadata"]["uid"])
    until(lambda: not pods(running, namespace))

    three_pods(running, namespace, "alone")

    until(lambda: bound(running, namespace) == 2)
    assert condition(running, group).get("status") == "True"


def test_a_gang_waits_for_its_pods_to_be_created(running: Cluster, namespace: str) -> None:
    group = Ref.of(running.create(one("PodGroup", "early", namespace, {"schedulingPolicy": {"gang": {"minCount": 2}}})))
    running.create(one("Pod", "first", namespace, template(**of_group("early")), "v1"))
    running.create(one("Pod", "after", namespace, {"containers": [{"name": "main", "image": "nosuch/thing:1"}]}, "v1"))
    until(lambda: bound(running, namespace) == 1)
    first = running.get(Ref("v1", "Pod", namespace, "first"))
    assert first is not None
    assert "nodeName" not in first["spec"]
    assert "PodScheduled" not in conditions(first)  # nothing says what it waits for

    running.create(one("Pod", "second", namespace, template(**of_group("early")), "v1"))

    until(lambda: bound(running, namespace) == 3)
    until(lambda: condition(running, group).get("status") == "True")


def test_a_pod_stays_in_its_group_and_a_group_until_its_pods_are_gone(running: Cluster, namespace: str) -> None:
    group = running.create(one("PodGroup", "kept", namespace, {"schedulingPolicy": {"gang": {"minCount": 1}}}))
    pod = running.create(one("Pod", "a", namespace, template(**of_group("kept")), "v1"))
    until(lambda: bound(running, namespace) == 1)
    live = running.get(Ref.of(pod))
    assert live is not None
    with pytest.raises(ApiError, match=r"^422 Invalid"):
        running.replace({**live, "spec": {**live["spec"], **of_group("another")}})

    running.delete(Ref.of(group), uid=group["metadata"]["uid"])
    left = until(lambda: running.get(Ref.of(group)))
    assert left["metadata"]["finalizers"]
    running.delete(Ref.of(pod), uid=pod["metadata"]["uid"])

    until(lambda: running.get(Ref.of(group)) is None)


@pytest.mark.parametrize("document", [pytest.param(found, id=id_) for id_, found in manifests(of_native_gangs=True)])
@pytest.mark.usefixtures("running")
def test_manifests_on_pages_are_admitted_without_unknown_fields(document: Object) -> None:
    assert refusal(document, ClusterPaths.of(SPEC.name).kubeconfig) == ""
