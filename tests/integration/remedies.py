"""Every remedy with commands that change something: how the cluster is broken so that it is printed.

Each is done literally: what the finding prints is given to a shell, and then the finding is gone.
"""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from kubeflow_volcano.cluster.admission.pod_security import ENFORCE
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.connection import TABLE
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.mesh import INJECTION, PROXY
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from tests.integration.breaking import absent, made, patched, settle, turned_off, vanish
from tests.integration.injecting import injecting, self_signed
from tests.samples.certificates import CA, pem, signer
from tests.waiting import until


@dataclass(frozen=True)
class Broken:
    """Where a way to break acts: the cluster, its administrator's kubeconfig, and a namespace for what is made."""

    cluster: Cluster
    kubeconfig: Path
    where: str

    def inside(self, *command: str) -> str:
        """What a command prints that is run inside the real node."""
        program = [sys.executable, "-m", "kubeflow_volcano.rehearsal", "exec", "--name", self.kubeconfig.parent.name]
        return subprocess.run([*program, "--", *command], capture_output=True, check=True, text=True).stdout


@dataclass(frozen=True)
class Remedy:
    """A remedy as code has it, in `place`, and a way to break the cluster that makes `by` print it for `reason`.

    `by` is the id of a check, or 'Kind name' of a job in the namespace that `explain` is asked about. `on_node`: the
    commands are for the node. `restarts`: webhook configurations whose backend they restart. `profile`: a component
    without which `by` judges nothing.
    """

    name: str
    place: str
    by: str
    reason: str
    make: Callable[[Broken], contextlib.AbstractContextManager[Any]]
    on_node: bool = False
    restarts: tuple[Ref, ...] = ()
    profile: str | tuple[str, ...] = "training"


def deployment(name: str) -> Ref:
    namespace, _, name = name.partition("/")
    return Ref("apps/v1", "Deployment", namespace, name)


