"""A whole Kubeflow 1.9.1 by the inventory of the rehearsal, on a cluster of this file's own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeflow_volcano.apply.removing.managed import managed_objects
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.experiment.session import Options as Images
from kubeflow_volcano.rehearsal.cluster.status import read_status
from kubeflow_volcano.rehearsal.lifecycle import down, up
from kubeflow_volcano.rehearsal.node.cgroups import NodeCgroup, read_layout
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from tests import playing
from tests.places import ROOT
from tests.rehearsed import cluster_name
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(1200)]

ARCHIVE = ROOT.parent / "shared/upstream/manifests-1.9.1.tar.gz"
SPEC = RehearsalSpec(cluster_name("full"), gpu_nodes=1)
REAL_SERVICES = {"kubeflow/training-operator", "volcano-system/volcano-admission-service"}
WORKLOADS = ("Deployment", "StatefulSet")
HOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@dataclass(frozen=True)
class Installed:
    """The cluster, and what the playbook said."""

    api: Cluster
    first: str


def started(playbook: str, **more: object) -> subprocess.Popen[str]:
    given = {
        "rehearsal_cluster_name": SPEC.name,
        "kubeflow_profile": "full",
        "kubeflow_source": str(ARCHIVE),
        **more,
    }
    return playing.started("-i", "inventory/rehearsal", "-e", json.dumps(given), f"playbooks/{playbook}.yml")


def play(playbook: str, **more: object) -> str:
    running = started(playbook, **more)
    said, _ = running.communicate()
    assert running.returncode == 0, said[-4000:]
    return said


def ours(api: Cluster) -> set[Ref]:
    """What roll-outs applied, as the API server has recorded it."""
    return set(managed_objects(api, Deadline(60)).objects)


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    if not ARCHIVE.is_file():
        pytest.skip(f"{ARCHIVE} is not there")
    try:
        kubeconfig = up(SPEC).kubeconfig
        yield Installed(Cluster.connect(kubeconfig), play("install"))
    finally:
        assert down(SPEC.name).left == ()


def unready(api: Cluster) -> list[str]:
    """Workloads that lack pods."""
    found: list[Object] = [obj for kind in WORKLOADS for obj in api.list("apps/v1", kind).items]
    assert len(found) >= 50  # 45 of Kubeflow, Volcano's three, the provisioner, the cluster's DNS
    return [
        f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
        for obj in found
        if obj["status"].get("readyReplicas", 0) < obj["spec"].get("replicas", 1)
    ]


def test_every_workload_comes_up_and_every_volume_is_there(installed: Installed) -> None:
    assert unready(installed.api) == []
    claims = {
        claim["metadata"]["name"]: claim["status"]["phase"]
        for claim in installed.api.list("v1", "PersistentVolumeClaim").items
    }
    assert claims == {"katib-mysql": "Bound", "minio-pvc": "Bound", "mysql-pv-claim": "Bound"}


@pytest.mark.usefixtures("installed")
def test_what_this_project_is_about_runs_for_real_and_the_rest_says_that_it_does_not() -> None:
    pods = read_status(SPEC.name).pods

    real = {re.sub(r"(-[0-9a-z]+){1,2}$", "", f"{pod.namespace}/{pod.name}") for pod in pods if not pod.simulated}
    assert real - {"volcano-system/volcano-admission"} == {
        "kube-system/coredns",
        "kubeflow/training-operator",
        "local-path-storage/local-path-provisioner",
        "volcano-system/volcano-controllers",
        "volcano-system/volcano-scheduler",
    }
    assert sum(pod.simulated for pod in pods) >= 45
    assert all(pod.because for pod in pods if pod.simulated)


def test_the_stub_answers_exactly_where_nobody_else_does(installed: Installed) -> None:
    wanted = {
        (kind, obj["metadata"]["name"])
        for kind in HOOKS
        for obj in installed.api.list("admissionregistration.k8s.io/v1", kind).items
        for webhook in obj["webhooks"]
        if (service := webhook["clientConfig"].get("service"))
        and f"{service['namespace']}/{service['name']}" not in REAL_SERVICES
    }

    answered = {(item.kind, item.name) for item in read_status(SPEC.name).webhooks}

    assert answered == wanted | {("CustomResourceDefinition", "pvcviewers.kubeflow.org")}


def test_the_second_run_changes_nothing_and_the_whole_is_judged(installed: Installed, tmp_path: Path) -> None:
    assert "changed=0" not in installed.first

    second = play("site", validation_report_directory=str(tmp_path))
    assert "changed=0" in second
    assert "does not declare" not in second  # nothing is taken for stale

    report = json.loads((tmp_path / "latest.json").read_bytes())
    assert report["summary"]["verdict"] == "pass"
    assert len(report["cluster"]["simulated_webhooks"]) > 10


def test_after_the_node_was_killed_everything_comes_back(installed: Installed) -> None:
    """Most webhooks fail closed: pods are only admitted again when the stub answers again."""
    os.kill(NodeCgroup(read_layout(), ClusterPaths.of(SPEC.name).cgroup).first_process(), signal.SIGKILL)
    up(SPEC)
    certificate = new_object(
        "cert-manager.io/v1",
        "Certificate",
        "a",
        "kubeflow",
        spec={"secretName": "a", "dnsNames": ["a.example.org"], "issuerRef": {"name": "a"}},
    )

    deadline = time.monotonic() + 400
    while True:
        try:
            installed.api.create(certificate, dry_run=True)
            left = unready(installed.api)
        except ApiError as error:
            left = [str(error)]
        if not left:
            break
        assert time.monotonic() < deadline, left
        time.sleep(1)


@pytest.fixture
def profile(installed: Installed) -> Iterator[str]:
    """A namespace with the labels that the profile controller gives to those of users."""
    labels = {
        "app.kubernetes.io/part-of": "kubeflow-profile",
        "katib.kubeflow.org/metrics-collector-injection": "enabled",
        "pipelines.kubeflow.org/enabled": "true",
    }
    name = "jane"
    made = installed.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
    until(lambda: installed.api.get(Ref("v1", "ServiceAccount", name, "default")))
    yield name
    installed.api.delete(Ref.of(made), uid=made["metadata"]["uid"])


def test_katib_alone_goes_and_pods_start_in_a_profile_as_before(installed: Installed, profile: str) -> None:
    """Its webhook on pods fails closed, so that one left behind would refuse every pod of a profile."""
    api = installed.api
    hook = Ref("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "", "katib.kubeflow.org")
    assert api.get(hook) is not None
    before = ours(api)

    said = play("uninstall", uninstall_components=["katib"])
    assert "0 failed" in said
    gone = before - ours(api)
    assert hook in gone
    assert Ref("apps/v1", "Deployment", "kubeflow", "katib-controller") in gone
    assert {ref for ref in gone if ref.kind == "PersistentVolumeClaim"} == set()

    pod = new_object("v1", "Pod", "a", profile, spec={"containers": [{"name": "a", "image": Images().pause_image}]})
    api.create(pod)
    until(lambda: (api.get(Ref.of(pod)) or {}).get("status", {}).get("phase") == "Running", 60)

    assert "changed=0" not in play("install")
    assert ours(api) == before
    assert "changed=0" in play("install")


THEIRS: tuple[Object, ...] = (
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "people", "labels": {"team": "people"}}},
    new_object("v1", "ConfigMap", "theirs", "volcano-monitoring", data={"a": "1"}),
    new_object(
        "kubeflow.org/v1",
        "PyTorchJob",
        "theirs",
        "people",
        spec={
            "runPolicy": {"suspend": True},
            "pytorchReplicaSpecs": {
                "Worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "pytorch", "image": "a"}]}}}
            },
        },
    ),
)


def test_the_whole_is_removed_also_after_kills_and_installed_again_over_its_data(installed: Installed) -> None:
    """Objects of others keep UID and resourceVersion; data stays until it is named."""
    api = installed.api
    for obj in THEIRS:
        api.apply(obj, manager="kubectl")
    job = Ref.of(THEIRS[2])
    until(lambda: (api.get(job) or {}).get("status"))  # the operator has written what it will
    before = {Ref.of(obj): marks(api, Ref.of(obj)) for obj in THEIRS}

    for left in (560, 300, 40):
        kill_uninstallation(api, left)

    play("uninstall")
    stay = {(ref.kind, ref.name) for ref in ours(api)}
    assert stay == {
        ("CustomResourceDefinition", "profiles.kubeflow.org"),
        ("CustomResourceDefinition", "pytorchjobs.kubeflow.org"),
        ("Namespace", "kubeflow"),
        ("Namespace", "volcano-monitoring"),
        ("PersistentVolumeClaim", "katib-mysql"),
        ("PersistentVolumeClaim", "minio-pvc"),
        ("PersistentVolumeClaim", "mysql-pv-claim"),
        ("Profile", "kubeflow-user-example-com"),
    }
    assert {ref: marks(api, ref) for ref in before} == before
    assert "changed=0" in play("uninstall")

    assert "changed=0" not in play("install")
    assert "changed=0" in play("install")

    for ref in before:
        if live := api.get(ref):
            api.delete(ref, uid=live["metadata"]["uid"])
    data = [f"PersistentVolumeClaim kubeflow/{name}" for name in ("katib-mysql", "minio-pvc", "mysql-pv-claim")]
    secrets = [f"Secret kubeflow-volcano/{name}" for name in ("first-user", "store-passwords")]
    named = [*data, "Profile kubeflow-user-example-com", *secrets]
    assert "0 kept, 0 failed" in play("uninstall", uninstall_data=named)
    assert ours(api) == set()
    spaces = {item["metadata"]["name"] for item in api.list("v1", "Namespace").items}
    assert spaces - {"people"} == {"default", "kube-node-lease", "kube-public", "kube-system"}
    assert api.list("v1", "PersistentVolume").items == ()
    assert "changed=0" in play("uninstall")


def kill_uninstallation(api: Cluster, left: int) -> None:
    """Begin it, and kill it once fewer objects are left."""
    running = started("uninstall")
    until(lambda: len(ours(api)) < left or running.poll() is not None, 240)
    running.kill()
    running.communicate()


def marks(api: Cluster, ref: Ref) -> tuple[str, str]:
    meta = (api.get(ref) or {})["metadata"]
    return meta["uid"], meta["resourceVersion"]
