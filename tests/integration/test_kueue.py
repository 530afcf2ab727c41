"""Kueue 0.17.0 beside Volcano 1.15.1: what it holds back is explained by what it writes; each remedy starts the job.

Fields and messages are those of its controllers; everything is read in both versions that they serve.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.validators.explain.model import Explanation, Finding, State
from kubeflow_volcano.validators.explain.reading import kueue as reading
from kubeflow_volcano.validators.explain.reading.situation import read_situation
from kubeflow_volcano.validators.explain.rendering import document, render
from kubeflow_volcano.validators.explain.scheduling.kueue import QUEUE_LABEL, VERSIONS
from kubeflow_volcano.validators.explain.stages import explain
from tests.integration.breaking import settle, space, vanish
from tests.integration.explaining import SIMULATED, job
from tests.integration.test_explain_eviction import done
from tests.integration.volcanos import Volcano, volcano
from tests.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(900)]

API = VERSIONS[0]
CONTROLLER = Ref("apps/v1", "Deployment", "kueue-system", "kueue-controller-manager")
ONE_CPU: Object = {"resources": {"requests": {"cpu": "1"}}}
OF_BRANCH = "us-central1-docker.pkg.dev/k8s-staging-images/kueue/kueue:main"
IMAGE = "registry.k8s.io/kueue/kueue:v0.17.0"
KINDS = ("Job", "PyTorchJob")
LABELS = {QUEUE_LABEL: "people"}
PRIORITY = "kueue.x-k8s.io/priority-class"
_OF_CLUSTER = ("ClusterQueue", "ResourceFlavor", "AdmissionCheck", "WorkloadPriorityClass")
_HELD = (
    *(("batch/v1", "Job"), ("kubeflow.org/v1", "PyTorchJob"), ("batch.volcano.sh/v1alpha1", "Job")),
    *(("apps/v1", "Deployment"), ("apps/v1", "StatefulSet"), ("v1", "Pod")),
)


@pytest.fixture(scope="module")
def stand() -> Iterator[Volcano]:
    with volcano("1.35", "kueue") as found:
        found.installed()
        found.with_operator()
        manifest = kubectl(
            found.kubeconfig, "kustomize", str(found.kubeconfig.parent / "upstream/kueue/config/default")
        )
        assert OF_BRANCH in manifest
        kubectl(found.kubeconfig, "apply", "--server-side", "-f", "-", given=manifest.replace(OF_BRANCH, IMAGE))
        settle(found.cluster, CONTROLLER)
        yield found


def kubectl(kubeconfig: Path, *arguments: str, given: str = "") -> str:
    command = [str(kubeconfig.parent / "bin/kubectl"), "--kubeconfig", str(kubeconfig), *arguments]
    return subprocess.run(command, input=given, check=True, capture_output=True, text=True).stdout


@dataclass(frozen=True)
class Queue:
    """A namespace whose LocalQueue `people` is of a ClusterQueue with that name of one flavor with that name."""

    cluster: Cluster
    kubeconfig: Path
    name: str

    def create(self, obj: Object) -> Object:
        inside = {} if obj["kind"] in _OF_CLUSTER else {"namespace": self.name}
        return self.cluster.create({**obj, "metadata": {**obj["metadata"], **inside}})

    def flavor(self, **spec: Any) -> Object:
        return new_object(API, "ResourceFlavor", self.name, spec=spec)

    def whole(self, cpu: str = "2", **spec: Any) -> Object:
        flavor = {"name": self.name, "resources": [{"name": "cpu", "nominalQuota": cpu}]}
        group = {"coveredResources": ["cpu"], "flavors": [flavor]}
        return new_object(
            API, "ClusterQueue", self.name, spec={"namespaceSelector": {}, "resourceGroups": [group], **spec}
        )

    def local(self, **spec: Any) -> Object:
        return new_object(API, "LocalQueue", "people", spec={"clusterQueue": self.name, **spec})

    def patch(self, kind: str, **spec: Any) -> None:
        inside = {} if kind in _OF_CLUSTER else {"namespace": self.name}
        ref = Ref(API, kind, inside.get("namespace", ""), self.name if kind in _OF_CLUSTER else "people")
        self.cluster.patch(ref, {"spec": spec})

    def submit(self, kind: str, name: str, pods: int = 2, labels: dict[str, str] | None = None, **pod: Any) -> Object:
        """A job of so many pods with one CPU each."""
        if kind == "Job":
            spec = {"restartPolicy": "Never", **template(**pod)}
            counted = {"parallelism": pods, "completions": pods}
            made = new_object("batch/v1", "Job", name, spec={**counted, "template": {"spec": spec}})
        else:
            made = job(name, {"Master": 1, "Worker": pods - 1}, ONE_CPU, tolerations=SIMULATED, **pod)
        return self.create({**made, "metadata": {"name": name, "labels": {**LABELS, **(labels or {})}}})

    def delete(self, obj: Object) -> None:
        self.cluster.delete(Ref.of(obj), uid=obj["metadata"]["uid"], propagation="Background", grace_seconds=0)

    def explained(self, kind: str, name: str, version: str = API) -> Explanation:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reading, "VERSIONS", (version,))
            return explain(read_situation(self.cluster, self.name, name, {"Job": "jobs.batch"}.get(kind, kind)))

    def told(self, kind: str, name: str, *expected: str) -> Finding:
        """The first of the causes, once these are all."""
        found = self._until(kind, name, lambda found: reasons(found, blocks=True) == [*expected])
        return next(item for item in found.findings if item.blocks)

    def says(self, kind: str, name: str, reason: str) -> Finding:
        """The finding, once it is there."""
        found = self._until(kind, name, lambda found: reason in reasons(found))
        return next(item for item in found.findings if item.reason == reason)

    def starts(self, kind: str, name: str) -> None:
        self._until(kind, name, lambda found: found.state is State.STARTED and not found.blocked)

    def _until(self, kind: str, name: str, asked: Callable[[Explanation], bool]) -> Explanation:
        """What is said of it once that is what was asked for, whichever of Kueue's versions is read."""
        last: list[Explanation] = []

        def again() -> bool:
            last[:] = [self.explained(kind, name, version) for version in VERSIONS]
            return all(map(asked, last))

        try:
            until(again, 60, every=1)
        except AssertionError as error:
            raise AssertionError("\n".join([str(error), *(render(document(item)) for item in last)])) from error
        return last[0]