ADMISSION = deployment("volcano-system/volcano-admission")
CONTROLLERS = deployment("volcano-system/volcano-controllers")
COREDNS = deployment("kube-system/coredns")
SCHEDULER = deployment("volcano-system/volcano-scheduler")
OPERATOR = deployment("kubeflow/training-operator")
DASHBOARD = deployment("kubeflow/centraldashboard")
CONFIGURATION = Ref("v1", "ConfigMap", "volcano-system", "volcano-scheduler-configmap")
LEASE = Ref("coordination.k8s.io/v1", "Lease", "", "")
QUEUE = Ref("scheduling.volcano.sh/v1beta1", "Queue", "", "default")
STORAGE_CLASS = Ref("storage.k8s.io/v1", "StorageClass", "", "local-path")
PODGROUPS = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "podgroups.scheduling.volcano.sh")
METRICS = Ref("v1", "Service", "volcano-system", "volcano-scheduler-service")
NUMA = PODGROUPS._replace(name="numatopologies.nodeinfo.volcano.sh")
OPERATOR_ROLE = Ref("rbac.authorization.k8s.io/v1", "ClusterRole", "", "training-operator")
HOOKS = "admissionregistration.k8s.io/v1"
JOBS_HOOK = Ref(HOOKS, "ValidatingWebhookConfiguration", "", "volcano-admission-service-jobs-validate")
OPERATORS_HOOK = Ref(HOOKS, "ValidatingWebhookConfiguration", "", "validator.training-operator.kubeflow.org")
QUEUES_HOOK = Ref(HOOKS, "ValidatingWebhookConfiguration", "", "volcano-admission-service-queues-validate")
FORMER_API = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": "v1.former.example.com"},
    "spec": {
        "group": "former.example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "service": {"namespace": "default", "name": "former"},
    },
}
RUNTIME = Ref("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "", "torch-distributed")
OPERATOR_LABEL = "control-plane=kubeflow-training-operator"
DEFAULT = "storageclass.kubernetes.io/is-default-class"
CONSUMER = 999
BUSYBOX = "docker.io/library/busybox:1.36"
IDLE_ADMISSION = "exec sleep 3600 # in place of vc-webhook-manager, which needs certificates"
LITTLE = {"requests": {"cpu": "1m", "memory": "8Mi"}}


def left(change: Callable[[Broken], Any]) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    """A change that only the remedy takes back."""

    @contextlib.contextmanager
    def make(at: Broken) -> Iterator[None]:
        change(at)
        yield

    return make


def patching(
    ref: Ref, body: Any, *, subresource: str = "", json_patch: bool = False
) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    """An object with a patch on it, put back behind the block."""

    @contextlib.contextmanager
    def make(at: Broken) -> Iterator[None]:
        with patched(at.cluster, ref, subresource=subresource, json_patch=json_patch) as patch:
            patch(body)
            yield

    return make


@contextlib.contextmanager
def version_lost(at: Broken) -> Iterator[None]:
    """A CRD without the version in which one of its objects is stored."""
    spec = (at.cluster.get(NUMA) or {})["spec"]
    (own,) = spec["versions"]
    # Its answers have the column once the API server goes by the CRD with it: discovery is earlier.
    column = {"name": "stored-in-v0", "type": "string", "jsonPath": ".apiVersion"}
    old = {**own, "name": "v0", "storage": True, "additionalPrinterColumns": [column]}
    path = at.cluster.resource(NUMA.api_version, NUMA.kind).path("", NUMA.name)

    def with_versions(*versions: Object, forget: str = "") -> None:
        if forget:
            stored = [name for name in (at.cluster.get(NUMA) or {})["status"]["storedVersions"] if name != forget]
            body = {"status": {"storedVersions": stored}}
            at.cluster.request("PATCH", f"{path}/status", body=body, content_type="application/merge-patch+json")
        at.cluster.patch(NUMA, {"spec": {"versions": list(versions)}})

    made = {"apiVersion": f"{spec['group']}/v0", "kind": spec["names"]["kind"], "metadata": {"name": "stored-in-v0"}}
    with_versions({**own, "storage": False}, old)
    until(lambda: made["kind"] in at.cluster.kinds(made["apiVersion"]))
    objects = at.cluster.resource(made["apiVersion"], made["kind"]).path()
    until(lambda: column["name"] in columns(at.cluster, objects))
    at.cluster.create(made)
    with_versions(own, {**old, "storage": False})
    with_versions(own, forget="v0")
    try:
        yield
    finally:
        ref = Ref(f"{spec['group']}/{own['name']}", made["kind"], "", "stored-in-v0")
        if live := at.cluster.get(ref):
            at.cluster.delete(ref, uid=live["metadata"]["uid"])
        with_versions(own, forget="v0")


def columns(cluster: Cluster, path: str) -> set[str]:
    """The columns in which the API server shows the objects of a collection; none while it does not serve it."""
    try:
        answer = cluster.request("GET", path, query={"limit": "1"}, accept=TABLE)
    except ApiError:
        return set()
    return {column["name"] for column in answer["columnDefinitions"]}


def foreign(host: str, of: bytes = b"") -> Mapping[str, str]:
    """Key and certificate of an authority that no webhook knows, as data of a Secret; `of` is the key if it stays."""
    certificate, key = self_signed(host, of)
    texts = {"tls.crt": certificate, "tls.key": key}
    return {name: base64.b64encode(text).decode() for name, text in texts.items()}


def with_foreign_certificate(secret: str, host: str) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    namespace, _, name = secret.partition("/")
    ref = Ref("v1", "Secret", namespace, name)
    return left(lambda at: at.cluster.patch(ref, {"data": foreign(host)}))


def configured(old: str, new: str) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    """The scheduler's configuration with another word."""

    @contextlib.contextmanager
    def make(at: Broken) -> Iterator[None]:
        key = "volcano-scheduler.conf"
        text = (at.cluster.get(CONFIGURATION) or {})["data"][key]
        assert old in text
        with patched(at.cluster, CONFIGURATION) as patch:
            patch({"data": {key: text.replace(old, new)}})
            yield

    return make


def on_real_node(body: Object) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    """The only node without taints, patched: the others are simulated."""

    @contextlib.contextmanager
    def make(at: Broken) -> Iterator[None]:
        with patched(at.cluster, Ref("v1", "Node", "", at.inside("hostname").strip())) as patch:
            patch(body)
            yield

    return make


@contextlib.contextmanager
def operator_with_an_old_authority(at: Broken) -> Iterator[None]:
    """An operator that runs and does nothing: one that works writes its authority into the configuration at once."""
    at.inside("sh", "-c", "kill -STOP $(pidof manager)")
    old = pem(signer("old", CA, now=datetime.now(UTC), days=-1).certificate)
    hooks = (at.cluster.get(OPERATORS_HOOK) or {})["webhooks"]
    place, value = "/webhooks/{}/clientConfig/caBundle", base64.b64encode(old).decode()
    changes = [{"op": "replace", "path": place.format(number), "value": value} for number in range(len(hooks))]
    at.cluster.patch(OPERATORS_HOOK, changes, content_type="application/json-patch+json")
    yield


@contextlib.contextmanager
def without_secret(at: Broken) -> Iterator[None]:
    """Volcano's admission started without the Secret that its Job made."""
    gone(at, Ref("v1", "Secret", "volcano-system", "volcano-admission-secret"))
    with turned_off(at.cluster, ADMISSION):
        at.cluster.patch(ADMISSION, {"spec": {"replicas": 1}})
        yield


@contextlib.contextmanager
def without_flag(at: Broken) -> Iterator[None]:
    """The operator without its gang flag, and a job that it creates so."""
    with patched(at.cluster, OPERATOR, json_patch=True) as patch:
        patch([{"op": "replace", "path": "/spec/template/spec/containers/0/args", "value": []}])
        settle(at.cluster, OPERATOR)
        with made(at.cluster, tfjob(at.where, "single")):
            yield


@contextlib.contextmanager
def stopped_operator(at: Broken) -> Iterator[None]:
    """An operator that runs and does nothing, and a waiting job whose PodGroup was deleted meanwhile."""
    ref = Ref(QUEUE.api_version, "PodGroup", at.where, "waits")
    with made(at.cluster, tfjob(at.where, ref.name, cpu="1000")):
        existing = until(lambda: at.cluster.get(ref))
        at.inside("sh", "-c", "kill -STOP $(pidof manager)")
        vanish(at.cluster, existing)
        yield


@contextlib.contextmanager
def cut_off(at: Broken) -> Iterator[None]:
    """A policy that admits pods alone to Volcano's admission.

    A rule of the node's firewall stands in for a network plugin, until there is a policy that admits the API server.
    """
    (pod,) = at.cluster.list("v1", "Pod", namespace="volcano-system", labels="app=volcano-admission").items
    rule = ("OUTPUT", "-p", "tcp", "-d", pod["status"]["podIP"], "--dport", "8443", "-j", "DROP")
    api = "networking.k8s.io/v1"
    peers = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]}
    meta = {"name": "pods-alone", "namespace": "volcano-system"}
    opened, ended = threading.Event(), threading.Event()

    def open_once() -> None:
        names: set[str] = set()
        while not ended.wait(0.5) and not names - {meta["name"]}:
            names = {item["metadata"]["name"] for item in at.cluster.list(api, "NetworkPolicy").items}
        if not ended.is_set():
            opened.set()
        at.inside("iptables", "-D", *rule)

    with made(at.cluster, {"apiVersion": api, "kind": "NetworkPolicy", "metadata": meta, "spec": peers}):
        at.inside("iptables", "-I", *rule)
        plugin = threading.Thread(target=open_once)
        plugin.start()
        try:
            yield
            assert opened.is_set()
        finally:
            ended.set()
            plugin.join()
            for item in at.cluster.list(api, "NetworkPolicy", namespace=meta["namespace"]).items:
                if item["metadata"]["name"] != meta["name"]:
                    at.cluster.delete(Ref.of(item), uid=item["metadata"]["uid"])


