"""What of an object no check reads, and no report shows: taken away page by page, so that a large cluster fits.

Of the text of 10,000 pods about two thirds are this. A check that needs one of these fields removes it from the list.
What pods have alike is in memory once: objects are only read afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from sys import intern
from types import MappingProxyType
from typing import Any

from kubeflow_volcano.cluster.api.client import Trim
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.resources import CRDS, JOBS, NODES, PODS

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_OF_CONTAINERS = (
    "args",
    "command",
    "env",  # where secrets stand in the open
    "envFrom",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "terminationMessagePath",
    "terminationMessagePolicy",
)
_OF_PODS = ("dnsPolicy", "enableServiceLinks", "preemptionPolicy", "serviceAccount", "terminationGracePeriodSeconds")
_OF_STATUSES = ("allocatedResources", "resources", "user", "volumeMounts")  # as the pod asks for them


def trim_of(resource: str) -> Trim:
    """How objects of a Resource are trimmed."""
    special = partial(_pod, {}) if resource == PODS else _SPECIAL.get(resource)
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


def _pod(alike: dict[str, Any], pod: Object) -> None:
    """Keep of a pod what says who it is, where it is to run, as whom, with which volumes, and how it fares."""
    meta, spec, status = pod["metadata"], pod["spec"], pod.get("status", {})
    tokens = {volume.get("name") for volume in spec.get("volumes") or () if "projected" in volume}
    meta.pop("generateName", None)
    _drop(spec, _OF_PODS)
    _drop(status, ("hostIPs", "podIPs"))  # the first of each is there beside it
    if tokens:
        spec["volumes"] = [volume for volume in spec["volumes"] if volume.get("name") not in tokens]
    for containers in (spec["containers"], spec.get("initContainers") or ()):
        for container in containers:
            _drop(container, _OF_CONTAINERS)
            if tokens and container.get("volumeMounts"):
                mounts = container["volumeMounts"]
                container["volumeMounts"] = [mount for mount in mounts if mount.get("name") not in tokens]
            _share(alike, container, ("ports", "resources", "securityContext", "volumeMounts"))
    for item in status.get("containerStatuses") or ():
        _drop(item, _OF_STATUSES)
    _share(alike, meta, ("annotations", "labels", "ownerReferences"))
    _share(alike, spec, ("affinity", "nodeSelector", "securityContext", "tolerations", "volumes"))
    for part in (spec, status):
        for key in ("containers", "initContainers", "conditions", "containerStatuses"):
            if key in part:
                part[key] = _compact(part[key])
    pod |= {key: _compact(pod[key]) for key in ("metadata", "spec", "status") if key in pod}


def _drop(part: Object, keys: Iterable[str]) -> None:
    for key in keys:
        part.pop(key, None)


def _share(alike: dict[str, Any], part: Object, keys: Iterable[str]) -> None:
    for key in keys:
        if key in part:
            part[key] = alike.setdefault(repr(part[key]), part[key])


def _compact(part: Any) -> Any:
    """A part with equal texts once in memory, and without the room that a dict keeps for keys it no longer has."""
    if isinstance(part, list):
        return [_compact(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {key: intern(value) if isinstance(value, str) else value for key, value in part.items()}


def _crd(crd: Object) -> None:
    for version in crd["spec"]["versions"]:
        version.pop("schema", None)


def _node(node: Object) -> None:
    node.get("status", {}).pop("images", None)


_SPECIAL: Mapping[str, Callable[[Object], None]] = MappingProxyType({CRDS: _crd, NODES: _node})
_WITH_MANAGERS = frozenset({JOBS})
"""Of these it stays who applied them, without the fields: who replaces one does so in that name."""
