"""What of an object no check reads, and no report shows: taken away page by page, so that a large cluster fits.

Of the text of 10,000 pods about two thirds are this. A check that needs one of these fields removes it from the list.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

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


def trim_of(resource: str) -> Trim:
    """How objects of a Resource are trimmed."""
    return partial(_trim, _SPECIAL.get(resource), with_managers=resource in _WITH_MANAGERS)


def trim_pod(pod: Object) -> None:
    """Keep of a pod what says who it is, where it is to run, as whom, with which volumes, and how it fares."""
    _trim(_pod, pod)


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


def _pod(pod: Object) -> None:
    spec = pod["spec"]
    for containers in (spec["containers"], spec.get("initContainers") or ()):
        for container in containers:
            for key in _OF_CONTAINERS:
                container.pop(key, None)
    for volume in spec.get("volumes") or ():
        if "projected" in volume:
            volume["projected"] = {}


def _crd(crd: Object) -> None:
    for version in crd["spec"]["versions"]:
        version.pop("schema", None)


def _node(node: Object) -> None:
    node.get("status", {}).pop("images", None)


_SPECIAL: Mapping[str, Callable[[Object], None]] = MappingProxyType({CRDS: _crd, NODES: _node, PODS: _pod})
_WITH_MANAGERS = frozenset({JOBS})
"""Of these it stays who applied them, without the fields: who replaces one does so in that name."""