@contextlib.contextmanager
def without_path(at: Broken) -> Iterator[None]:
    """A local path provisioner that knows of another node alone, as soon as it has read so."""
    ref = Ref("v1", "ConfigMap", "local-path-storage", "local-path-config")
    paths = {"nodePathMap": [{"node": "another", "paths": ["/opt/local-path-provisioner"]}]}
    with patched(at.cluster, ref) as patch:
        patch({"data": {"config.json": json.dumps(paths)}})
        yield


@contextlib.contextmanager
def without_queue(at: Broken) -> Iterator[None]:
    """No queue default: the webhook that keeps it is gone while it is deleted."""
    before = at.cluster.get(QUEUE)
    assert before is not None
    with absent(at.cluster, QUEUES_HOOK):
        vanish(at.cluster, before)
    yield


@contextlib.contextmanager
def stopped_scheduler(at: Broken) -> Iterator[None]:
    """A scheduler that runs and does nothing."""
    at.inside("sh", "-c", "kill -STOP $(pidof vc-scheduler)")
    with made(at.cluster, tfjob(at.where, "silent")):
        yield


@contextlib.contextmanager
def forgetful_scheduler(at: Broken) -> Iterator[None]:
    """A scheduler that looks at the last pod of the probe's gang while no node takes pods, and stops for good."""
    nodes = [Ref.of({"apiVersion": "v1", "kind": "Node", **item}) for item in at.cluster.list("v1", "Node").items]

    def look_and_stop() -> None:
        until(lambda: _is_judged(at.cluster, "h2-p2"), every=0.2)
        try:
            for node in nodes:
                at.cluster.patch(node, {"spec": {"unschedulable": True}})
            until(lambda: _is_judged(at.cluster, "h2-p3"), every=0.2)
            at.inside("sh", "-c", "kill -STOP $(pidof vc-scheduler)")
        finally:
            for node in nodes:
                at.cluster.patch(node, {"spec": {"unschedulable": None}})

    stopping = threading.Thread(target=look_and_stop)
    stopping.start()
    try:
        yield
    finally:
        stopping.join()


def _is_judged(cluster: Cluster, name: str) -> bool:
    """Whether a scheduler has found no node for a pod of probes, whose name ends so."""
    pods = (item for item in cluster.list("v1", "Pod").items if item["metadata"]["name"].endswith(name))
    return any(conditions(item).get("PodScheduled", {}).get("status") == "False" for item in pods)


@contextlib.contextmanager
def refused_pods(at: Broken) -> Iterator[None]:
    """An operator without pods in a namespace whose level refuses them."""
    space = Ref("v1", "Namespace", "", OPERATOR.namespace)
    try:
        with turned_off(at.cluster, OPERATOR):
            at.cluster.patch(space, {"metadata": {"labels": {ENFORCE: "restricted"}}})
            at.cluster.patch(OPERATOR, {"spec": {"replicas": 1}})
            yield
    finally:
        at.cluster.patch(space, {"metadata": {"labels": {ENFORCE: None}}})


def lease_held(
    ref: Ref, lease: str, *, job: bool = False
) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    """A program that waits for a leader that is gone, for a day; with a job that waits for it."""

    @contextlib.contextmanager
    def make(at: Broken) -> Iterator[None]:
        now = datetime.now(UTC)
        body = {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.kind,
            "metadata": {"name": lease, "namespace": ref.namespace},
            "spec": {
                "holderIdentity": "gone_1",
                "leaseDurationSeconds": 86400,
                "renewTime": (now - timedelta(minutes=1)).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            },
        }
        live = at.cluster.get(ref) or {}
        arguments = live["spec"]["template"]["spec"]["containers"][0].get("args") or []
        elects = [item for item in arguments if not item.startswith("--leader-elect")] + ["--leader-elect=true"]
        path = "/spec/template/spec/containers/0/args"
        with turned_off(at.cluster, ref), patched(at.cluster, ref, json_patch=True) as patch:
            at.cluster.create(body)
            patch(
                [{"op": "add", "path": path, "value": elects}, {"op": "replace", "path": "/spec/replicas", "value": 1}]
            )
            settle(at.cluster, ref)
            with made(at.cluster, tfjob(at.where, "stands")) if job else contextlib.nullcontext():
                yield
        if left := at.cluster.get(LEASE._replace(namespace=ref.namespace, name=lease)):
            at.cluster.delete(Ref.of(left), uid=left["metadata"]["uid"])

    return make


@contextlib.contextmanager
def closed_queue(at: Broken) -> Iterator[None]:
    with patched(at.cluster, QUEUE, subresource="/status") as patch:
        patch({"status": {"state": "Closed"}})
        with made(at.cluster, group(at.where, "shut")):
            yield


@contextlib.contextmanager
def two_defaults(at: Broken) -> Iterator[None]:
    body = {
        "apiVersion": STORAGE_CLASS.api_version,
        "kind": STORAGE_CLASS.kind,
        "metadata": {"name": "kfv-second", "annotations": {DEFAULT: "true"}},
        "provisioner": "example.com/none",
    }
    before = (at.cluster.get(STORAGE_CLASS) or {})["metadata"]["annotations"]
    with made(at.cluster, body):
        yield
    at.cluster.patch(STORAGE_CLASS, {"metadata": {"annotations": {DEFAULT: before[DEFAULT]}}})


