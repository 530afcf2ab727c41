"""Parts of Kubeflow whose images are not made here, on a cluster of this file's own: pods, volumes, webhooks.

$KFV_TEST_GENERATION names another generation than the default one.
"""

from __future__ import annotations

import base64
import os
import subprocess
import tarfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.cluster.status import read_status
from kubeflow_volcano.rehearsal.inside.placement import REASON_ANNOTATION, SIMULATED_LABEL, Rules, simulation
from kubeflow_volcano.rehearsal.inside.placement import simulation_of_daemon_set as simulation_of_set
from kubeflow_volcano.rehearsal.inside.webhook_backends import SIMULATED_WEBHOOK_LABEL
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.node.simulated_images import PLATFORM_IMAGES, TRAINING_IMAGES
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from tests.places import UPSTREAM
from tests.unpacking import unpack
from tests.waiting import watched

pytestmark = pytest.mark.cluster

GENERATION = os.environ.get("KFV_TEST_GENERATION") or RehearsalSpec().generation
SPEC = RehearsalSpec(f"t-{uuid.uuid4().hex[:8]}", gpu_nodes=0, generation=GENERATION)
PATHS = ClusterPaths.of(SPEC.name)
RELEASES = {"1.22": ("1.6.1",)}.get(GENERATION, ("1.6.1", "1.9.1"))
"""As far as its kustomize can build them."""
OPERATOR_MADE_OF = {"1.22": "1.6.1", "1.30": "1.9.1"}.get(GENERATION)
"""Later generations make operators of releases that neither is."""
MYSQL = {"name": "main", "image": "mysql:8.0.29", "ports": [{"containerPort": 10250}]}
Content = Callable[[Object], bool]


@dataclass(frozen=True)
class Running:
    """The cluster, and short ways to what the tests do with it."""

    api: Cluster

    def apply(self, *objects: Object) -> list[Object]:
        """Apply objects in their order; returns them as they are then."""
        return [self.api.apply(obj, manager="test") for obj in objects]

    def until(self, subject: Subject, content: Content, seconds: float = 240) -> Object:
        """An object of `subject` as soon as it is as wanted; fails with its last state."""
        return watched(self.api, subject, content, seconds)

    def available(self, namespace: str, name: str) -> None:
        """Wait for a Deployment."""
        subject = Subject("apps/v1", "Deployment", namespace, fields=f"metadata.name={name}")
        self.until(subject, lambda obj: conditions(obj).get("Available", {}).get("status") == "True")

    def refused_until(self, request: Callable[[], Object], seconds: float = 120) -> Object:
        """Repeat a request while it is refused; fails with the last refusal."""
        deadline = Deadline(seconds)
        while True:
            try:
                return request()
            except ApiError as error:
                if deadline.passed:
                    pytest.fail(f"refused for {seconds} s: {error}")


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    try:
        yield Running(Cluster.connect(up(SPEC).kubeconfig))
    finally:
        assert down(SPEC.name).left == ()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks the archive of a release."""

    def unpacked(release: str) -> Path:
        archive = UPSTREAM / f"manifests-{release}.tar.gz"
        if not archive.is_file():
            pytest.skip(f"{archive} is not there")
        home = tmp_path_factory.mktemp("sources")
        with tarfile.open(archive) as packed:
            unpack(packed, home)
        return home / f"manifests-{release}"

    return unpacked


def rendered(directory: Path) -> list[Object]:
    kustomize = PATHS.home / "bin/kustomize"
    text = subprocess.run([kustomize, "build", directory], capture_output=True, check=True).stdout
    return [obj for obj in yaml.load_all(text, Loader=yaml.CSafeLoader) if obj]


def named(kind: str, name: str, **more: Any) -> Object:
    api_version = {"DaemonSet": "apps/v1", "Deployment": "apps/v1", "Job": "batch/v1"}.get(kind, "v1")
    metadata = {"name": name, "namespace": more.pop("namespace", "default")}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def template(container: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [container], **more}}


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    "release", [*(pytest.param(name, marks=pytest.mark.long) for name in RELEASES[:-1]), RELEASES[-1]]
)
def test_every_pod_of_a_release_has_a_place(release: str, sources: Callable[[str], Path]) -> None:
    """Every pod is simulated but for the training operator's where it is made here."""
    local = {name for image in load_generation(SPEC.generation).images for name in image.names}
    rules = Rules(local, TRAINING_IMAGES, PLATFORM_IMAGES, "rehearsal-1")
    workloads = [obj for obj in rendered(sources(release) / "example") if "template" in obj.get("spec", {})]
    pods = [obj for obj in workloads if obj["kind"] in {"Deployment", "StatefulSet", "Job"}]

    left = [obj["metadata"]["name"] for obj in pods if not simulation(obj["spec"]["template"], rules)]
    left += [
        obj["metadata"]["name"] for obj in workloads if obj["kind"] == "DaemonSet" and not simulation_of_set(obj, rules)
    ]

    assert len(pods) > 40
    assert left == (["training-operator"] if release == OPERATOR_MADE_OF else [])


