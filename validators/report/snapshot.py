"""The part of the document that no check decides: nodes with their pods, storage, and images of pods."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.readiness import State, assess, assess_pod
from kubeflow_volcano.validators.checks.reach.planned_images import as_planned, planned_of
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.safe import text
from kubeflow_volcano.validators.reading.devices import DEVICES
from kubeflow_volcano.validators.report.accelerators import of_drivers, of_node, totals
from kubeflow_volcano.validators.subjects.storage_classes import is_default

_MOST_NODES, _MOST_CLAIMS, _MOST_IMAGES, _MOST_DIGESTS = 200, 200, 300, 3
_WELL = {State.READY, State.SKIP}
"""States of healthy pods; SKIP are those that have completed or are being deleted."""
_Row = dict[str, Any]


@lru_cache(maxsize=2)
def snapshot(facts: Facts | None) -> Mapping[str, Any]:
    """Rows for tables and pictures, unhealthy ones first; null for what was not read.

    Each kind has at most some hundred rows; `left_out` has the number of rows that are not included.
    """
    pods = _read(facts, "pods")
    unwell_pods = {pod["metadata"]["uid"] for pod in pods or () if assess_pod(pod).state not in _WELL}
    nodes = _nodes(facts, pods, unwell_pods)
    rows: dict[str, tuple[list[_Row], int] | None] = {
        "nodes": None if nodes is None else _most(nodes, _MOST_NODES, _node_order),
        "classes": _classes(facts),
        "claims": _claims(facts),
        "images": _images(facts, pods, unwell_pods),
    }
    return {
        **{key: found and found[0] for key, found in rows.items()},
        "accelerators": None
        if nodes is None or facts is None
        else [*totals(nodes), *of_drivers(facts.known(DEVICES), facts.simulated_nodes)],
        "unplaced": None if pods is None else _by_namespace((pod for pod in pods if not _node_of(pod)), unwell_pods),
        "left_out": {key: found[1] if found else 0 for key, found in rows.items()},
    }


def _read(facts: Facts | None, resource: str) -> tuple[Object, ...] | None:
    if facts is None or resource in facts.unread:
        return None
    return facts.objects.get(resource)


def _most(rows: list[_Row], most: int, order: Callable[[_Row], Any]) -> tuple[list[_Row], int]:
    return sorted(rows, key=order)[:most], max(0, len(rows) - most)


def _node_of(pod: Object) -> str:
    name: str = pod["spec"].get("nodeName", "")
    return name


def _nodes(facts: Facts | None, pods: tuple[Object, ...] | None, unwell_pods: Collection[str]) -> list[_Row] | None:
    nodes = _read(facts, "nodes")
    if nodes is None or facts is None:
        return None
    on_node: dict[str, list[Object]] = defaultdict(list)
    for pod in pods or ():
        on_node[_node_of(pod)].append(pod)
    rows = []
    for node in nodes:
        name, info = node["metadata"]["name"], node.get("status", {}).get("nodeInfo", {})
        rows.append(
            {
                "name": text(name),
                "ready": assess(node).state is State.READY,
                "cordoned": bool(node.get("spec", {}).get("unschedulable")),
                "simulated": name in facts.simulated_nodes,
                "os": text(info.get("osImage", "")),
                "kubelet": text(info.get("kubeletVersion", "")),
                "runtime": text(info.get("containerRuntimeVersion", "")),
                "accelerators": of_node(node, None if pods is None else on_node[name]),
                "pods": None if pods is None else _by_namespace(on_node[name], unwell_pods),
            }
        )
    return rows


def _node_order(row: _Row) -> tuple[bool, bool, bool, bool, str]:
    unwell = any(item["unwell"] for item in row["pods"] or ())
    return row["ready"], not row["cordoned"], not unwell, row["simulated"], row["name"]


def _by_namespace(pods: Iterable[Object], unwell_pods: Collection[str]) -> list[_Row]:
    """Number of ready or completed pods (`well`) and of others, by namespace."""
    well: Counter[str] = Counter()
    unwell: Counter[str] = Counter()
    for pod in pods:
        counter = unwell if pod["metadata"]["uid"] in unwell_pods else well
        counter[pod["metadata"]["namespace"]] += 1
    return [{"namespace": text(name), "well": well[name], "unwell": unwell[name]} for name in sorted(well | unwell)]


def _classes(facts: Facts | None) -> tuple[list[_Row], int] | None:
    classes = _read(facts, "storageclasses.storage.k8s.io")
    if classes is None:
        return None
    claims = _read(facts, "persistentvolumeclaims")
    of_class = Counter(item.get("spec", {}).get("storageClassName", "") for item in claims or ())
    rows: list[_Row] = [
        {
            "name": text(item["metadata"]["name"]),
            "default": is_default(item),
            "provisioner": text(item.get("provisioner", "")),
            "binding": text(item.get("volumeBindingMode", "")),
            "reclaim": text(item.get("reclaimPolicy", "")),
            "claims": None if claims is None else of_class[item["metadata"]["name"]],
        }
        for item in classes
    ]
    return _most(rows, _MOST_CLAIMS, lambda row: (not row["default"], row["name"]))


def _claims(facts: Facts | None) -> tuple[list[_Row], int] | None:
    claims = _read(facts, "persistentvolumeclaims")
    if claims is None:
        return None
    rows = [_claim(item, item.get("spec", {}), item.get("status", {})) for item in claims]
    return _most(rows, _MOST_CLAIMS, lambda row: (row["phase"] == "Bound", row["namespace"], row["name"]))


def _claim(item: Object, spec: Mapping[str, Any], status: Mapping[str, Any]) -> _Row:
    asked = spec.get("resources", {}).get("requests", {}).get("storage", "")
    return {
        "namespace": text(item["metadata"]["namespace"]),
        "name": text(item["metadata"]["name"]),
        "class": text(spec.get("storageClassName") or ""),
        "phase": text(status.get("phase", "")),
        "asked": text(str(asked)),
        "volume": text(spec.get("volumeName", "")),
        "modes": [text(mode) for mode in spec.get("accessModes", ())],
    }


def _images(
    facts: Facts | None, pods: tuple[Object, ...] | None, unwell_pods: Collection[str]
) -> tuple[list[_Row], int] | None:
    """Images as pods name them, with the digests that container runtimes report, and the planned images."""
    if facts is None or pods is None:
        return None
    simulated = {item["metadata"]["uid"] for item in facts.simulated_pods}
    by_image: dict[str, dict[str, Object]] = defaultdict(dict)
    digests: dict[str, set[str]] = defaultdict(set)
    planned: dict[str, set[str]] = defaultdict(set)
    for pod in pods:
        spec, status = pod["spec"], pod.get("status", {})
        asked = {item["name"]: item.get("image", "") for key in _CONTAINERS for item in spec.get(key) or ()}
        for name, image in asked.items():
            by_image[image][pod["metadata"]["uid"]] = pod
            planned[image] |= {wanted} if (wanted := planned_of(facts, pod, name)) else set()
        for item in (item for key in _STATUSES for item in status.get(key) or ()):
            if (digest := item.get("imageID", "").rpartition("@")[2]) and item["name"] in asked:
                digests[asked[item["name"]]].add(digest)
    rows: list[_Row] = [
        {
            "image": text(image),
            "pods": len(users),
            "simulated": sum(uid in simulated for uid in users),
            "unwell": sum(uid in unwell_pods for uid in users),
            "namespaces": sorted({text(pod["metadata"]["namespace"]) for pod in users.values()}),
            "digests": sorted(map(text, digests[image]))[:_MOST_DIGESTS],
            "planned": sorted(map(text, planned[image]))[:_MOST_DIGESTS],
            "as_planned": all(as_planned(facts, image, wanted) for wanted in planned[image])
            if planned[image]
            else None,
        }
        for image, users in by_image.items()
    ]
    return _most(rows, _MOST_IMAGES, lambda row: (not row["unwell"], row["as_planned"] is not False, row["image"]))


_CONTAINERS = ("initContainers", "containers")
_STATUSES = ("initContainerStatuses", "containerStatuses")