def second_volcano(
    of: Ref, *also: Callable[[Broken, Object], Object], program: str = "", role: str = ""
) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    """A program of Volcano beside the release's, and more; with the rights of a ClusterRole if one is named.

    `program` runs in its place; without one it is the real one, with the settings that are built in.
    """

    @contextlib.contextmanager
    def make(at: Broken) -> Iterator[None]:
        (container,) = (at.cluster.get(of) or {})["spec"]["template"]["spec"]["containers"]
        own = {key: container[key] for key in ("name", "image", "imagePullPolicy")}
        own |= {"command": ["sh", "-c", program]} if program else {"args": ["--leader-elect=false"]}
        template = {"metadata": {"labels": {"app": of.name}}, "spec": {"containers": [own]}}
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": of.name}}, "template": template}
        meta = {"name": of.name, "namespace": at.where}
        account = {"kind": "ServiceAccount", "name": "default", "namespace": at.where}
        rights = {
            "apiVersion": OPERATOR_ROLE.api_version,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": at.where},
            "subjects": [account],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
        }
        second = {"apiVersion": of.api_version, "kind": of.kind, "metadata": meta, "spec": spec}
        objects: list[Object] = [*([rights] if role else []), second, *(build(at, second) for build in also)]
        with made(at.cluster, *objects):
            settle(at.cluster, Ref.of(second))
            yield

    return make


def service_of_second(at: Broken, second: Object) -> Object:
    spec = {"selector": second["spec"]["selector"]["matchLabels"], "ports": [{"port": 443, "targetPort": 8443}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "second", "namespace": at.where}, "spec": spec}