def test_a_volume_of_a_simulated_pod_is_made_and_removed_by_the_real_provisioner(running: Running) -> None:
    (manifest,) = (PATHS.home / "upstream/local-path-provisioner/deploy").glob("local-path-storage.yaml")
    running.apply(*(obj for obj in yaml.safe_load_all(manifest.read_text()) if obj))
    claim = named(
        "PersistentVolumeClaim",
        "data",
        spec={
            "storageClassName": "local-path",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    )
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    pod = named("Pod", "db", spec={"containers": [MYSQL], "volumes": [volume]})
    made = running.apply(claim, pod)

    found = running.until(
        Subject("v1", "Pod", "default", fields="metadata.name=db"), lambda obj: obj["status"].get("phase") == "Running"
    )

    assert found["spec"]["nodeName"] == "cpu-1"
    (bound,) = running.api.list("v1", "PersistentVolume").items
    assert bound["status"]["phase"] == "Bound"
    assert "cpu-1" in str(bound["spec"]["nodeAffinity"])
    for obj in reversed(made):
        running.api.delete(Ref.of(obj), uid=obj["metadata"]["uid"])
    with Observer(running.api, [Subject("v1", "PersistentVolume")], Deadline(240)) as observer:
        assert any(change and (change.type == "DELETED" or not change.objects) for change in observer.changes())


def test_a_daemon_set_of_the_platform_has_its_pod_on_the_simulated_node_and_says_so(running: Running) -> None:
    """istio-cni-node tolerates everything, and has nothing to run on the real node."""
    container = {"name": "install-cni", "image": "gcr.io/istio-release/install-cni:1.26.1"}
    pods = template(container, tolerations=[{"operator": "Exists"}])
    spec = {"selector": {"matchLabels": {"app": "a"}}, "template": pods}
    running.apply(named("DaemonSet", "cni", namespace="kube-system", spec=spec))

    ready = running.until(
        Subject("apps/v1", "DaemonSet", "kube-system", fields="metadata.name=cni"),
        lambda obj: obj["status"].get("numberReady", 0) > 0,
    )

    assert ready["status"]["desiredNumberScheduled"] == ready["status"]["numberReady"] == 1
    (pod,) = running.api.list("v1", "Pod", namespace="kube-system", labels="app=a").items
    assert pod["spec"]["nodeName"] == "cpu-1"
    assert "install-cni" in pod["metadata"]["annotations"][REASON_ANNOTATION]
    assert pod["metadata"]["labels"][SIMULATED_LABEL] == "true"


def test_a_job_of_the_platform_completes(running: Running) -> None:
    running.apply(named("Job", "migration", spec={"template": template(MYSQL, restartPolicy="Never")}))

    running.until(
        Subject("batch/v1", "Job", "default", fields="metadata.name=migration"),
        lambda obj: conditions(obj).get("Complete", {}).get("status") == "True",
    )


def test_webhooks_of_cert_manager_are_answered_and_marked(running: Running, sources: Callable[[str], Path]) -> None:
    objects = rendered(sources("1.9.1") / "common/cert-manager/cert-manager/base")
    running.apply(*sorted(objects, key=lambda obj: obj["kind"] not in {"Namespace", "CustomResourceDefinition"}))
    running.available("cert-manager", "cert-manager-webhook")
    certificate = {
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"secretName": "a", "dnsNames": ["a.example.org"], "issuerRef": {"name": "a"}},
    }

    admitted = running.refused_until(lambda: running.api.create(certificate, dry_run=True))

    assert admitted["spec"] == certificate["spec"]
    authority = base64.b64encode((PATHS.pki / "webhook-stub-ca.crt").read_bytes()).decode()
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        ref = Ref("admissionregistration.k8s.io/v1", kind, "", "cert-manager-webhook")
        found = running.api.get(ref)
        assert found
        assert found["metadata"]["labels"][SIMULATED_WEBHOOK_LABEL] == "true"
        assert {webhook["clientConfig"]["caBundle"] for webhook in found["webhooks"]} == {authority}
        managers = {entry["manager"] for entry in found["metadata"]["managedFields"]}
        assert "rehearsal-webhook-stub" in managers
    told = [item for item in read_status(SPEC.name).webhooks if item.name == "cert-manager-webhook"]
    assert {item.services for item in told} == {("cert-manager/cert-manager-webhook",)}
    assert len(told) == 2


def test_objects_are_converted_through_the_stub_both_ways(running: Running) -> None:
    """The backend is a simulated pod; the Service's port leads to one that the kubelet has on the real node."""
    service = {"selector": {"app": "a"}, "ports": [{"port": 443, "targetPort": 10250}]}
    deployment = {"selector": {"matchLabels": {"app": "a"}}, "template": template(MYSQL)}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    group = "rehearsal.example.org"
    client = {"service": {"namespace": "default", "name": "converter", "path": "/convert"}}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Cluster",
            "conversion": conversion,
            "versions": [
                {"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")
            ],
        },
    }
    running.apply(
        named("Service", "converter", spec=service), named("Deployment", "converter", spec=deployment), definition
    )
    running.available("default", "converter")
    thing = {"apiVersion": f"{group}/v2", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"x": 1}}

    made = running.refused_until(lambda: running.api.create(thing))
    stored = running.api.get(Ref(f"{group}/v1", "Thing", "", "a"))

    assert (made["apiVersion"], made["spec"]) == (f"{group}/v2", {"x": 1})
    assert stored
    assert (stored["apiVersion"], stored["spec"]) == (f"{group}/v1", {"x": 1})
    assert stored["metadata"]["uid"] == made["metadata"]["uid"]
