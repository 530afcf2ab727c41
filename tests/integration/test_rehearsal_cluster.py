"""What a running rehearsal cluster does: one cluster of this file's own, shared by its tests.

$KFV_TEST_GENERATION names another generation than the default one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.watch.observer import Observer, Subject
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.rehearsal.cluster.status import PodStatus, read_status
from kubeflow_volcano.rehearsal.inside.placement import REASON_ANNOTATION, SIMULATED_LABEL
from kubeflow_volcano.rehearsal.lifecycle import UpResult, down, up
from kubeflow_volcano.rehearsal.spec import ClusterPaths, RehearsalSpec
from tests.waiting import watched

pytestmark = pytest.mark.cluster

GENERATION = os.environ.get("KFV_TEST_GENERATION") or RehearsalSpec().generation
SPEC = RehearsalSpec(f"t-{uuid.uuid4().hex[:8]}", generation=GENERATION)
PREFIX = "rehearsal.kubeflow-volcano.io"


@dataclass(frozen=True)
class Running:
    """The cluster, how it came up, and short ways to what the tests do with it."""

    result: UpResult
    api: Cluster
    load: float
    """The machine's load average before the start."""

    def create(self, name: str, image: str, *command: str, **more: Any) -> Object:
        """Create a pod in the namespace default."""
        container: dict[str, Any] = {"name": "main", "image": image} | more.pop("container", {})
        if command:
            container["command"] = list(command)
        metadata = {"name": name, "namespace": "default"} | more.pop("metadata", {})
        spec = {"containers": [container], "restartPolicy": "Never", "terminationGracePeriodSeconds": 0} | more
        return self.api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def until(self, subject: Subject, content: Callable[[Object], bool], seconds: float = 240) -> Object:
        """An object of `subject` as soon as it is as wanted; fails with its last state."""
        return watched(self.api, subject, content, seconds)

    def pod_until(self, name: str, content: Callable[[Object], bool], seconds: float = 240) -> Object:
        """The same for one pod."""
        return self.until(Subject("v1", "Pod", namespace="default", fields=f"metadata.name={name}"), content, seconds)

    def told(self, name: str) -> PodStatus:
        """What `status` says of a pod."""
        (found,) = [pod for pod in read_status(SPEC.name).pods if (pod.namespace, pod.name) == ("default", name)]
        return found


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    load = os.getloadavg()[0]
    try:
        result = up(SPEC)
        yield Running(result, Cluster.connect(result.kubeconfig), load)
    finally:
        assert down(SPEC.name).left == ()


def phase(*wanted: str) -> Callable[[Object], bool]:
    return lambda pod: pod["status"].get("phase") in wanted


def waits_for(reason: str) -> Callable[[Object], bool]:
    return lambda pod: any(
        item["state"].get("waiting", {}).get("reason") == reason for item in pod["status"].get("containerStatuses", ())
    )


def test_it_comes_up_within_its_limits(running: Running) -> None:
    assert running.result.changed
    seconds = running.result.seconds
    within = seconds["API ready"] <= 20 and seconds["everything ready"] <= 120
    if not within and running.load > (os.cpu_count() or 1):
        pytest.skip(f"the limits are for a machine that is free; with a load of {running.load:.1f} it took {seconds}")
    assert within, seconds


def test_a_second_up_changes_nothing(running: Running) -> None:
    again = up(SPEC)

    assert again.changes == ()
    assert again.kubeconfig == running.result.kubeconfig


