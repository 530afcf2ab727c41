"""Manifests judged against a real API server, which in a strict dry run is the oracle for what it refuses."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.__main__ import main
from kubeflow_volcano.validators.explain.manifest.judging import judge
from kubeflow_volcano.validators.explain.manifest.model import Manifest
from kubeflow_volcano.validators.explain.manifest.surroundings import surroundings
from kubeflow_volcano.validators.explain.model import Finding, State
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.stages import explain
from tests.integration.breaking import space
from tests.waiting import until

pytestmark = pytest.mark.cluster

MANY = ("metadata.lables", "spec.schedulerName", "spec.runPolicy.schedulingPolicy.queu", "spec.restartpolicy")
POD: Object = {"containers": [{"name": "tensorflow", "image": PAUSE, "resources": {"requests": {"cpu": "10m"}}}]}
TORCH: Object = {"containers": [{**POD["containers"][0], "name": "pytorch"}]}


@pytest.fixture(scope="module")
def home(cluster: Cluster) -> Iterator[str]:
    with space(cluster) as name:
        yield name


def manifests(namespace: str) -> list[Object]:
    """One of each kind, with nothing wrong."""
    worker = {"replicas": 2, "restartPolicy": "Never", "template": {"spec": POD}}
    specs = {
        ("kubeflow.org/v1", "TFJob"): {"tfReplicaSpecs": {"Worker": worker}, "runPolicy": {"schedulingPolicy": {}}},
        ("kubeflow.org/v1", "PyTorchJob"): {
            "pytorchReplicaSpecs": {"Master": {**worker, "replicas": 1, "template": {"spec": TORCH}}}
        },
        ("batch.volcano.sh/v1alpha1", "Job"): {
            "minAvailable": 2,
            "tasks": [{"name": "w", "replicas": 2, "template": {"spec": {**POD, "restartPolicy": "Never"}}}],
        },
        ("scheduling.volcano.sh/v1beta1", "PodGroup"): {"minMember": 1, "minResources": {"cpu": "1"}},
        ("batch/v1", "Job"): {"template": {"spec": {**POD, "restartPolicy": "Never"}}},
        ("apps/v1", "Deployment"): {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
        },
        ("v1", "Pod"): POD,
    }
    return [
        new_object(version, kind, "mnist", namespace, meta={"labels": {"any": "label"}}, spec=copy.deepcopy(spec))
        for (version, kind), spec in specs.items()
    ]


TUTORIAL = """\
# A gang, as tutorials have it.
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: tutorial}
spec:
  schedulerName: kube-batch
  pytorchReplicaSpecs:
    Master: &two
      replicas: 1
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - {name: pytorch, image: IMAGE, resources: {requests: {cpu: 10m}}}  # one
    Worker: *two
"""


def test_the_corrected_manifest_is_taken_by_a_strict_server_and_starts_as_a_gang(
    cluster: Cluster, home: str, tmp_path: Path, kubeconfig: Path
) -> None:
    path, out = tmp_path / "job.yaml", tmp_path / "fixed.yaml"
    path.write_text(TUTORIAL.replace("IMAGE", PAUSE))
    wrong = {**yaml.safe_load(path.read_text()), "metadata": {"name": "tutorial", "namespace": home}}
    assert refused(cluster, wrong) == {"spec.schedulerName"}
    where = ["--namespace", home, "--kubeconfig", str(kubeconfig)]
    assert main(["explain", "manifest", "--fix", str(path), "--output", str(out), *where]) == 0
    right = {**yaml.safe_load(out.read_text()), "metadata": {"name": "tutorial", "namespace": home}}
    assert refused(cluster, right) == set()
    made = cluster.create(right)
    until(lambda: explain(read_situation(cluster, home, "tutorial")).state is State.STARTED)
    pods = cluster.list("v1", "Pod", namespace=home, labels="training.kubeflow.org/job-name=tutorial").items
    assert [pod["spec"]["schedulerName"] for pod in pods] == ["volcano", "volcano"]
    cluster.delete(Ref.of(made), uid=made["metadata"]["uid"])


TRAPS = """\
apiVersion: scheduling.incubator.k8s.io/v1alpha1
kind: PodGroup
metadata: {name: by-hand}
spec: {minMember: 1}
---
apiVersion: scheduling.sigs.dev/v1alpha2
kind: Queue
metadata: {name: by-hand}
spec: {weight: 1}
---
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: of-the-spec}
spec:
  schedulerName: kube-batch
  tfReplicaSpecs:
    PS: &alike
      template: {spec: {containers: [{name: tensorflow, image: a, resources: {requests: {cpu: 10m}}}]}}
    Worker: *alike
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: of-a-role}
spec:
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      schedulerName: volcano
      template: {spec: {containers: [{name: pytorch, image: a, resources: {requests: {cpu: 10m}}}]}}