def reasons(found: Explanation, *, blocks: bool = False) -> list[str]:
    return [item.reason for item in found.findings if item.blocks or not blocks]


def template(**more: Any) -> Object:
    """The spec of a pod with one CPU that runs on a simulated node, or a real one."""
    container = {"name": "main", "image": PAUSE, **ONE_CPU}
    return {"terminationGracePeriodSeconds": 0, "tolerations": SIMULATED, "containers": [container], **more}


@contextmanager
def queue(stand: Volcano, *without: str, cpu: str = "2", **spec: Any) -> Iterator[Queue]:
    """The namespace, and of flavor, whole and local all that it is not to be without; behind it nothing is left."""
    with space(stand.cluster) as name:
        found = Queue(stand.cluster, stand.kubeconfig, name)
        try:
            for kind, item in (
                ("ResourceFlavor", found.flavor()),
                ("ClusterQueue", found.whole(cpu, **spec)),
                ("LocalQueue", found.local()),
            ):
                if kind not in without:
                    found.create(item)
            yield found
        finally:
            emptied(found)


def emptied(found: Queue) -> None:
    """Jobs and Workloads first: Kueue keeps a ClusterQueue that has some, and a flavor that a ClusterQueue names.

    It keeps pods of a group, too, for others in their place.
    """
    for version, kind in _HELD:
        for item in found.cluster.list(version, kind, namespace=found.name).items:
            found.delete(item)
    for version, kind in (("v1", "Pod"), (API, "Workload")):
        for item in found.cluster.list(version, kind, namespace=found.name).items:
            found.cluster.patch(Ref.of(item), {"metadata": {"finalizers": None}})
            found.delete(item)
    until(lambda: not found.cluster.list(API, "Workload", namespace=found.name).items)
    for kind in _OF_CLUSTER:
        for item in found.cluster.list(API, kind).items:
            if item["metadata"]["name"].startswith(found.name):
                vanish(found.cluster, item)


def status(cluster: Cluster, obj: Object, change: Object) -> None:
    """Write its status, as its controller would."""
    ref = Ref.of(obj)
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name) + "/status"
    cluster.request("PATCH", path, body={"status": change}, content_type="application/merge-patch+json")