def hook_of_second(at: Broken, _second: Object) -> Object:
    """A webhook of it, for a kind that nobody makes."""
    rule = {"apiGroups": ["example.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["jobs"]}
    hook = {
        "name": "second.example.com",
        "clientConfig": {"service": {"namespace": at.where, "name": "second"}},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"apiVersion": HOOKS, "kind": JOBS_HOOK.kind, "metadata": {"name": at.where}, "webhooks": [hook]}


@contextlib.contextmanager
def second_operator(at: Broken) -> Iterator[None]:
    live = at.cluster.get(OPERATOR)
    assert live is not None
    pods = live["spec"]["template"]["spec"]
    container: Object = {"name": "old", "image": pods["containers"][0]["image"], "command": ["sleep", "3600"]}
    labels = {"app": "old"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": "old-operator", "namespace": at.where}
    with made(at.cluster, {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}):
        yield


@contextlib.contextmanager
def profile_of_another(at: Broken) -> Iterator[None]:
    names = {"plural": "profiles", "singular": "profile", "kind": "Profile", "listKind": "ProfileList"}
    shape = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": shape}]
    spec = {"group": "kubeflow.org", "names": names, "scope": "Cluster", "versions": versions}
    crd = {"apiVersion": PODGROUPS.api_version, "kind": PODGROUPS.kind, "spec": spec}
    profile = {"apiVersion": "kubeflow.org/v1", "kind": "Profile", "metadata": {"name": at.where}}
    owner = {"spec": {"owner": {"kind": "User", "name": "a@example.com"}}}
    labels = {"labels": {"app.kubernetes.io/part-of": "kubeflow-profile"}, "annotations": {"owner": "b@example.com"}}
    with made(at.cluster, crd | {"metadata": {"name": "profiles.kubeflow.org"}}):
        until(lambda: "Profile" in at.cluster.kinds("kubeflow.org/v1"))
        at.cluster.patch(Ref("v1", "Namespace", "", at.where), {"metadata": labels})
        with made(at.cluster, profile | owner):
            yield


@contextlib.contextmanager
def driver_off(at: Broken) -> Iterator[None]:
    """A default class of a vendor's driver, whose controller is scaled to zero."""
    driver, labels = "csi.example.com", {"app": "driver"}
    made_of = {"apiVersion": STORAGE_CLASS.api_version, "kind": STORAGE_CLASS.kind, "provisioner": driver}
    container = {"name": "main", "image": BUSYBOX, "command": ["sh", "-c", f"sleep 3600 # --driver-name={driver}"]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": "driver", "namespace": at.where}
    controller = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
    before = (at.cluster.get(STORAGE_CLASS) or {})["metadata"]["annotations"]
    at.cluster.patch(STORAGE_CLASS, {"metadata": {"annotations": {DEFAULT: "false"}}})
    try:
        with made(
            at.cluster, controller, made_of | {"metadata": {"name": "kfv-vendor", "annotations": {DEFAULT: "true"}}}
        ):
            yield
    finally:
        at.cluster.patch(STORAGE_CLASS, {"metadata": {"annotations": {DEFAULT: before[DEFAULT]}}})


@contextlib.contextmanager
def no_quantity(at: Broken) -> Iterator[None]:
    """A capability that is no quantity, under a CRD without a pattern for it, as Volcano's once was."""
    crd = PODGROUPS._replace(name="queues.scheduling.volcano.sh")
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/capability"
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    with absent(at.cluster, QUEUES_HOOK), patched(at.cluster, crd, json_patch=True) as patch:
        patch([{"op": "replace", "path": path, "value": free}])
        until(lambda: taken(at.cluster, QUEUE, {"spec": {"capability": {"nvidia.com/gpu": "many"}}}))
        yield


def taken(cluster: Cluster, ref: Ref, body: Object) -> bool:
    """Whether the API server takes the patch."""
    try:
        cluster.patch(ref, body)
    except ApiError:
        return False
    return True


@contextlib.contextmanager
def missed_admission(at: Broken) -> Iterator[None]:
    """A gang that is admitted after its operator looked at it last, without the notifier of the roll-out beside it."""
    ref = Ref(QUEUE.api_version, "PodGroup", at.where, "sleeps")
    with patched(at.cluster, OPERATOR, json_patch=True) as change, patched(at.cluster, QUEUE) as patch:
        change([{"op": "remove", "path": "/spec/template/spec/containers/1"}])
        settle(at.cluster, OPERATOR)
        patch({"spec": {"capability": {"cpu": "1m"}}})
        with made(at.cluster, tfjob(at.where, ref.name, cpu="2m")):
            until(lambda: "Unschedulable" in conditions(at.cluster.get(ref) or {}))
            patch({"spec": {"capability": None}})
            until(lambda: ((at.cluster.get(ref) or {}).get("status") or {}).get("phase") == "Inqueue")
            yield


@contextlib.contextmanager
def early_operator(at: Broken) -> Iterator[None]:
    """An operator that met a job before PodGroup was served."""
    (pod,) = at.cluster.list("v1", "Pod", namespace=OPERATOR.namespace, labels=OPERATOR_LABEL).items
    name, complaint = pod["metadata"]["name"], "could not find the requested resource"
    crd = at.cluster.get(PODGROUPS) or {}
    meta = {key: crd["metadata"][key] for key in ("name", "labels", "annotations") if key in crd["metadata"]}
    vanish(at.cluster, crd)
    try:
        with made(at.cluster, tfjob(at.where, "early")):
            until(lambda: complaint in at.cluster.logs(OPERATOR.namespace, name, OPERATOR.name, tail=200))
    finally:
        at.cluster.create({key: crd[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": meta})
    until(lambda: "PodGroup" in at.cluster.kinds(QUEUE.api_version))
    yield


@contextlib.contextmanager
def half_wired(at: Broken) -> Iterator[None]:
    """A runtime of Trainer without its policy, and a job of it."""
    worker = {"image": BUSYBOX, "command": ["sleep", "3600"], "numNodes": 1, "resourcesPerNode": LITTLE}
    meta = {"name": "half", "namespace": at.where}
    spec = {"runtimeRef": {"name": RUNTIME.name}, "trainer": worker}
    with patched(at.cluster, RUNTIME, json_patch=True) as patch:
        patch([{"op": "remove", "path": "/spec/podGroupPolicy"}])
        with made(at.cluster, {"apiVersion": RUNTIME.api_version, "kind": "TrainJob", "metadata": meta, "spec": spec}):
            yield


@contextlib.contextmanager
def refused_before(at: Broken) -> Iterator[None]:
    """A job whose pods a quota refused often, so that the operator waits long until it tries again."""
    meta = {"name": "none", "namespace": at.where}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"pods": "0"}}}
    with contextlib.ExitStack() as stack:
        with made(at.cluster, quota) as (item,):
            until(lambda: "hard" in (at.cluster.get(Ref.of(item)) or {}).get("status", {}))
            stack.enter_context(made(at.cluster, tfjob(at.where, "again")))
            until(lambda: _refusals(at) > _PATIENT, 240)
        yield


_PATIENT = 12
"""Refusals after which a controller's backoff of 5 ms, doubled each time, is more than 20 s."""


def _refusals(at: Broken) -> int:
    """How often pods of a job were refused for a quota."""
    events = at.cluster.list("v1", "Event", namespace=at.where).items
    return sum(item.get("count", 1) for item in events if "exceeded quota" in item.get("message", ""))


@contextlib.contextmanager
def meshed(at: Broken, *, late: bool) -> Iterator[None]:
    """A dashboard in a namespace that injects sidecars; `late`: it was there before the injector was.

    Otherwise its pod has a sidecar, and the namespace has lost its label since.
    """
    labels, enabled = {"app": "dashboard"}, {INJECTION: "enabled"}
    space = Ref("v1", "Namespace", "", DASHBOARD.namespace)
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sleep", "3600"], "resources": LITTLE}
    pods = {"containers": [container], "terminationGracePeriodSeconds": 0}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pods}}
    meta = {"name": DASHBOARD.name, "namespace": DASHBOARD.namespace}
    dashboard = {"apiVersion": DASHBOARD.api_version, "kind": DASHBOARD.kind, "metadata": meta, "spec": spec}
    sidecar = [{"op": "add", "path": "/spec/containers/-", "value": container | {"name": PROXY}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**meta, "labels": labels}, "spec": pods}
    hook = {"namespaceSelector": {"matchLabels": enabled}, "objectSelector": {"matchLabels": labels}}

    def injector() -> contextlib.AbstractContextManager[None]:
        return injecting(at.cluster, "namespace.sidecar-injector.istio.io", lambda _: sidecar, pod, **hook)

    try:
        at.cluster.patch(space, {"metadata": {"labels": enabled}})
        with contextlib.ExitStack() as stack:
            if not late:
                stack.enter_context(injector())
            stack.enter_context(made(at.cluster, dashboard))
            settle(at.cluster, DASHBOARD)
            if late:
                stack.enter_context(injector())
            else:
                at.cluster.patch(space, {"metadata": {"labels": {INJECTION: None}}})
            yield
    finally:
        at.cluster.patch(space, {"metadata": {"labels": {INJECTION: None}}})


@contextlib.contextmanager
def unwritable_volume(at: Broken) -> Iterator[None]:
    """A volume whose directory belongs to root, without any bit to write."""
    meta = {"name": "data", "namespace": at.where}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "16Mi"}}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}
    container: Object = {"name": "main", "image": BUSYBOX, "command": ["sleep", "3600"], "resources": LITTLE}
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    pods = {
        "securityContext": {"runAsUser": CONSUMER, "runAsGroup": CONSUMER},
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    }
    user = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db", "namespace": at.where}, "spec": pods}
    with made(at.cluster, claim, user) as (bound, running):
        until(lambda: (at.cluster.get(Ref.of(running)) or {})["status"]["phase"] == "Running")
        volume = (at.cluster.get(Ref.of(bound)) or {})["spec"]["volumeName"]
        path = (at.cluster.get(Ref("v1", "PersistentVolume", "", volume)) or {})["spec"]["hostPath"]["path"]
        at.inside("chown", "0:0", path)
        at.inside("chmod", "0500", path)
        yield


