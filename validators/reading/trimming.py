"""What of an object no check reads, and no report shows: taken away page by page, so that a large cluster fits.

Of pods, of which there are most, only what is named here stays: a check that needs another field adds it. What pods
have alike is in memory once: objects are only read afterwards.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from sys import intern
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.cluster.api.client import Trim
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.resources import CRDS, JOBS, NODES, PODS

_Keys = tuple[str, ...]
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_SYSTEM = "kube-system"

_OF_METADATA = (
    *("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"),
    *("annotations", "finalizers", "labels", "ownerReferences"),
)
_OF_SPECS: _Keys = (
    *("containers", "initContainers", "overhead", "tolerations"),
    *("hostname", "hostNetwork", "nodeName", "schedulerName", "schedulingGroup", "volumes"),
)
_OF_CONTAINERS: _Keys = ("name", "image", "ports", "resources", "restartPolicy")
_OF_STATUSES = ("phase", "reason", "message", "podIP", "conditions", "containerStatuses", "initContainerStatuses")
_OF_CONDITIONS = ("type", "status", "reason", "message", "lastTransitionTime")
_OF_CONTAINER_STATUSES = ("name", "image", "imageID", "ready", "restartCount", "state", "lastState", "user")
_CONTAINERS = {"containers", "initContainers"}
_INNER = {
    "conditions": _OF_CONDITIONS,
    "containerStatuses": _OF_CONTAINER_STATUSES,
    "initContainerStatuses": _OF_CONTAINER_STATUSES,
}
_STEPS = frozenset({"ContainersReady", "Initialized", "PodReadyToStartContainers"})
"""Conditions on the way to Ready, which says the same later: while they are true, no check reads them."""
_OWN = frozenset({"name", "uid"})
"""Texts that hardly two pods have alike."""
_VOLUMES = {"persistentVolumeClaim", "secret"}
"""Secrets, because webhooks serve with the certificates in them."""
_WITH_CLAIMS = ("hostPID", "securityContext", "shareProcessNamespace")
"""Fields of specs by which pods with claims can be asked whether they may write."""
_OF_CONTAINERS_WITH_CLAIMS = ("securityContext", "volumeMounts")
_OF_SYSTEM_CONTAINERS = ("command", "args")
"""Only Kubernetes' own programs are known by their flags; those of others may hold secrets, as `env` does."""


def trim_of(resource: str, *, whole_pods: bool = False) -> Trim:
    """How objects of a Resource are trimmed; with `whole_pods`, pods as any other kind."""
    special = _SPECIAL.get(resource)
    if resource == PODS and not whole_pods:
        special = partial(_pod, {})
    return partial(_trim, special, with_managers=resource in _WITH_MANAGERS)


def _trim(special: Callable[[Object], None] | None, obj: Object, *, with_managers: bool = False) -> None:
    _require_parts(obj)
    meta = obj["metadata"]
    managers = meta.pop("managedFields", None) or ()
    if with_managers:
        keys = ("manager", "operation", "subresource")
        meta["managedFields"] = [{key: entry[key] for key in keys if key in entry} for entry in managers]
    if annotations := meta.get("annotations"):
        annotations.pop(_LAST_APPLIED, None)
    if special:
        special(obj)


def _require_parts(obj: Object) -> None:
    """Take null for absent, as the API does, and refuse what is no mapping: a CRD may say nothing of its fields.

    Raises:
        TypeError: the spec or the status is no mapping.
    """
    for key in ("spec", "status"):
        if key in obj and obj[key] is None:
            del obj[key]
        elif not isinstance(obj.get(key, {}), dict):
            raise TypeError(f"{key} of {Ref.of(obj)} is {obj[key]!r:.80}")


def _pod(alike: dict[bytes, Any], pod: Object) -> None:
    """Keep of a pod what says who it is, where it is to run, as whom, with which claims, and how it fares."""
    in_system = pod["metadata"].get("namespace") == _SYSTEM
    pod["metadata"] = _shared(alike, _kept(pod["metadata"], _OF_METADATA))
    pod["spec"] = _shared(alike, _spec(pod["spec"], _OF_SYSTEM_CONTAINERS if in_system else ()))
    if "status" in pod:
        pod["status"] = _status(pod["status"])


def _spec(spec: Object, more: _Keys) -> Object:
    keys, containers, of_containers = _OF_SPECS, spec["containers"], (*_OF_CONTAINERS, *more)
    volumes = spec.get("volumes") or ()
    spec["volumes"] = [item for item in volumes if not item.keys().isdisjoint(_VOLUMES)]
    if names := [item["name"] for item in volumes if "persistentVolumeClaim" in item]:
        for container in containers:
            mounts = container.get("volumeMounts") or ()
            container["volumeMounts"] = [item for item in mounts if item["name"] in names]
        keys, of_containers = (*keys, *_WITH_CLAIMS), (*of_containers, *_OF_CONTAINERS_WITH_CLAIMS)
    kept = {key: value for key, value in _kept(spec, keys).items() if value or key != "volumes"}
    for key in _CONTAINERS & kept.keys():
        kept[key] = [_kept(item, of_containers) for item in kept[key] or ()]
    return kept


def _status(status: Object) -> Object:
    kept = _kept(status, _OF_STATUSES)
    for key, inner in _INNER.items():
        if key in kept:
            kept[key] = [_interned(_kept(item, inner)) for item in kept[key] or () if not _is_step(item)]
    return kept


def _is_step(item: Object) -> bool:
    return item.get("type") in _STEPS and item.get("status") == "True"


def _kept(part: Object, keys: Iterable[str]) -> Object:
    return {key: part[key] for key in keys if key in part}


def _interned(part: Object) -> Object:
    for key, value in part.items():
        if type(value) is str and key not in _OWN:
            part[key] = intern(value)
    return part


def _shared(alike: dict[bytes, Any], part: Object) -> Object:
    """The part with what other pods have alike, also in the types of its values."""
    for key, value in part.items():
        if value and type(value) in {dict, list}:
            part[key] = alike.setdefault(marshal.dumps(value, 2), value)
    return _interned(part)


def _crd(crd: Object) -> None:
    for version in crd["spec"]["versions"]:
        version.pop("schema", None)


def _node(node: Object) -> None:
    node.get("status", {}).pop("images", None)


_SPECIAL: Mapping[str, Callable[[Object], None]] = MappingProxyType({CRDS: _crd, NODES: _node})
_WITH_MANAGERS = frozenset({JOBS})
"""Of these it stays who applied them, without the fields: who replaces one does so in that name."""