def active(place: Queue, check: Object) -> None:
    """The check has a controller."""
    now = {"lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "Up", "message": "up"}
    status(place.cluster, check, {"conditions": [{"type": "Active", "status": "True", **now}]})


def passed(place: Queue, check: str) -> None:
    """The check's controller lets every Workload pass."""
    for item in place.cluster.list(API, "Workload", namespace=place.name).items:
        now = {"lastTransitionTime": "2026-01-01T00:00:00Z", "message": "as it should be"}
        status(place.cluster, item, {"admissionChecks": [{"name": check, "state": "Ready", **now}]})


@pytest.mark.parametrize("kind", KINDS)
def test_each_thing_that_the_queue_lacks_is_named_and_with_all_of_them_the_job_starts(
    stand: Volcano, kind: str
) -> None:
    with queue(stand, "ResourceFlavor", "ClusterQueue", "LocalQueue") as place:
        place.submit(kind, "train")
        place.told(kind, "train", "LocalQueueMissing")
        place.create(place.local())
        place.told(kind, "train", "ClusterQueueMissing")
        name = f"{place.name}-check"
        place.create(place.whole(stopPolicy="Hold", admissionChecksStrategy={"admissionChecks": [{"name": name}]}))
        done(place.told(kind, "train", "ClusterQueueStopped"), place.kubeconfig)
        place.told(kind, "train", "ResourceFlavorMissing")
        place.create(place.flavor())
        place.told(kind, "train", "AdmissionCheckMissing")
        check = place.create(new_object(API, "AdmissionCheck", name, spec={"controllerName": "example.org/nobody"}))
        place.told(kind, "train", "AdmissionCheckInactive")
        active(place, check)
        place.told(kind, "train", "AdmissionCheckPending")
        passed(place, name)
        place.starts(kind, "train")


@pytest.mark.parametrize("kind", KINDS)
def test_quota_that_is_never_enough_is_told_apart_from_quota_that_others_use(stand: Volcano, kind: str) -> None:
    with queue(stand) as place:
        first = place.submit(kind, "first")
        place.starts(kind, "first")
        place.submit(kind, "second")
        full = place.told(kind, "second", "KueueQuotaFull")
        assert any("nominalQuota 2, reserved 2" in line for line in full.details)
        place.delete(first)
        place.starts(kind, "second")
        place.submit(kind, "large", 3)
        place.told(kind, "large", "KueueQuotaTooSmall")
        place.patch("ClusterQueue", **place.whole("5")["spec"])
        place.starts(kind, "large")


def test_a_job_that_no_flavor_is_for(stand: Volcano) -> None:
    with queue(stand) as place:
        place.patch("ResourceFlavor", nodeLabels={"example.org/room": "a"}, nodeTaints=[])
        place.submit("Job", "other", nodeSelector={"example.org/room": "b"})
        place.told("Job", "other", "FlavorMismatch")


def test_a_resource_and_a_namespace_that_the_cluster_queue_leaves_out(stand: Volcano) -> None:
    away = {"matchLabels": {"example.org/team": "a"}}
    with queue(stand, namespaceSelector=away) as place:
        gpu = {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}
        container = {"name": "main", "image": PAUSE, "resources": gpu}
        place.submit("Job", "gpus", 1, containers=[container])
        place.told("Job", "gpus", "NamespaceNotSelected")
        place.cluster.patch(Ref("v1", "Namespace", "", place.name), {"metadata": {"labels": away["matchLabels"]}})
        place.told("Job", "gpus", "ResourceNotCovered")
        flavor = {"name": place.name, "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "1"}]}
        place.patch("ClusterQueue", resourceGroups=[{"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor]}])
        place.starts("Job", "gpus")


@pytest.mark.parametrize("kind", KINDS)
def test_a_job_of_more_value_takes_the_quota_and_is_named(stand: Volcano, kind: str) -> None:
    with queue(stand, preemption={"withinClusterQueue": "LowerPriority"}) as place:
        for name, value in (("low", 1), ("high", 9)):
            meta = {"name": f"{place.name}-{name}"}
            place.create({"apiVersion": API, "kind": "WorkloadPriorityClass", "metadata": meta, "value": value})
        place.submit(kind, "low", labels={PRIORITY: f"{place.name}-low"})
        place.starts(kind, "low")
        high = place.submit(kind, "high", labels={PRIORITY: f"{place.name}-high"})
        place.starts(kind, "high")
        place.told(kind, "low", "KueueQuotaFull")
        found = place.says(kind, "low", "Preempted")
        assert any("preempted by Workload" in line and "-high-" in line for line in found.details)
        place.delete(high)
        place.starts(kind, "low")


def test_a_local_queue_is_stopped_and_started_by_the_printed_command(stand: Volcano) -> None:
    with queue(stand) as place:
        place.submit("Job", "train")
        place.starts("Job", "train")
        place.patch("LocalQueue", stopPolicy="HoldAndDrain")
        place.says("Job", "train", "Evicted")
        done(place.told("Job", "train", "LocalQueueStopped"), place.kubeconfig)
        place.starts("Job", "train")


def test_a_workload_is_deactivated_and_activated_by_the_printed_command(stand: Volcano) -> None:
    with queue(stand) as place:
        place.submit("Job", "train")
        place.starts("Job", "train")
        (item,) = place.cluster.list(API, "Workload", namespace=place.name).items
        place.cluster.patch(Ref.of(item), {"spec": {"active": False}})
        done(place.told("Job", "train", "WorkloadDeactivated"), place.kubeconfig)
        place.starts("Job", "train")


def labelled(kind: str, replicas: int) -> Object:
    """A workload of Kubernetes whose pods Kueue gates, one by one or all together."""
    chosen = {"matchLabels": {"app": "web"}}
    pods = {"metadata": {"labels": {"app": "web"}}, "spec": template()}
    spec = {"replicas": replicas, "selector": chosen, "template": pods}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "labels": LABELS}, "spec": spec}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_pods_that_kueue_gates_are_explained_by_their_workload(stand: Volcano, kind: str) -> None:
    with queue(stand, cpu="1") as place:
        place.create(labelled(kind, 2))
        # A Deployment has a Workload for each pod, of which one fits.
        place.told(kind, "web", "KueueQuotaFull" if kind == "Deployment" else "KueueQuotaTooSmall")
        place.patch("ClusterQueue", **place.whole("2")["spec"])
        place.starts(kind, "web")


def pod(name: str, **metadata: Any) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": template()}


def test_a_plain_pod_that_kueue_gates(stand: Volcano) -> None:
    with queue(stand, "LocalQueue") as place:
        place.create(pod("alone", labels=LABELS))
        place.told("Pod", "alone", "LocalQueueMissing")
        place.create(place.local())
        place.starts("Pod", "alone")


def test_a_group_of_pods_waits_for_all_of_its_members(stand: Volcano) -> None:
    with queue(stand) as place:
        group = {"labels": {**LABELS, "kueue.x-k8s.io/pod-group-name": "gang"}}
        group["annotations"] = {"kueue.x-k8s.io/pod-group-total-count": "2"}
        place.create(pod("gang-0", **group))
        place.told("Pod", "gang-0", "PodsOfGroupMissing")
        place.create(pod("gang-1", **group))
        place.starts("Pod", "gang-0")


def test_two_queues_of_one_job_are_named_as_what_they_are(stand: Volcano) -> None:
    with queue(stand, cpu="1") as place:
        place.submit("PyTorchJob", "both")
        place.told("PyTorchJob", "both", "KueueQuotaTooSmall")
        place.says("PyTorchJob", "both", "QueuedTwice")
        place.patch("ClusterQueue", **place.whole("2")["spec"])
        place.starts("PyTorchJob", "both")


def vcjob(name: str, pods: int, labels: Object, pod_labels: Object, **pod: Any) -> Object:
    task = {"name": "w", "replicas": pods, "template": {"metadata": {"labels": pod_labels}, "spec": template(**pod)}}
    spec = {"minAvailable": pods, "schedulerName": "volcano", "tasks": [task]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
    }


def test_a_job_of_volcano_is_no_job_of_kueue_and_its_pods_may_be(stand: Volcano) -> None:
    with queue(stand, cpu="1") as place:
        place.create(vcjob("unread", 2, LABELS, {}, nodeSelector={"example.org/no": "where"}))
        place.told("vcjob", "unread", "NoNodeFitsSelector")
        place.says("vcjob", "unread", "KueueLabelNotRead")
        place.create(vcjob("each", 2, {}, LABELS))
        place.told("vcjob", "each", "KueueQuotaFull")
        place.says("vcjob", "each", "QueuedTwice")
        place.patch("ClusterQueue", **place.whole("2")["spec"])
        place.starts("vcjob", "each")
