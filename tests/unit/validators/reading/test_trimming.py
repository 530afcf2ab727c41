"""What is taken away from objects, and that what checks read stays."""

from __future__ import annotations

from kubeflow_volcano.validators.reading.trimming import trim_of
from tests.samples.facts import crd, node, obj, pod


def test_the_record_of_managers_and_the_text_that_was_applied_go() -> None:
    last = "kubectl.kubernetes.io/last-applied-configuration"
    found = obj("Service", "ns/s", metadata={"managedFields": [{}], "annotations": {last: "{}", "kept": "yes"}})
    trim_of("services")(found)
    assert found["metadata"]["annotations"] == {"kept": "yes"}
    assert "managedFields" not in found["metadata"]


def test_of_a_pod_its_environment_and_tokens_go_and_identity_and_volumes_stay() -> None:
    kept = {
        "name": "main",
        "image": "example/image:v1",
        "resources": {"requests": {"cpu": "1"}},
        "securityContext": {"runAsUser": 1000},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    gone = {"env": [{"name": "PASSWORD", "value": "secret"}], "args": ["--x"], "livenessProbe": {"httpGet": {}}}
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    secret = {"name": "tls", "secret": {"secretName": "tls"}}
    token = {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    spec = {"containers": [kept | gone], "initContainers": [kept | gone], "volumes": [claim, secret, token]}
    found = pod("ns/a", spec=spec)
    trim_of("pods")(found)
    assert found["spec"] == {
        "containers": [kept],
        "initContainers": [kept],
        "volumes": [claim, secret, {"name": "kube-api-access", "projected": {}}],
    }


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
