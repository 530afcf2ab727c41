"""A large cluster's objects: nodes, pods and PodGroups as their kubelets and schedulers would have left them.

Nobody simulates them: they are written once, with their status, and stay as they are. The nodes are full, so that
what is installed beside them goes elsewhere. Most pods belong to ReplicaSets, some to gangs, a few of which wait. One
pod with a node and one without are made by the API server. The others are written into etcd, with all that it added
to these: 150,000 creations would take an hour on two processors.
"""

from __future__ import annotations

import base64
import json
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeVar

import urllib3

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.waiting import until

_NAMESPACES, _GANG, _WAITING = 40, 20, 10
_THREADS = 8
_AT_ONCE = 100  # of 128 operations that etcd takes in one transaction
_SINCE = "2026-01-01T00:00:00Z"
_GROUP = "scheduling.volcano.sh/v1beta1"
T = TypeVar("T")
_READY = ("Initialized", "Ready", "ContainersReady", "PodScheduled")


@dataclass(frozen=True, slots=True)
class Crowd:
    """So many nodes and pods; two pods of five belong to gangs of twenty."""

    nodes: int = 1000
    pods: int = 10_000

    @property
    def pod_groups(self) -> int:
        """One of each gang."""
        return self.pods * 2 // 5 // _GANG

    def fill(self, cluster: Cluster, store: str) -> None:
        """Create all of it in the cluster whose etcd has the address `store`; PodGroups must be served."""
        for number in range(_NAMESPACES):
            cluster.create(_object("v1", "Namespace", f"team-{number}"))
        _each(partial(_write, cluster), (_account(number) for number in range(_NAMESPACES)))
        _each(partial(_write, cluster), self.all_nodes())
        _each(partial(_write, cluster), (_pod_group(number) for number in range(self.pod_groups)))
        made = {bool(pod["spec"].get("nodeName")): pod for pod in self.all_pods()}
        samples = {placed: _create_pod(cluster, pod) for placed, pod in made.items()}
        there = {pod["metadata"]["name"] for pod in made.values()}
        others = (_as_stored(pod, samples) for pod in self.all_pods() if pod["metadata"]["name"] not in there)
        etcd = urllib3.PoolManager(maxsize=_THREADS)
        _each(partial(_store, etcd, store), iter(lambda: list(islice(others, _AT_ONCE)), []))
        until(lambda: _pods_served(cluster) >= self.pods, 600, every=1)

    def all_nodes(self) -> Iterator[Object]:
        """The nodes, all ready and full."""
        return (_node(number, -(-self.pods // self.nodes)) for number in range(self.nodes))

    def all_pods(self) -> Iterator[Object]:
        """The pods, members of gangs first; those of the first gangs have no node yet."""
        members = self.pod_groups * _GANG
        for number in range(self.pods):
            node = f"crowd-{number % self.nodes}"
            if number >= members:
                owner = f"service-{number // 10}"
                pod = _pod(f"{owner}-5d9f-{number}", (number // 10) % _NAMESPACES, node, f"{owner}-5d9f", "ReplicaSet")
                pod["metadata"]["labels"] |= {"pod-template-hash": "5d9f"}
            else:
                gang = number // _GANG
                waits = gang < _WAITING
                pod = _pod(f"gang-{gang}-{number}", gang % _NAMESPACES, "" if waits else node, f"gang-{gang}", "TFJob")
                pod["metadata"]["annotations"] |= {"scheduling.k8s.io/group-name": f"gang-{gang}"}
                pod["spec"]["schedulerName"] = "volcano"
                pod["status"] = _unscheduled() if waits else pod["status"]
            yield pod


def _each(write: Callable[[T], None], items: Iterable[T]) -> None:
    left = iter(items)
    with ThreadPoolExecutor(_THREADS) as pool:
        while some := list(islice(left, 1000)):
            list(pool.map(write, some))


def _write(cluster: Cluster, obj: Object) -> None:
    cluster.create(obj)


def _create_pod(cluster: Cluster, pod: Object) -> Object:
    """The pod as the API server keeps it; its status has a way of its own."""
    created = cluster.create(pod)
    ref = Ref.of(pod)
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
    stored: Object = cluster.request("PUT", f"{path}/status", body=created | {"status": pod["status"]})
    return stored


def _as_stored(pod: Object, samples: Mapping[bool, Object]) -> Object:
    """A pod with what the API server added to the sample that has a node as well, or has none."""
    sample = samples[bool(pod["spec"].get("nodeName"))]
    own = {key: pod["spec"]["containers"][0][key] for key in ("image", "args", "env")}
    spec = sample["spec"] | {"containers": [sample["spec"]["containers"][0] | own]}
    spec |= {key: pod["spec"][key] for key in ("nodeName", "schedulerName") if key in pod["spec"]}
    meta = sample["metadata"] | pod["metadata"] | {"uid": str(uuid.uuid4())}
    return sample | {"metadata": meta, "spec": spec, "status": pod["status"]}


def _store(etcd: urllib3.PoolManager, address: str, pods: Iterable[Object]) -> None:
    puts = [{"requestPut": {"key": _encoded(_key(pod)), "value": _encoded(json.dumps(pod))}} for pod in pods]
    answer = etcd.request("POST", f"{address}/v3/kv/txn", json={"success": puts})
    if not answer.json().get("succeeded"):
        raise RuntimeError(answer.data.decode())


def _key(pod: Object) -> str:
    return f"/registry/pods/{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _pods_served(cluster: Cluster) -> int:
    metadata = cluster.request("GET", "/api/v1/pods", query={"limit": "1"})["metadata"]
    return int(metadata.get("remainingItemCount", 0)) + 1


def _object(api_version: str, kind: str, name: str, namespace: str = "", **rest: object) -> Object:
    meta: Object = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": meta, **rest}


def _account(number: int) -> Object:
    return _object("v1", "ServiceAccount", "workers", f"team-{number}")


def _node(number: int, pods: int) -> Object:
    name = f"crowd-{number}"
    room = {"cpu": "64", "memory": "256Gi", "pods": str(pods), "ephemeral-storage": "500Gi"}
    kinds = (("MemoryPressure", "False"), ("DiskPressure", "False"), ("PIDPressure", "False"), ("Ready", "True"))
    conditions = [
        {
            "type": kind,
            "status": status,
            "reason": f"Kubelet{kind}",
            "message": f"kubelet reports {kind}={status}",
            "lastHeartbeatTime": _SINCE,
            "lastTransitionTime": _SINCE,
        }
        for kind, status in kinds
    ]
    images = [
        {"names": [f"registry.example/team/image-{item}@sha256:{item:064x}"], "sizeBytes": 10**8} for item in range(50)
    ]
    node = _object("v1", "Node", name, status={"capacity": room, "allocatable": room, "conditions": conditions})
    node["status"] |= {"images": images, "addresses": [{"type": "Hostname", "address": name}]}
    node["metadata"]["labels"] = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    return node


def _pod_group(number: int) -> Object:
    phase = "Inqueue" if number < _WAITING else "Running"
    return _object(
        _GROUP,
        "PodGroup",
        f"gang-{number}",
        f"team-{number % _NAMESPACES}",
        spec={"minMember": _GANG, "queue": "default"},
        status={"phase": phase, "running": 0 if number < _WAITING else _GANG},
    )


def _pod(name: str, namespace: int, node: str, owner: str, kind: str) -> Object:
    """A pod as a team's chart makes it, with probes, environment and a volume."""
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10, "timeoutSeconds": 5}
    container = {
        "name": "main",
        "image": f"registry.example/team/{owner}:v1",
        "args": ["--listen=:8080", f"--name={owner}", "--log-level=info"],
        "env": [{"name": f"SETTING_{item}", "value": f"value {item} of {owner}"} for item in range(12)],
        "ports": [{"containerPort": 8080, "name": "http"}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "livenessProbe": probe,
        "readinessProbe": probe,
        "securityContext": {"runAsNonRoot": True, "allowPrivilegeEscalation": False},
        "volumeMounts": [{"name": "work", "mountPath": "/work"}],
    }
    spec = {
        "serviceAccountName": "workers",
        "containers": [container],
        "volumes": [{"name": "work", "emptyDir": {}}],
    } | ({"nodeName": node} if node else {})
    pod = _object("v1", "Pod", name, f"team-{namespace}", spec=spec, status=_running(owner))
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": f"{owner}-uid", "controller": True}
    pod["metadata"] |= {
        "labels": {"app": owner, "team": f"team-{namespace}"},
        "annotations": {"checksum/config": owner.encode().hex().ljust(64, "0")},
        "ownerReferences": [reference],
    }
    return pod


def _running(image: str) -> Object:
    status = {
        "name": "main",
        "image": f"registry.example/team/{image}:v1",
        "imageID": f"registry.example/team/{image}@sha256:{1:064x}",
        "containerID": f"containerd://{2:064x}",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": _SINCE}},
        "lastState": {},
    }
    conditions = [{"type": kind, "status": "True", "lastTransitionTime": _SINCE} for kind in _READY]
    return {"phase": "Running", "conditions": conditions, "containerStatuses": [status], "podIP": "10.0.0.1"}


def _unscheduled() -> Object:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": _SINCE}
    message = "pod group is not ready, 20 Pending, 20 minAvailable"
    return {"phase": "Pending", "conditions": [condition | {"message": message}]}
