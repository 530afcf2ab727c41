"""Restarts pods that read a renamed configuration only at their start: the configuration's sum is in their template.

kustomize appends the sum of the content to the name of such a ConfigMap for the same reason; images are renamed later.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref

ANNOTATION = "kubeflow-volcano.io/image-configuration"
"""Annotation of a pod template: the sum of the renamed configurations that its pods read."""

_WORKLOADS = frozenset({"DaemonSet", "Deployment", "StatefulSet"})
_DIGITS = 16


def follow(objects: Iterable[Object], renamed: Mapping[Ref, Object]) -> Iterator[tuple[Ref, Object]]:
    """The workloads among `objects` that read a ConfigMap of `renamed`, with its sum in their pod templates."""
    maps = {(ref.namespace, ref.name): obj for ref, obj in renamed.items() if ref.kind == "ConfigMap"}
    for obj in objects:
        if obj["kind"] not in _WORKLOADS:
            continue
        ref = Ref.of(obj)
        read = [maps[ref.namespace, name] for name in sorted(set(_read(obj))) if (ref.namespace, name) in maps]
        if read:
            new = copy.deepcopy(renamed.get(ref, obj))
            text = json.dumps([item.get("data") for item in read], sort_keys=True)
            annotations = new["spec"]["template"].setdefault("metadata", {}).setdefault("annotations", {})
            annotations[ANNOTATION] = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
            yield ref, new


def _read(workload: Object) -> Iterator[str]:
    """Names of the ConfigMaps that its pods read as variables or as files."""
    spec = workload["spec"]["template"]["spec"]
    for volume in spec.get("volumes") or ():
        yield from _name(volume.get("configMap"))
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _name(source.get("configMap"))
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        for source in container.get("envFrom") or ():
            yield from _name(source.get("configMapRef"))
        for variable in container.get("env") or ():
            yield from _name((variable.get("valueFrom") or {}).get("configMapKeyRef"))


def _name(reference: Mapping[str, Any] | None) -> Iterator[str]:
    if reference and isinstance(reference.get("name"), str):
        yield reference["name"]