def test_the_kubeconfig_works_with_any_client(running: Running) -> None:
    kubectl = running.result.kubeconfig.with_name("bin") / "kubectl"

    done = subprocess.run(
        [kubectl, "--kubeconfig", running.result.kubeconfig, "get", "nodes", "--output=name"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == [
        "node/cpu-1",
        "node/gpu-1",
        "node/gpu-2",
        "node/gpu-3",
        "node/gpu-4",
        "node/rehearsal-1",
    ]


def test_links_lead_to_upstream_s_own_manifests(running: Running) -> None:
    upstream = running.result.kubeconfig.with_name("upstream")

    assert (upstream / "volcano/installer/volcano-development.yaml").is_file()
    assert (upstream / "training-operator/manifests/overlays/standalone/kustomization.yaml").is_file()
    assert (upstream / "local-path-provisioner/deploy").is_dir()


def test_an_unknown_image_fails_honestly_on_the_real_node(running: Running) -> None:
    running.create("unknown", "nosuch/thing:1", restartPolicy="Always")

    pod = running.pod_until("unknown", waits_for("ImagePullBackOff"))

    assert pod["spec"]["nodeName"] == "rehearsal-1"
    assert SIMULATED_LABEL not in pod["metadata"].get("labels", {})
    assert running.told("unknown").phase in {"ImagePullBackOff", "ErrImagePull"}
    assert not running.told("unknown").simulated


def test_a_pod_that_asks_for_a_gpu_runs_on_a_simulated_node_and_says_so(running: Running) -> None:
    gpu = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    running.create("gpu", "nosuch/thing:1", container=gpu)

    pod = running.pod_until("gpu", phase("Running"))

    assert pod["spec"]["nodeName"].startswith("gpu-")
    assert pod["metadata"]["labels"][SIMULATED_LABEL] == "true"
    assert "nvidia.com/gpu" in pod["metadata"]["annotations"][REASON_ANNOTATION]
    assert running.told("gpu").simulated
    running.api.delete(Ref.of(pod), uid=pod["metadata"]["uid"])


def test_a_simulated_pod_ends_as_its_annotation_says_and_not_before(running: Running) -> None:
    image = "kubeflow/tf-dist-mnist-test:latest"
    for name, annotation in (("well", "succeed-after"), ("badly", "fail-after")):
        running.create(name, image, metadata={"name": name, "annotations": {f"{PREFIX}/{annotation}": "3s"}})
    running.create("endless", image)

    well = running.pod_until("well", phase("Succeeded"))
    badly = running.pod_until("badly", phase("Failed"))

    assert well["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert badly["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 1
    endless = running.pod_until("endless", phase("Running"))
    assert conditions(endless)["Ready"]["status"] == "True"
    running.api.delete(Ref.of(endless), uid=endless["metadata"]["uid"])
    gone = Subject("v1", "Pod", namespace="default", fields="metadata.name=endless")
    with Observer(running.api, [gone], Deadline(120)) as observer:
        assert any(change and (change.type == "DELETED" or not change.objects) for change in observer.changes())


def test_a_pod_of_another_scheduler_keeps_it(running: Running) -> None:
    gpu = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}

    pod = running.create("volcanic", "nosuch/thing:1", schedulerName="volcano", container=gpu)

    assert pod["spec"]["schedulerName"] == "volcano"
    assert pod["metadata"]["labels"][SIMULATED_LABEL] == "true"
    assert "nodeName" not in pod["spec"]
    running.api.delete(Ref.of(pod), uid=pod["metadata"]["uid"])


def test_system_pods_are_never_simulated(running: Running) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "left-alone", "namespace": "kube-system"},
        "spec": {"containers": [{"name": "a", "image": "a", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]},
    }

    assert SIMULATED_LABEL not in running.api.create(pod, dry_run=True)["metadata"].get("labels", {})


def test_pods_reach_each_other_by_service_name_and_nothing_beyond(running: Running) -> None:
    served = "mkdir /www && echo hello > /www/index.html && exec httpd -f -h /www -p 8080"
    running.create("server", "busybox:1.36", "sh", "-c", served, metadata={"name": "server", "labels": {"app": "web"}})
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    running.api.create(service)
    running.pod_until("server", phase("Running"))
    # busybox of Debian 12: nslookup wants the full name, and wget must not be given a timeout
    asked = "until wget -qO- http://web.default.svc.cluster.local; do sleep 0.2; done; ! ping -c1 -W1 192.0.2.1"
    running.create("client", "busybox:1.36", "sh", "-c", asked)

    running.pod_until("client", phase("Succeeded"))

    assert "hello" in running.api.logs("default", "client").splitlines()


def test_a_webhook_is_reached_at_its_real_pod(running: Running) -> None:
    """Volcano's own manifest, unmodified: its webhook refuses a job that it alone knows to be wrong."""
    manifest = running.result.kubeconfig.with_name("upstream") / "volcano/installer/volcano-development.yaml"
    objects = [obj for obj in yaml.safe_load_all(manifest.read_text()) if obj]
    for obj in sorted(objects, key=lambda obj: obj["kind"] not in {"Namespace", "CustomResourceDefinition"}):
        running.api.apply(obj, manager="test")
    admission = Subject("apps/v1", "Deployment", namespace="volcano-system", fields="metadata.name=volcano-admission")
    running.until(admission, lambda obj: conditions(obj).get("Available", {}).get("status") == "True")
    task = {"replicas": 1, "name": "a", "template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "wrong", "namespace": "default"},
        "spec": {"schedulerName": "volcano", "minAvailable": 5, "tasks": [task]},
    }
    hook = Ref(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "",
        "volcano-admission-service-jobs-validate",
    )
    running.until(
        Subject(hook.api_version, hook.kind, fields=f"metadata.name={hook.name}"),
        lambda obj: bool(obj["webhooks"][0]["clientConfig"].get("caBundle")),
    )

    for _ in range(600):  # kube-proxy may be a moment behind
        with pytest.raises(ApiError) as refusal:
            running.api.create(job, dry_run=True)
        if "failed to call webhook" not in str(refusal.value):
            break
        time.sleep(0.1)

    assert "minAvailable" in str(refusal.value)
    assert read_status(SPEC.name).webhooks == ()  # nothing is simulated that is there


@pytest.mark.usefixtures("running")
def test_another_number_of_gpus_changes_the_nodes_and_nothing_else() -> None:
    smaller = up(replace(SPEC, gpu_nodes=2, gpus_per_node=3))

    assert sorted(smaller.changes) == [
        "node gpu-1 resized to 3 nvidia.com/gpu",
        "node gpu-2 resized to 3 nvidia.com/gpu",
        "node gpu-3 deleted",
        "node gpu-4 deleted",
    ]
    assert [(node.name, node.devices) for node in read_status(SPEC.name).nodes if node.simulated] == [
        ("cpu-1", ""),
        ("gpu-1", "3 nvidia.com/gpu"),
        ("gpu-2", "3 nvidia.com/gpu"),
    ]
    assert up(replace(SPEC, gpu_nodes=2, gpus_per_node=3)).changes == ()
    assert len(up(SPEC).changes) == 4


@pytest.mark.usefixtures("running")
def test_commands_inside_the_node_and_its_logs() -> None:
    program = [sys.executable, "-m", "kubeflow_volcano.rehearsal"]

    name = subprocess.run([*program, "exec", "--name", SPEC.name, "--", "hostname"], capture_output=True, check=True)
    code = subprocess.run([*program, "exec", "--name", SPEC.name, "--", "sh", "-c", "exit 7"], check=False).returncode
    log = subprocess.run([*program, "logs", "--name", SPEC.name, "kubelet"], capture_output=True, text=True, check=True)

    assert name.stdout.decode().strip() == "rehearsal-1"
    assert code == 7
    assert "kubelet" in log.stdout


@pytest.mark.usefixtures("running")
def test_the_node_sees_the_system_write_protected_and_has_no_way_out() -> None:
    inside = [sys.executable, "-m", "kubeflow_volcano.rehearsal", "exec", "--name", SPEC.name, "--"]

    for path in ("/usr/here", "/host/images/here", "/host/lib/here", "/etc/kubernetes/pki/here"):
        done = subprocess.run([*inside, "sh", "-c", f": > {path}"], capture_output=True, text=True, check=False)
        assert "Read-only file system" in done.stderr, path
    routes = subprocess.run([*inside, "ip", "route"], capture_output=True, text=True, check=True).stdout
    assert "default" not in routes


@pytest.mark.usefixtures("running")
def test_the_host_s_kernel_settings_are_its_own() -> None:
    """The kubelet insists on vm.overcommit_memory=1 and kernel.panic=10; it got them from files of its own."""
    inside = [sys.executable, "-m", "kubeflow_volcano.rehearsal", "exec", "--name", SPEC.name, "--"]
    stand_ins = ClusterPaths.of(SPEC.name).home / "plan.json"
    settings: dict[str, str] = yaml.safe_load(stand_ins.read_text())["sysctls"]

    seen = subprocess.run(
        [*inside, "cat", *(f"/proc/sys/{key}" for key in settings)], capture_output=True, text=True, check=True
    ).stdout.split()
    here = [Path("/proc/sys", key).read_text().strip() for key in settings]

    assert seen == list(settings.values())
    assert here != seen


def test_a_webhook_of_somebody_else_that_is_away_is_told_and_does_not_stop_up(running: Running) -> None:
    name = "away.example.invalid"
    hook = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": name,
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "sideEffects": "None",
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            }
        ],
    }
    made = running.api.create(hook)
    lines: list[str] = []
    try:
        for _ in range(20):  # a new webhook takes a moment until the API server asks it
            assert up(SPEC, lines.append).changes == ()
            if any("refuses pods" in line for line in lines):
                break
    finally:
        running.api.delete(Ref.of(made), uid=made["metadata"]["uid"])

    assert any("refuses pods" in line and name in line for line in lines)
