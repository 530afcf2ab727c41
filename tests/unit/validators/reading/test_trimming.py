"""What is taken away from objects, and that what checks read stays."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from kubeflow_volcano.validators.reading.trimming import trim_of
from tests.samples.facts import crd, node, obj, pod


def test_the_record_of_managers_and_the_text_that_was_applied_go() -> None:
    last = "kubectl.kubernetes.io/last-applied-configuration"
    found = obj("Service", "ns/s", metadata={"managedFields": [{}], "annotations": {last: "{}", "kept": "yes"}})
    trim_of("services")(found)
    assert found["metadata"]["annotations"] == {"kept": "yes"}
    assert "managedFields" not in found["metadata"]


def test_of_a_pod_its_environment_and_tokens_go_and_identity_and_claims_stay() -> None:
    kept: dict[str, Any] = {
        "name": "main",
        "image": "example/image:v1",
        "resources": {"requests": {"cpu": "1"}},
        "securityContext": {"runAsUser": 1000},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    gone = {"env": [{"name": "PASSWORD", "value": "secret"}], "args": ["--x"], "livenessProbe": {"httpGet": {}}}
    tokens = {"volumeMounts": [*kept["volumeMounts"], {"name": "kube-api-access", "mountPath": "/var/run/secrets"}]}
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    secret = {"name": "tls", "secret": {"secretName": "tls"}}
    token = {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    volumes = [claim, secret, token]
    spec = {"containers": [kept | gone | tokens], "initContainers": [kept | gone], "volumes": volumes}
    found = pod("ns/a", spec=spec | {"dnsPolicy": "ClusterFirst", "nodeName": "n1"})
    found["status"]["containerStatuses"][0] |= {"user": {"linux": {"uid": 1000}}, "lastState": {}}
    status = copy.deepcopy(found["status"])
    found["status"] |= {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}
    found["status"]["containerStatuses"][0] |= {"containerID": "containerd://1", "volumeMounts": []}
    trim_of("pods")(found)
    assert found["spec"] == {
        "containers": [kept],
        "initContainers": [kept],
        "volumes": [claim, secret],
        "nodeName": "n1",
    }
    assert found["status"] == status | {"podIP": "10.0.0.1"}


@pytest.mark.parametrize(("namespace", "kept"), [("kube-system", {"command"}), ("ns", set())])
def test_flags_stay_only_of_what_kubernetes_runs_by_them(namespace: str, kept: set[str]) -> None:
    found = pod(f"{namespace}/a")
    found["spec"]["containers"][0]["command"] = ["kube-scheduler", "--feature-gates=GenericWorkload=true"]
    trim_of("pods")(found)
    assert found["spec"]["containers"][0].keys() & {"command"} == kept


def test_of_conditions_on_the_way_to_ready_those_stay_that_are_not_met() -> None:
    found = pod("ns/a")
    types = [("Initialized", "True"), ("ContainersReady", "False"), ("PodScheduled", "True"), ("Ready", "False")]
    found["status"]["conditions"] = [
        {"type": type_, "status": status, "lastProbeTime": None} for type_, status in types
    ]
    trim_of("pods")(found)
    assert found["status"]["conditions"] == [{"type": type_, "status": status} for type_, status in types[1:]]


def test_what_pods_have_alike_is_there_once_and_what_differs_in_its_type_is_not_alike() -> None:
    trim, found = trim_of("pods"), [pod("ns/a"), pod("ns/b"), pod("ns/c")]
    for number, item in enumerate(found):
        item["spec"]["tolerations"] = [{"tolerationSeconds": ("300", "300", 300)[number]}]
        trim(item)
    first, second, third = (item["spec"]["tolerations"] for item in found)
    assert first is second
    assert third == [{"tolerationSeconds": 300}]
    assert [item["metadata"]["name"] for item in found] == ["a", "b", "c"]


def test_of_a_crd_the_schemas_go_and_of_a_node_its_images() -> None:
    definition = crd("tfjobs.kubeflow.org")
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": {}}
    trim_of("customresourcedefinitions.apiextensions.k8s.io")(definition)
    assert definition["spec"]["versions"] == [{"name": "v1", "served": True}]
    machine = node()
    machine["status"]["images"] = [{"names": ["example/image:v1"]}]
    before = {key: value for key, value in machine["status"].items() if key != "images"}
    trim_of("nodes")(machine)
    assert machine["status"] == before


def test_of_a_job_it_stays_who_applied_it() -> None:
    fields = {"manager": "kubeflow-volcano", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
    found = obj("Job", "ns/init", metadata={"managedFields": [fields]})
    trim_of("jobs.batch")(found)
    assert found["metadata"]["managedFields"] == [{"manager": "kubeflow-volcano", "operation": "Apply"}]
