"""A large cluster's objects: nodes, pods and PodGroups as their kubelets and schedulers would have left them.

Nobody simulates them: they are written once, with their status, and stay as they are. The nodes are full, so that
what is installed beside them goes elsewhere. Most pods belong to ReplicaSets, some to gangs, a few of which wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref

_NAMESPACES, _GANG, _WAITING = 40, 20, 10
_THREADS = 8
_SINCE = "2026-01-01T00:00:00Z"
_GROUP = "scheduling.volcano.sh/v1beta1"
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

    def fill(self, cluster: Cluster) -> None:
        """Create all of it; PodGroups must be served."""
        for number in range(_NAMESPACES):
            cluster.create(_object("v1", "Namespace", f"team-{number}"))
        _each(partial(_write, cluster), (_account(number) for number in range(_NAMESPACES)))
        _each(partial(_write, cluster), self.all_nodes())
        _each(partial(_write, cluster), (_pod_group(number) for number in range(self.pod_groups)))
        _each(partial(_write, cluster), self.all_pods())

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


def _each(write: Callable[[Object], None], objects: Iterable[Object]) -> None:
    left = iter(objects)
    with ThreadPoolExecutor(_THREADS) as pool:
        while some := list(islice(left, 1000)):
            list(pool.map(write, some))


def _write(cluster: Cluster, obj: Object) -> None:
    """Create an object; a pod's status has a way of its own."""
    created = cluster.create(obj)
    if obj["kind"] == "Pod":
        ref = Ref.of(obj)
        path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
        cluster.request("PUT", f"{path}/status", body=created | {"status": obj["status"]})


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
