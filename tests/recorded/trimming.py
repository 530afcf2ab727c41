"""What a recording keeps of an object: what checks may read, without what differs from run to run or may be private."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.validators.core.resources import (
    APISERVICES,
    CLAIMS,
    CRDS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    JOBS,
    NODES,
    PODS,
    RESOURCES,
    SERVICES,
    STATEFUL_SETS,
    VOLUMES,
)

_META = frozenset({"annotations", "creationTimestamp", "deletionTimestamp", "finalizers", "generation", "labels"})
_WHO = frozenset({"name", "namespace", "ownerReferences"})
_WITH_UID = frozenset({CLAIMS, PODS, VOLUMES})
"""Others refer to these by their uid, or a fact does."""
_NOISE = (
    "deployment.kubernetes.io/",
    "deprecated.daemonset.template.generation",
    "endpoints.kubernetes.io/",
    "kube-aggregator.kubernetes.io/",
    "kubectl.kubernetes.io/",
    "kwok.x-k8s.io/",
    "node.alpha.kubernetes.io/",
    "rehearsal.kubeflow-volcano.io/",
    "volumes.kubernetes.io/controller-managed-attach-detach",
)
"""Beginnings of labels and annotations that no check reads."""
_OF_CONTAINERS = frozenset({"args", "command", "env", "image", "name", "resources", "restartPolicy"})
_OF_STATUSES = frozenset({"image", "imageID", "lastState", "name", "ready", "restartCount", "state"})
_OF_PODS = frozenset(
    {
        *("affinity", "containers", "initContainers", "nodeName", "nodeSelector", "priority", "schedulerName"),
        *("schedulingGates", "serviceAccountName", "tolerations", "volumes"),
    }
)
_OF_SERVICES = frozenset({"clusterIP", "ports", "selector", "type"})
_NAMES_A_DRIVER = ("DRIVER", "PROVISIONER")
_USUAL_TOLERATIONS = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_GOOD = frozenset(
    {
        *("Available", "Complete", "ContainersReady", "Established", "Initialized", "NamesAccepted", "PodScheduled"),
        *("PodReadyToStartContainers", "Progressing", "Ready", "SuccessCriteriaMet"),
    }
)
"""Conditions that nothing has to be said about while they are True."""


def as_recorded(resource: str, item: Object) -> Object:
    """The object as a recording keeps it; what KWOK simulates counts as real."""
    found = copy.deepcopy(item)
    meta = found["metadata"]
    keys = _META | _WHO | ({"uid"} if resource in _WITH_UID else set())
    kept = {key: value for key, value in meta.items() if key in keys and value}
    for key in {"annotations", "labels"} & kept.keys():
        kept[key] = {name: value for name, value in kept[key].items() if not name.startswith(_NOISE)}
    for owner in kept.get("ownerReferences", ()):
        owner.pop("uid", None)
        owner.pop("blockOwnerDeletion", None)
    _conditions((found.get("status") or {}).get("conditions") or ())
    for key in ("apiVersion", "kind", "metadata"):
        found.pop(key, None)
    if trim := _SPECIAL.get(resource):
        trim(found)
    lean: Object = _lean({"metadata": kept, **found})
    return lean


def as_read(resource: str, item: Object) -> Object:
    """A recorded object as the API server would have shown it."""
    known = RESOURCES[resource]
    meta = item["metadata"]
    uid = f"{resource}/{meta.get('namespace', '')}/{meta['name']}"
    return {"apiVersion": known.api_version, "kind": known.kind, **item, "metadata": {"uid": uid, **meta}}


def _conditions(found: Iterable[Object]) -> None:
    for condition in found:
        for key in ("lastHeartbeatTime", "lastProbeTime", "lastUpdateTime", "observedGeneration"):
            condition.pop(key, None)
        if condition["type"] in _GOOD and condition["status"] == "True":
            condition.pop("message", None)
            condition.pop("reason", None)


def _lean(value: Any) -> Any:
    """Without null values and empty parts; an empty selector means something and stays, and every object has a spec."""
    if isinstance(value, dict):
        lean = {key: _lean(found) for key, found in value.items() if found is not None}
        return {key: found for key, found in lean.items() if found != {} or key in _MEANING or key.endswith("elector")}
    return [_lean(item) for item in value] if isinstance(value, list) else value


_MEANING = frozenset({"configMap", "emptyDir", "running", "spec", "terminated", "waiting"})


def _only(found: Object, keys: frozenset[str]) -> None:
    for key in found.keys() - keys:
        del found[key]


def _pod_spec(spec: Object) -> None:
    _only(spec, _OF_PODS)
    for container in (*spec["containers"], *(spec.get("initContainers") or ())):
        _only(container, _OF_CONTAINERS)
        named = [item for item in container.pop("env", ()) if any(word in item["name"] for word in _NAMES_A_DRIVER)]
        if named:
            container["env"] = named
    if spec.get("schedulerName") == "default-scheduler":
        del spec["schedulerName"]
    tolerations = [item for item in spec.pop("tolerations", ()) if item.get("key") not in _USUAL_TOLERATIONS]
    if tolerations:
        spec["tolerations"] = tolerations
    volumes = [item for item in spec.pop("volumes", ()) if "projected" not in item]
    if volumes:
        spec["volumes"] = volumes


def _pod(pod: Object) -> None:
    _pod_spec(pod["spec"])
    status = pod.get("status") or {}
    for key in ("hostIP", "hostIPs", "podIP", "podIPs", "qosClass", "startTime", "observedGeneration"):
        status.pop(key, None)
    for key in ("containerStatuses", "initContainerStatuses"):
        for item in status.get(key) or ():
            _only(item, _OF_STATUSES)


def _workload(item: Object) -> None:
    template = item["spec"]["template"]
    mounts = [
        [{"name": mount["name"], "mountPath": mount["mountPath"]} for mount in container.get("volumeMounts", ())]
        for container in template["spec"]["containers"]
    ]
    _pod_spec(template["spec"])
    for container, mounted in zip(template["spec"]["containers"], mounts, strict=True):
        if mounted:
            container["volumeMounts"] = mounted
    template["spec"].pop("nodeName", None)
    item["spec"].pop("revisionHistoryLimit", None)


def _node(node: Object) -> None:
    status = node.get("status") or {}
    _only(status, frozenset({"allocatable", "conditions", "nodeInfo"}))
    info = status.get("nodeInfo") or {}
    _only(info, frozenset({"architecture", "containerRuntimeVersion", "kernelVersion", "kubeletVersion", "osImage"}))


def _crd(crd: Object) -> None:
    for version in crd["spec"]["versions"]:
        _only(version, frozenset({"name", "served"}))
    _only(crd["spec"]["names"], frozenset({"kind", "plural"}))
    _only(crd["status"], frozenset({"conditions"}))


def _api_service(item: Object) -> None:
    if "service" not in item["spec"]:
        item["spec"] = {}


def _service(item: Object) -> None:
    _only(item["spec"], _OF_SERVICES)
    item.pop("status", None)


def _slice(item: Object) -> None:
    for endpoint in item.get("endpoints") or ():
        _only(endpoint, frozenset({"addresses", "conditions"}))


_SPECIAL: Mapping[str, Callable[[Object], None]] = MappingProxyType(
    {
        **dict.fromkeys((DAEMON_SETS, DEPLOYMENTS, JOBS, STATEFUL_SETS), _workload),
        APISERVICES: _api_service,
        CRDS: _crd,
        ENDPOINT_SLICES: _slice,
        NODES: _node,
        PODS: _pod,
        SERVICES: _service,
    }
)
