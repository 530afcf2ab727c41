"""Fields and values that a kind does not have, and no false alarm about those that it has."""

from __future__ import annotations

import copy
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.foreign import read_yamls
from kubeflow_volcano.validators.explain.manifest.schemas import Fault, faults, of_files, of_releases
from tests.archives import needed_archive
from tests.places import ROOT
from tests.samples.manifests import judged, made, reasons, tfjob, vcjob

POD: Object = {"containers": [{"name": "c", "image": "example/image:v1"}]}
NOTEBOOK = made("kubeflow.org/v1", "Notebook", "n", spec={"template": {"spec": POD}})
SERVICE = made(
    "serving.kserve.io/v1beta1",
    "InferenceService",
    "s",
    spec={"predictor": {"model": {"modelFormat": {"name": "sklearn"}}}},
)
TRIAL = made("batch/v1", "Job", "t", spec={"template": {"spec": {**POD, "restartPolicy": "Never"}}})
EXPERIMENT = made(
    "kubeflow.org/v1beta1",
    "Experiment",
    "e",
    spec={"objective": {"type": "minimize", "objectiveMetricName": "loss"}, "trialTemplate": {"trialSpec": TRIAL}},
)


def found_in(obj: Object) -> list[Fault]:
    known = of_releases(obj["apiVersion"], obj["kind"])
    assert known is not None
    return list(faults(obj, known))


def changed(obj: Object, path: str, value: Any) -> Object:
    """A copy with that value at the path, whose steps are separated by blanks."""
    copied: Any = copy.deepcopy(obj)
    *way, last = path.split()
    inner = copied
    for step in way:
        inner = inner[int(step)] if step.isdigit() else inner.setdefault(step, {})
    inner[last] = value
    return copied  # type: ignore[no-any-return]


TEMPLATE = "spec tfReplicaSpecs Worker template"
MISTAKES = [
    (tfjob(), "spec tfReplicaSpecs Worker replica", 2, "UnknownField", "replicas"),
    (tfjob(), "spec nodeSelector", {"a": "b"}, "UnknownField", "tfReplicaSpecs.*.template.spec.nodeSelector"),
    (tfjob(), "spec ttlSecondsAfterFinished", 5, "UnknownField", "spec.runPolicy.ttlSecondsAfterFinished"),
    (tfjob(), f"{TEMPLATE} spec containers 0 resources request", {"cpu": 1}, "UnknownField", "requests"),
    (tfjob(), f"{TEMPLATE} spec tolerations", {"key": "a"}, "WrongType", "array"),
    (tfjob(), f"{TEMPLATE} metadata", {"annotations": {"a": 1}}, "WrongType", "quotes"),
    (tfjob(), "spec runPolicy", {"cleanPodPolicy": 1}, "WrongType", "string"),
    (vcjob(), "spec plugin", {"svc": []}, "UnknownField", "plugins"),
    (vcjob(), "spec plugins", {"svc": "--x"}, "WrongType", "array"),
    (NOTEBOOK, "spec template spec containers 0 env", [{"name": "A", "value": 1}], "WrongType", "quotes"),
    (NOTEBOOK, "spec template spec volumes", [{"name": "v", "pvc": {"claimName": "c"}}], "UnknownField", ""),
    (NOTEBOOK, "spec template spec containers 0 ports", [{"name": "p"}], "FieldMissing", ""),
    (SERVICE, "spec predictor model storageURI", "s3://x", "UnknownField", "storageUri"),
    (SERVICE, "spec predictor podSpec", {"serviceAccountName": "a"}, "UnknownField", "move them out of it"),
    (SERVICE, "spec predictor minReplicas", "1", "WrongType", "integer"),
    (EXPERIMENT, "spec objective type", "min", "ValueNotAllowed", "minimize"),
    (EXPERIMENT, "spec trialTemplate trialSpec spec backOffLimit", 1, "UnknownField", "backoffLimit"),
    (
        made("apps/v1", "Deployment", "d", spec={"selector": {}, "template": {"spec": POD}}),
        "spec containers",
        [],
        "UnknownField",
        "spec.template.spec.containers",
    ),
    (
        made("v1", "PersistentVolumeClaim", "p", spec={}),
        "spec storageClass",
        "fast",
        "UnknownField",
        "storageClassName",
    ),
    (made("v1", "ConfigMap", "c", data={}), "data", {"port": 80}, "WrongType", "quotes"),
    (made("v1", "ResourceQuota", "q", spec={}), "spec", {"hard": {"cpu": "four"}}, "WrongType", "quantity"),
    (
        made("jobset.x-k8s.io/v1alpha2", "JobSet", "j", spec={}),
        "spec replicatedJob",
        [],
        "UnknownField",
        "replicatedJobs",
    ),
    (made("networking.istio.io/v1", "VirtualService", "v", spec={}), "spec gateway", ["a"], "UnknownField", "gateways"),
]


