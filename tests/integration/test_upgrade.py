"""Upgrades between releases of Kubeflow with upstream's manifests, on an API server that is empty at the start.

The archives are those beside the checkout, or in the directory that KFV_TEST_ARCHIVES names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.apply.result import ApplyResult
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
from kubeflow_volcano.rollout import run
from kubeflow_volcano.rollout.scope import scope_of
from kubeflow_volcano.rollout.settings.settings import parse
from tests.bench.plane import Plane
from tests.places import UPSTREAM

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1800)]

ARCHIVES = Path(os.environ.get("KFV_TEST_ARCHIVES", UPSTREAM))
RELEASES = ("1.8.1", "1.9.1")
NAMESPACES = ("auth", "cert-manager", "istio-system", "knative-eventing", "knative-serving", "kubeflow", "oauth2-proxy")
CRDS = ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "")
MAPPINGS = Ref(*CRDS, "domainmappings.serving.knative.dev")
SERVICES = Ref(*CRDS, "inferenceservices.serving.kserve.io")
COUNT = 40


class Said(list[str]):
    """Lines of progress."""

    def __call__(self, line: str) -> None:
        self.append(line)


@pytest.fixture(scope="module")
def tools() -> Tools:
    if missing := [version for version in RELEASES if not (ARCHIVES / f"manifests-{version}.tar.gz").is_file()]:
        pytest.skip(f"no manifests of {', '.join(missing)} in {ARCHIVES}")
    return ensure_tools(load_generation("1.30"), progress=Said())


@pytest.fixture(scope="module")
def cluster(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Plane(tools.programs, tmp_path_factory.mktemp("upgrade") / "plane", NAMESPACES) as plane:
        cluster = Cluster.connect(plane.kubeconfig)
        for obj in (storage_class(), *map(volume, range(8))):
            cluster.create(obj)
        yield cluster


def storage_class() -> Object:
    meta = {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    api = "storage.k8s.io/v1"
    return {"apiVersion": api, "kind": "StorageClass", "metadata": meta, "provisioner": "kubernetes.io/no-provisioner"}


def volume(number: int) -> Object:
    spec = {
        "storageClassName": "standard",
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "50Gi"},
        "hostPath": {"path": "/none"},
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"standard-{number}"}, "spec": spec}


def roll_out(
    cluster: Cluster, tools: Tools, release: str, *, check: bool = False, **more: Any
) -> tuple[ApplyResult, Said]:
    settings = parse(
        {
            "kubeflow_release": release,
            "kubeflow_profile": "full",
            "kubeflow_source": str(ARCHIVES / f"manifests-{release}.tar.gz"),
            "kustomize_binary": str(tools.programs["kustomize"]),
            "gang_scheduling_scheduler": "none",
            "kubeflow_exclude": ["volcano"],
            "local_path_storage_mode": "existing",
            "kubeflow_wait_timeout_seconds": 600,
            **more,
        }
    )
    said = Said()
    return run.roll_out(cluster, settings, scope_of(settings), check=check, progress=said), said


def mapping(number: int) -> Object:
    return {
        "apiVersion": "serving.knative.dev/v1alpha1",
        "kind": "DomainMapping",
        "metadata": {"name": f"app-{number}.example.org", "namespace": "default", "labels": {"number": str(number)}},
        "spec": {"ref": {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "name": f"app-{number}"}},
    }


def service() -> Object:
    model = {"modelFormat": {"name": "sklearn"}, "storageUri": "pvc://models/iris"}
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {"name": "iris", "namespace": "default"},
        "spec": {"predictor": {"model": model}},
    }


def contents(cluster: Cluster, api_version: str, kind: str) -> dict[str, tuple[str, Any, Any]]:
    return {
        item["metadata"]["name"]: (item["metadata"]["uid"], item["metadata"].get("labels"), item["spec"])
        for item in cluster.list(api_version, kind, namespace="default").items
    }


def live(cluster: Cluster, ref: Ref) -> Object:
    found = cluster.get(ref)
    assert found is not None
    return found


def test_1_8_1_becomes_1_9_1_and_every_object_keeps_its_content(cluster: Cluster, tools: Tools) -> None:
    result, _ = roll_out(cluster, tools, "1.8.1")
    assert not result.problems, result.problems
    for obj in (*map(mapping, range(COUNT)), service()):
        cluster.create(obj)
    injected = {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "metadata": {"name": SERVICES.name},
        "spec": {"conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "Cg=="}}}},
    }
    cluster.apply(injected, manager="cert-manager-cainjector", force=True)
    mappings = contents(cluster, "serving.knative.dev/v1alpha1", "DomainMapping")
    services = contents(cluster, "serving.kserve.io/v1beta1", "InferenceService")
    assert (len(mappings), len(services)) == (COUNT, 1)

    foretold, said = roll_out(cluster, tools, "1.9.1", check=True)
    assert not foretold.problems, foretold.problems
    assert any(f"stored versions migrated: {COUNT} objects from v1alpha1 to v1beta1" in line for line in said), said
    assert live(cluster, MAPPINGS)["status"]["storedVersions"] == ["v1alpha1"]

    result, said = roll_out(cluster, tools, "1.9.1")
    assert not result.problems, result.problems
    assert live(cluster, MAPPINGS)["status"]["storedVersions"] == ["v1beta1"]
    assert live(cluster, SERVICES)["spec"]["conversion"] == {"strategy": "None"}
    assert contents(cluster, "serving.knative.dev/v1beta1", "DomainMapping") == mappings
    assert contents(cluster, "serving.kserve.io/v1beta1", "InferenceService") == services
    again, _ = roll_out(cluster, tools, "1.9.1")
    assert not again.problems, again.problems
    assert not again.changed
