"""Small literals for tests of checks: objects as the API server shows them when all is well, and facts made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from kubeflow_volcano.catalog.model import MinorRange
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.check import Check
from kubeflow_volcano.validators.core.expectations import Expectations
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Outcome
from kubeflow_volcano.validators.core.resources import RESOURCES
from kubeflow_volcano.validators.subjects.crds import DISCOVERY
from kubeflow_volcano.validators.subjects.pods import WINDOW, Window

NOW = 1_800_000_000.0
"""When the facts of tests are taken, in seconds since the epoch."""


def facts(
    *objects: Object,
    expected: Expectations | None = None,
    workloads: Iterable[str] = (),
    crds: Mapping[str, str] | None = None,
    known: Mapping[Fact[Any], Any] | None = None,
    **fields: Any,
) -> Facts:
    """Facts that hold these objects and no others; every kind was read. `workloads` are 'component kind ns/name'.

    `known` are further facts, each as its value or as Unread.
    """
    by_resource: dict[str, list[Object]] = {name: [] for name in RESOURCES}
    of_kind = {(item.api_version, item.kind): item for item in RESOURCES.values()}
    for item in objects:
        by_resource[of_kind[item["apiVersion"], item["kind"]]].append(item)
    expected = expected or Expectations(
        release="1.9.1",
        kubernetes=MinorRange("1.29", None),
        volcano_kubernetes={"1.10.0": MinorRange("1.21", "1.30")},
        workloads=dict(_workload(text) for text in workloads),
        crds=crds or {},
        namespaces=frozenset({"kube-system", "kubeflow", "local-path-storage", "ns", "volcano-system"}),
    )
    found = {WINDOW: Window(10.0), **(known or {})}
    defaults: dict[str, Any] = {"server_version": "v1.30.2", "cluster_uid": "cluster", "found": found}
    objects_read = {name: tuple(items) for name, items in by_resource.items()}
    return Facts(expected, NOW, objects=objects_read, **(defaults | fields))


def judged(check: Check, found: Facts) -> Outcome:
    """What a check says, where it cannot judge as well."""
    try:
        return check(found)
    except CannotJudgeError as stop:
        return stop.outcome


VOLCANO_KINDS = ("jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh", "queues.scheduling.volcano.sh")


VOLCANO_SERVED = {
    "batch.volcano.sh/v1": frozenset({"jobs"}),
    "scheduling.volcano.sh/v1": frozenset({"podgroups", "queues"}),
}
"""Volcano's plurals in discovery."""


def with_volcano(*objects: Object, served: Iterable[str] = VOLCANO_KINDS, **fields: Any) -> Facts:
    """Facts of a cluster that is to serve Volcano's kinds and serves these."""
    expected = dict.fromkeys(VOLCANO_KINDS, "volcano")
    known = {DISCOVERY: VOLCANO_SERVED, **fields.pop("known", {})}
    return facts(*(crd(name) for name in served), *objects, crds=expected, known=known, **fields)


def _workload(text: str) -> tuple[Ref, str]:
    component, kind, name = text.split()
    return ref(kind, name), component


def ref(kind: str, name: str) -> Ref:
    """Reference of a known kind; 'ns/name' for namespaced ones."""
    api_version = next(item.api_version for item in RESOURCES.values() if item.kind == kind)
    namespace, _, name = name.rpartition("/")
    return Ref(api_version, kind, namespace, name)


def obj(kind: str, name: str, **rest: Any) -> Object:
    """An object of a known kind, created an hour ago; `rest` is merged in, `metadata` key by key."""
    where = ref(kind, name)
    meta: Object = {"name": where.name, "uid": f"uid-{where}", "creationTimestamp": instant(3600)}
    if where.namespace:
        meta["namespace"] = where.namespace
    meta |= rest.pop("metadata", {})
    return {"apiVersion": where.api_version, "kind": kind, "metadata": meta, **rest}


def instant(seconds_ago: float) -> str:
    """RFC3339 of a moment before the facts were taken."""
    return datetime.fromtimestamp(NOW - seconds_ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def node(name: str = "n1", **rest: Any) -> Object:
    """A Ready node with 2 CPUs and 4 GiB."""
    status = {"conditions": [{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "2", "memory": "4Gi"}}
    return obj("Node", name, **({"spec": {}, "status": status} | rest))


def deployment(name: str, *, replicas: int = 1, available: int | None = None, **template: Any) -> Object:
    """A Deployment with that many replicas available (default: all); `template` goes into its pod spec."""
    available = replicas if available is None else available
    label = {"app": name.rpartition("/")[2]}
    pod_spec = {"containers": [{"name": label["app"], "image": "example/image:v1"}]} | template
    status = {"observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas}
    return obj(
        "Deployment",
        name,
        metadata={"generation": 1},
        spec={"replicas": replicas, "template": {"metadata": {"labels": label}, "spec": pod_spec}},
        status=status | {"availableReplicas": available, "unavailableReplicas": replicas - available},
    )


def pod(name: str, *, owner: str = "", **rest: Any) -> Object:
    """A pod that runs and is ready; `owner` is the name of its Deployment, or 'Kind/name'."""
    meta: Object = {"labels": {}}
    kind, _, owner = owner.rpartition("/")
    if owner and kind:
        meta["ownerReferences"] = [{"apiVersion": "batch/v1", "kind": kind, "name": owner, "controller": True}]
    elif owner:
        meta["labels"] = {"app": owner, "pod-template-hash": "5d9"}
        meta["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{owner}-5d9", "controller": True}
        ]
    meta |= rest.pop("metadata", {})
    container = {"name": "main", "ready": True, "restartCount": 0, "state": {"running": {"startedAt": instant(600)}}}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}], "containerStatuses": [container]}
    spec = {"nodeName": "n1", "containers": [{"name": "main", "image": "example/image:v1"}]}
    return obj("Pod", name, metadata=meta, **({"spec": spec, "status": status} | rest))


def crd(name: str, *, versions: Iterable[str] = ("v1",), established_ago: float = 3000, **rest: Any) -> Object:
    """A CRD that is established since that many seconds."""
    plural, _, group = name.partition(".")
    spec = {
        "group": group,
        "names": {"plural": plural},
        "versions": [{"name": item, "served": True} for item in versions],
    }
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": instant(established_ago)}
        for kind in ("Established", "NamesAccepted")
    ]
    return obj("CustomResourceDefinition", name, **({"spec": spec, "status": {"conditions": conditions}} | rest))