---
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: of-a-template}
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        schedulerName: volcano
        spec: {containers: [{name: mpi, image: a, resources: {requests: {cpu: 10m}}}]}
    Worker: {template: {spec: {containers: [{name: mpi, image: a, resources: {requests: {cpu: 10m}}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: workload}
spec:
  schedulerName: volcano
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      schedulerName: kube-batch
      containers: [{name: c, image: gcr.io/ml-pipeline/mysql:8, resources: {requests: {cpu: 10m}}}]
---
apiVersion: v1
kind: List
items:
  - apiVersion: batch/v1
    kind: Job
    metadata: {name: in-a-list}
    spec:
      schedulerName: volcano
      template: {spec: {restartPolicy: Never, containers: [{name: c, image: a, resources: {requests: {cpu: 10m}}}]}}
"""
CORRECTED = {"KubeBatchPodGroup", "KubeBatchQueue", "KubeBatchScheduler", "SchedulerNameMisplaced", "ImageGone"}


def test_corrected_manifests_of_all_traps_are_taken_by_a_strict_server(
    cluster: Cluster, home: str, tmp_path: Path, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "traps.yaml", tmp_path / "fixed.yaml"
    path.write_text(TRAPS)
    where = ["--namespace", home, "--kubeconfig", str(kubeconfig)]
    # What is left are notes, as that nothing names the PodGroup.
    assert main(["explain", "manifest", "--fix", "--json", str(path), "--output", str(out), *where]) == 0
    told = json.loads(capsys.readouterr().out)["manifests"]
    assert {each["reason"] for item in told for each in item["corrected"]} == CORRECTED
    assert [accepted(cluster, obj, home) for obj in objects_of(path)] == [False] * 7
    assert [accepted(cluster, obj, home) for obj in objects_of(out)] == [True] * 7


def objects_of(path: Path) -> list[Object]:
    documents = yaml.safe_load_all(path.read_text())
    return [obj for item in documents for obj in (item["items"] if item["kind"] == "List" else [item])]


def accepted(cluster: Cluster, obj: Object, namespace: str) -> bool:
    """Whether a strict dry run takes it."""
    try:
        resource = cluster.resource(obj["apiVersion"], obj["kind"])
    except NotServed:
        return False
    meta = {**obj["metadata"], **({"namespace": namespace} if resource.namespaced else {})}
    query = {"dryRun": "All", "fieldValidation": "Strict"}
    try:
        cluster.request("POST", resource.path(meta.get("namespace", "")), query=query, body={**obj, "metadata": meta})
    except ApiError as error:
        if "unknown field" not in error.message:
            raise
        return False
    return True


def found(cluster: Cluster, *objects: Object) -> list[Finding]:
    files = [Manifest("f", number, obj) for number, obj in enumerate(objects, start=1)]
    return [each for item in judge(files, surroundings(files, cluster)).manifests for each in item.findings]


def refused(cluster: Cluster, obj: Object) -> set[str]:
    """The fields that a strict dry run refuses."""
    path = cluster.resource(obj["apiVersion"], obj["kind"]).path(obj["metadata"]["namespace"])
    try:
        cluster.request("POST", path, query={"dryRun": "All", "fieldValidation": "Strict"}, body=obj)
    except ApiError as error:
        return set(re.findall(r'unknown field "([^"]+)"', error.message))
    return set()


def named(findings: list[Finding]) -> set[str]:
    """The fields that findings name."""
    of_fields = [item for item in findings if item.reason in {"SchedulerNameMisplaced", "UnknownField"}]
    texts = [text for item in of_fields for text in (item.problem.found, *item.details)]
    return {path for text in texts for path in re.findall(r"(?<![\w.])(?:metadata|spec)\.[\w.\[\]]+\w", text)}


NOTES = {"NotEnoughPods", "PodGroupByHand"}
"""What is told of manifests that the program takes, and that run."""


def test_manifests_with_nothing_wrong_have_no_findings_and_are_taken(cluster: Cluster, home: str) -> None:
    objects = manifests(home)
    assert [item.problem.found for item in found(cluster, *objects) if item.reason not in NOTES] == []
    assert [refused(cluster, obj) for obj in objects] == [set()] * len(objects)


@pytest.mark.parametrize("number", range(7))
def test_fields_that_are_named_are_those_that_a_strict_dry_run_refuses(
    cluster: Cluster, home: str, number: int
) -> None:
    obj = manifests(home)[number]
    for path in MANY:
        value = obj
        for step in path.split(".")[:-1]:
            value = value.setdefault(step, {})
        value[path.rpartition(".")[2]] = "x"
    named_here = named(found(cluster, obj))
    assert named_here == refused(cluster, obj)
    assert named_here


def test_what_the_api_server_would_refuse_is_told_in_its_words(cluster: Cluster, home: str) -> None:
    job = manifests(home)[1]
    master = job["spec"]["pytorchReplicaSpecs"]["Master"]
    master["replicas"] = 2
    master["template"]["spec"]["containers"][0]["volumeMounts"] = [{"name": "none", "mountPath": "/data"}]
    told = {item.reason: item.problem.found for item in found(cluster, job)}
    assert told.keys() == {"Refused", "PodRefused"}
    with pytest.raises(ApiError) as error:
        cluster.create(job)
    assert error.value.message in told["Refused"]
    assert 'volumeMounts[0].name: Not found: "none"' in told["PodRefused"]


def test_what_the_cluster_has_decides(cluster: Cluster, home: str, tmp_path: Path, kubeconfig: Path) -> None:
    job = manifests(home)[0]
    job["spec"]["runPolicy"]["schedulingPolicy"] = {"queue": "nowhere", "priorityClass": "none"}
    assert {item.reason for item in found(cluster, job)} == {
        "QueueMissing",
        "PriorityClassMissing",
        "PriorityOfGroupOnly",
    }
    path = tmp_path / "job.yaml"
    path.write_text(yaml.safe_dump(job))
    assert main(["explain", "manifest", str(path), "--kubeconfig", str(kubeconfig)]) == 1
    path.write_text(yaml.safe_dump(manifests(home)[0]))
    assert main(["explain", "manifest", str(path), "--kubeconfig", str(kubeconfig)]) == 0


def test_a_label_of_a_namespace_injects_nothing_without_istio(cluster: Cluster, home: str) -> None:
    label = {"istio-injection": "enabled"}
    cluster.request(
        "PATCH",
        f"/api/v1/namespaces/{home}",
        body={"metadata": {"labels": label}},
        content_type="application/merge-patch+json",
    )
    try:
        assert found(cluster, manifests(home)[0]) == [], "a dry run shows that no proxy is added"
    finally:
        cluster.request(
            "PATCH",
            f"/api/v1/namespaces/{home}",
            body={"metadata": {"labels": dict.fromkeys(label)}},
            content_type="application/merge-patch+json",
        )