def tfjob(where: str, name: str, *, cpu: str = "1m") -> Object:
    container: Object = {"name": "tensorflow", "image": BUSYBOX, "command": ["sleep", "3600"]}
    container["resources"] = {"requests": {**LITTLE["requests"], "cpu": cpu}}
    pods = {"spec": {"containers": [container], "terminationGracePeriodSeconds": 0}}
    worker = {"replicas": 1, "restartPolicy": "Never", "template": pods}
    meta = {"name": name, "namespace": where}
    spec = {"runPolicy": {"cleanPodPolicy": "All"}, "tfReplicaSpecs": {"Worker": worker}}
    return {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": meta, "spec": spec}


def group(where: str, name: str) -> Object:
    meta = {"name": name, "namespace": where}
    spec = {"minMember": 1, "queue": "default"}
    return {"apiVersion": QUEUE.api_version, "kind": "PodGroup", "metadata": meta, "spec": spec}


def capable(amounts: Mapping[str, str]) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    return patching(QUEUE, {"spec": {"capability": amounts}})


def scaled_down(ref: Ref) -> Callable[[Broken], contextlib.AbstractContextManager[Any]]:
    return lambda at: turned_off(at.cluster, ref)


def gone(at: Broken, ref: Ref) -> None:
    live = at.cluster.get(ref)
    assert live is not None
    vanish(at.cluster, live)


@contextlib.contextmanager
def of_one_version_with_conversion(at: Broken) -> Iterator[None]:
    """A CRD whose conversion webhook is gone, and is never called as there is one version."""
    names = {"plural": "widgets", "kind": "Widget", "singular": "widget"}
    schema = {"openAPIV3Schema": {"type": "object"}}
    client = {"service": {"namespace": at.where, "name": "gone"}}
    spec = {
        "group": "kfv.example.com",
        "scope": "Namespaced",
        "names": names,
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        },
    }
    meta = {"name": "widgets.kfv.example.com"}
    api = "apiextensions.k8s.io/v1"
    with made(at.cluster, {"apiVersion": api, "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec}):
        yield


QUICK = (
    Remedy(
        "a certificate that a Job made",
        "validators/subjects/renewal.py:certificate",
        "B3",
        "UnknownAuthority",
        with_foreign_certificate(
            "volcano-system/volcano-admission-secret", "volcano-admission-service.volcano-system.svc"
        ),
        restarts=(QUEUES_HOOK,),
    ),
    Remedy(
        "a queue without GPUs",
        "validators/checks/volcano/volcano.py:queue_open:NoCapability",
        "F3",
        "NoCapability",
        capable({"nvidia.com/gpu": "0"}),
    ),
    Remedy(
        "no default class",
        "validators/checks/storage/classes.py:default_class:NoDefault",
        "D1",
        "NoDefault",
        left(lambda at: at.cluster.patch(STORAGE_CLASS, {"metadata": {"annotations": {DEFAULT: "false"}}})),
    ),
    Remedy(
        "a cordoned node",
        "validators/checks/reach/nodes.py:_cordoned:Cordoned",
        "A4",
        "Cordoned",
        patching(Ref("v1", "Node", "", "gpu-1"), {"spec": {"unschedulable": True}}),
    ),
    Remedy(
        "an operator without its flag",
        "validators/checks/operator/operator.py:gang_flag",
        "G1",
        "GangOff",
        without_flag,
    ),
    Remedy(
        "a misspelt plugin",
        "validators/checks/volcano/volcano.py:gang_plugin",
        "F4",
        "UnknownPlugin",
        configured("name: conformance", "name: conformanec"),
    ),
)
"""One judgement prints them all, and one finds all of them done."""

LONG = (
    Remedy(
        "a conversion of one version that calls nobody",
        "validators/checks/machinery/webhooks.py:no_orphan_webhooks:B6",
        "B6",
        "NoService",
        of_one_version_with_conversion,
    ),
    Remedy(
        "an API of which only its name is left",
        "validators/checks/machinery/served.py:_unavailable:B2",
        "B2",
        "NoService",
        left(lambda at: at.cluster.create(FORMER_API)),
    ),
    Remedy(
        "a job of an operator without its flag",
        "validators/explain/creation/podgroups.py:_operator_flags",
        "TFJob single",
        "GangOff",
        without_flag,
    ),
    Remedy(
        "a program that is scaled to zero",
        "validators/subjects/workloads.py:_not_asked_for",
        "F1",
        "ScaledToZero",
        scaled_down(CONTROLLERS),
    ),
    Remedy(
        "name servers that are scaled to zero",
        "validators/checks/network/name_server.py:outage:ScaledToZero",
        "E1",
        "ScaledToZero",
        scaled_down(COREDNS),
    ),
    Remedy(
        "a Service of name servers that are scaled to zero",
        "validators/subjects/services.py:_without_name_server:C9",
        "C9",
        "ScaledToZero",
        scaled_down(COREDNS),
    ),
    Remedy(
        "an authority that the operator makes",
        "validators/subjects/renewal.py:certificate",
        "B3",
        "AuthorityExpired",
        operator_with_an_old_authority,
    ),
    Remedy(
        "a deleted Secret that a Job made",
        "validators/subjects/renewal.py:missing",
        "C6",
        "NotReady",
        without_secret,
    ),
    Remedy(
        "an empty caBundle",
        "validators/subjects/renewal.py:authority",
        "B3",
        "EmptyCaBundle",
        patching(
            JOBS_HOOK,
            [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": ""}],
            json_patch=True,
        ),
    ),
    Remedy(
        "every real node cordoned",
        "validators/checks/reach/open_nodes.py:_remedy",
        "A4",
        "NoneOpen",
        on_real_node({"spec": {"unschedulable": True}}),
    ),
    Remedy(
        "a taint of another tool on every node",
        "validators/checks/reach/open_nodes.py:_remedy",
        "A4",
        "AllTainted",
        on_real_node({"spec": {"taints": [{"key": "example.com/mine", "effect": "NoSchedule"}]}}),
    ),
    Remedy(
        "nodes of the control plane alone",
        "validators/checks/reach/open_nodes.py:_remedy",
        "A4",
        "AllTainted",
        on_real_node({"spec": {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]}}),
    ),
    Remedy(
        "two default classes",
        "validators/checks/storage/classes.py:default_class:SeveralDefaults",
        "D1",
        "SeveralDefaults",
        two_defaults,
    ),
    Remedy(
        "a kind with an object in a version that its CRD lacks",
        "validators/checks/machinery/served.py:_unlisted:VersionLost",
        "B9",
        "VersionLost",
        version_lost,
    ),
    Remedy(
        "pods that Pod Security refuses",
        "validators/subjects/workloads.py:_refused",
        "C2",
        "ReplicaFailure",
        refused_pods,
    ),
    Remedy(
        "a node without a path for volumes",
        "validators/checks/storage/classes.py:_no_path:NodeNotListed",
        "D5",
        "NodeNotListed",
        without_path,
    ),
    Remedy(
        "an admission that a policy cuts off",
        "validators/checks/machinery/webhook_answers.py:_silent:B4",
        "B4",
        "Unanswered",
        cut_off,
    ),
    Remedy(
        "a scheduler whose leader is gone",
        "validators/subjects/workloads.py:_standing_by",
        "F1",
        "LeaseHeld",
        lease_held(SCHEDULER, "volcano"),
    ),
    Remedy(
        "controllers whose leader is gone",
        "validators/subjects/workloads.py:_standing_by",
        "F1",
        "LeaseHeld",
        lease_held(CONTROLLERS, "vc-controller-manager"),
    ),
    Remedy(
        "an operator whose leader is gone",
        "validators/subjects/workloads.py:_standing_by",
        "C2",
        "LeaseHeld",
        lease_held(OPERATOR, "1ca428e5.training-operator.kubeflow.org"),
    ),
    Remedy(
        "a job beside a scheduler whose leader is gone",
        "validators/explain/stages.py:_without_cause:LeaseHeld",
        "TFJob stands",
        "LeaseHeld",
        lease_held(SCHEDULER, "volcano", job=True),
    ),
    *(
        Remedy(
            "a second scheduler" if role else "a scheduler that another Volcano left",
            "validators/checks/volcano/second.py:_at_work",
            "F1",
            "SecondScheduler" if role else "WithoutRights",
            second_volcano(SCHEDULER, role=role),
        )
        for role in ("volcano-scheduler", "")
    ),
    Remedy(
        "an admission that another Volcano left",
        "validators/checks/volcano/second.py:_of_admission:UnusedAdmission",
        "F1",
        "UnusedAdmission",
        second_volcano(ADMISSION, program=IDLE_ADMISSION),
    ),
    Remedy(
        "a second admission",
        "validators/checks/volcano/second.py:_of_admission:SecondAdmission",
        "F1",
        "SecondAdmission",
        second_volcano(ADMISSION, service_of_second, hook_of_second, program=IDLE_ADMISSION),
    ),
    Remedy("a closed queue", "validators/checks/volcano/volcano.py:queue_open", "F3", "Closed", closed_queue),
    Remedy(
        "a group in a closed queue",
        "validators/explain/scheduling/queues.py:_not_open",
        "PodGroup shut",
        "QueueClosed",
        closed_queue,
    ),
    Remedy(
        "no queue default", "validators/checks/volcano/volcano.py:queue_open:Missing", "F3", "Missing", without_queue
    ),
    *(
        Remedy(name, "validators/checks/volcano/volcano.py:gang_plugin", "F4", reason, configured(old, new))
        for name, reason, old, new in (
            ("a scheduler without gangs", "GangMissing", "name: gang", "name: priority"),
            (
                "a gang plugin that is off",
                "GangDisabled",
                "name: gang",
                "name: gang\n    enableJobReady: false",
            ),
            ("a scheduler that allocates nothing", "ActionMissing", "allocate, ", ""),
            ("a misspelt action", "ActionUnknown", "allocate", "alocate"),
            ("gangs that keep what is free", "GangLoosened", "name: gang", "name: gang\n    enableJobPipelined: false"),
            ("a scheduler that reads no taints", "PluginMissing", "name: predicates", "name: nodeorder"),
            ("a misspelt key", "UnknownKey", "tiers:", "metric: {}\ntiers:"),
            (
                "a misspelt argument",
                "UnknownArgument",
                "name: overcommit",
                "name: overcommit\n    arguments: {overcommit-facto: 1.5}",
            ),
        )
    ),
    Remedy(
        "a second operator",
        "validators/checks/operator/operator.py:_second_operator:SecondOperator",
        "G1",
        "SecondOperator",
        second_operator,
    ),
    Remedy(
        "a job beside an operator that does nothing",
        "validators/explain/creation/podgroups.py:_not_created:PodGroupMissing",
        "TFJob waits",
        "PodGroupMissing",
        stopped_operator,
    ),
    Remedy(
        "a scheduler that does nothing",
        "validators/checks/gang/steps.py:_ignored:SchedulerNotEvaluating",
        "H1",
        "SchedulerNotEvaluating",
        stopped_scheduler,
    ),
    Remedy(
        "a scheduler that forgets a gang",
        "validators/checks/gang/steps.py:released:GangNotReleased",
        "H3",
        "GangNotReleased",
        forgetful_scheduler,
    ),
    Remedy(
        "a job beside a scheduler that does nothing",
        "validators/explain/stages.py:_without_cause:SchedulerSilent",
        "TFJob silent",
        "SchedulerSilent",
        stopped_scheduler,
    ),
    Remedy(
        "a vendor's driver that is scaled to zero",
        "validators/checks/storage/classes.py:_turned_off:D2",
        "D2",
        "ScaledToZero",
        driver_off,
    ),
    Remedy(
        "a capability that is no quantity",
        "validators/checks/volcano/volcano.py:queue_open:NoCapability",
        "F3",
        "NoCapability",
        no_quantity,
    ),
    Remedy(
        "a namespace of another owner",
        "validators/checks/network/account.py:profile_visible",
        "E5",
        "OtherOwner",
        profile_of_another,
    ),
    Remedy(
        "a job that was refused often",
        "validators/explain/creation/refusals.py:_not_tried_again:NotTriedAgain",
        "TFJob again",
        "NotTriedAgain",
        refused_before,
    ),
    Remedy(
        "a directory that its consumer cannot write",
        "validators/checks/storage/writing.py:_refused",
        "D6",
        "PermissionDenied",
        unwritable_volume,
        on_node=True,
    ),
    Remedy(
        "a namespace of the mesh without its label",
        "validators/checks/network/mesh.py:_not_injected:E11",
        "E11",
        "NotInjected",
        partial(meshed, late=False),
        profile=(DASHBOARD.name,),
    ),
    Remedy(
        "pods from before there was an injector",
        "validators/checks/network/mesh.py:_pods:E11",
        "E11",
        "NoSidecar",
        partial(meshed, late=True),
        profile=(DASHBOARD.name,),
    ),
)
"""Each alone."""

INSTALL_AGAIN: Mapping[str, tuple[str, Callable[[Broken], Any]]] = {
    "B1": ("Missing", lambda at: gone(at, NUMA)),
    "B3": ("Missing", lambda at: gone(at, QUEUES_HOOK)),
    "C1": ("Absent", lambda at: gone(at, METRICS)),
    "F1": ("Missing", lambda at: gone(at, CONTROLLERS)),
    "F4": ("NoConfiguration", lambda at: gone(at, CONFIGURATION)),
    "G2": ("Denied", lambda at: at.cluster.patch(OPERATOR_ROLE, {"rules": []})),
}
"""Reason and breakage by check, of those whose remedy is to install again."""

OF_INVENTORY: Mapping[str, tuple[Remedy, ...]] = {
    "openeuler-22.03-kubeflow-1.6": (
        Remedy(
            "an operator that missed an admission",
            "validators/checks/operator/operator.py:operator_awake:OperatorAsleep",
            "G12",
            "OperatorAsleep",
            missed_admission,
        ),
        Remedy(
            "a job whose operator missed its admission",
            "validators/explain/creation/podgroups.py:_missed_by_operator:OperatorAsleep",
            "TFJob sleeps",
            "OperatorAsleep",
            missed_admission,
        ),
        Remedy(
            "an operator that met a job too early",
            "validators/checks/operator/common.py:after_volcano:StartedTooEarly",
            "G3",
            "StartedTooEarly",
            early_operator,
        ),
    ),
    "rehearsal-26.03": (
        Remedy(
            "a runtime without its policy",
            "validators/checks/operator/trainer.py:runtimes_gang",
            "G7",
            "HalfWired",
            half_wired,
        ),
        Remedy(
            "a job of a runtime without its policy",
            "validators/explain/creation/trainjobs.py:runtime",
            "TrainJob half",
            "RuntimeHalfWired",
            half_wired,
        ),
    ),
}
"""Those of other releases, by inventory: what they are about is real in its generation alone."""

_LAB = "tests/hosts/test_remedies.py:test_every_remedy_heals_its_host_when_it_is_done_literally"

_EVICTION = "tests/integration/test_explain_eviction.py:"

_KUEUE = "tests/integration/test_kueue.py:"

ELSEWHERE: Mapping[str, str] = {
    "validators/explain/scheduling/kueue.py:_stopped": _KUEUE
    + "test_a_local_queue_is_stopped_and_started_by_the_printed_command",
    "validators/explain/scheduling/kueue.py:_waiting:WorkloadDeactivated": _KUEUE
    + "test_a_workload_is_deactivated_and_activated_by_the_printed_command",
    "validators/explain/scheduling/preemption.py:preemption:LowerPriorityHolds": _EVICTION
    + "test_an_urgent_gang_replaces_another_one_with_the_settings_that_are_told",
    "validators/explain/scheduling/reclaim.py:reclaim:ShareHeldByOthers": _EVICTION
    + "test_a_queue_takes_back_its_share_with_the_settings_that_are_told",
    "validators/subjects/renewal.py:certificate": "tests/integration/test_rehearsal_cert_manager.py:"
    "test_a_foreign_certificate_is_healed_by_the_remedy_done_literally",
    "validators/hosts/access.py:_identity:SameMachine": _LAB,
    "validators/hosts/cgroups.py:_refused:OldVersion": _LAB,
    "validators/hosts/kernel.py:_modules": _LAB,
    "validators/hosts/kernel.py:_values:SettingWrong": _LAB,
    "validators/hosts/resources.py:_swap:SwapOn": _LAB,
    "validators/hosts/security.py:_firewall:NotAccepted": "tests/machines/test_hosts_over_ssh.py:"
    "test_a_port_that_firewalld_closes_is_named_and_its_remedy_opens_it",
}
"""Remedies that another test does literally, and which; its module says what is real there."""

UNTRIED: Mapping[str, str] = {}
"""Remedies that no test does, and why."""