@pytest.mark.parametrize(
    ("obj", "path", "value", "reason", "said"), MISTAKES, ids=lambda item: item if isinstance(item, str) else ""
)
def test_a_mistake_is_found_and_the_rest_is_right(obj: Object, path: str, value: Any, reason: str, said: str) -> None:
    assert found_in(obj) == []
    (found,) = found_in(changed(obj, path, value))
    assert (found.reason, said in found.said) == (reason, True), found


def test_a_value_that_katib_replaces_has_any_type() -> None:
    assert found_in(changed(EXPERIMENT, "spec trialTemplate trialSpec spec parallelism", "${trialParameters.n}")) == []


def test_an_embedded_template_whose_metadata_the_api_server_drops() -> None:
    """Volcano's CRDs list no field of it; the server keeps what it may."""
    assert found_in(changed(vcjob(), "spec tasks 0 template metadata", {"annotations": {"a": "b"}})) == []


def test_a_definition_in_the_files_tells_the_fields_of_its_kind() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    spec = {
        "group": "example.org",
        "scope": "Namespaced",
        "names": {"kind": "Cake", "plural": "cakes"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }
    crd = made("apiextensions.k8s.io/v1", "CustomResourceDefinition", "cakes.example.org", "", spec=spec)
    cake = made("example.org/v1", "Cake", "c", spec={"sise": 1})
    assert reasons(crd, cake, offline=True) == ["UnknownField"]
    assert of_files("example.org/v2", "Cake", [crd]) is None
    assert [item.reason for item in judged(cake, offline=True).unread] == ["NoCluster", "FieldsNotJudged"]


@pytest.mark.parametrize(
    ("api_version", "kind", "reason", "names"),
    [
        ("v1", "Deployment", "KindNotServed", "apps/v1"),
        ("batch/v1beta1", "CronJob", "KindNotServed", "batch/v1"),
        ("extensions/v1beta1", "Ingress", "KindNotServed", "networking.k8s.io/v1"),
        ("kubeflow.org/v1beta2", "TFJob", None, "kubeflow.org/v1"),
        ("resource.k8s.io/v1alpha2", "PodSchedulingContext", None, ""),
    ],
)
def test_a_version_without_the_kind_is_said_and_not_judged(
    api_version: str, kind: str, reason: str | None, names: str
) -> None:
    answer = judged(made(api_version, kind, "x", spec={}), offline=True)
    found = [item for each in answer.manifests for item in each.findings if item.reason == "KindNotServed"]
    assert [item.reason for item in found] == [reason] * bool(reason)
    (unread,) = (item for item in answer.unread if item.reason == "FieldsNotJudged")
    assert names in unread.message
    assert all(names in item.problem.needed for item in found)


PATCHES = {
    ("CustomResourceDefinition", "spec.conversion.webhookClientConfig"),  # of the old API, in a patch of no overlay
    ("Deployment", "patches"),  # knative's patch has it by mistake
    ("ConfigMap", "type"),  # modeldb's, likewise
    ("EnvoyFilter", "spec.filters"),  # of an older Istio
    ("EnvoyFilter", "spec.workloadLabels"),
}
"""Kinds and fields of upstream's files that no API server keeps."""


@pytest.mark.upstream
@pytest.mark.parametrize("release", ["1.6.1", "26.03.1"])
def test_no_file_of_a_release_is_found_to_be_wrong(release: str) -> None:
    """Patches and samples too, which no roll-out has; what is missing in a patch is no mistake."""
    wrong, count = [], 0
    for name, obj in _objects(needed_archive(release)):
        known = of_releases(obj["apiVersion"], obj["kind"])
        count += known is not None
        for item in faults(obj, known) if known else ():
            place = ".".join(map(str, item.path))
            if item.reason != "FieldMissing" and "$patch" not in item.path and (obj["kind"], place) not in PATCHES:
                wrong.append((name, place, item))
    assert wrong == [], f"{len(wrong)} in {count} objects"
    assert count > 500


def _objects(archive: Path) -> Iterator[tuple[str, Object]]:
    """Those of all files but definitions, which are sound where they are built, and of charts, which are no YAML."""
    with tarfile.open(archive) as files:
        for member in files:
            if not member.isfile() or not member.name.endswith((".yaml", ".yml")) or "/helm/" in member.name:
                continue
            text = files.extractfile(member).read()  # type: ignore[union-attr]
            if b"kind: CustomResourceDefinition" in text:
                continue
            try:
                documents = list(read_yamls(text))
            except (yaml.YAMLError, ValueError):
                continue
            for item in documents:
                if isinstance(item, dict) and {"apiVersion", "kind", "metadata"} <= item.keys():
                    yield member.name, item


@pytest.mark.parametrize(
    "path", sorted([*ROOT.glob("examples/**/*.yaml"), *ROOT.glob("docs/scenarios/*.yaml")]), ids=lambda path: path.name
)
def test_our_own_manifests_are_right(path: Path) -> None:
    for obj in read_yamls(path.read_bytes()):
        known = of_releases(obj["apiVersion"], obj["kind"]) if isinstance(obj, dict) and "kind" in obj else None
        assert known is None or [*faults(obj, known)] == []
