"""Which pods run on the real node and which on simulated ones. Pure; nothing but the standard library.

The rules, first match wins:

1. a pod whose node is already settled (a node name, a DaemonSet's pod) is left alone;
2. a pod that asks for a GPU goes to the simulated nodes, the only ones that offer any;
3. a pod all of whose images exist in the local store runs for real;
4. a pod with an image from a known repository of training workloads is simulated;
5. any other pod is left alone: it comes to the real node and fails honestly, because its image can't be pulled.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

__all__ = ["GPU", "REASON_ANNOTATION", "SIMULATED_LABEL", "full_name", "placement_patch", "simulation_reason"]

GPU = "nvidia.com/gpu"
SIMULATED_LABEL = "rehearsal.kubeflow-volcano.io/simulated"
REASON_ANNOTATION = "rehearsal.kubeflow-volcano.io/simulated-because"
NODE_LABEL = {"type": "kwok"}
TOLERATION = {"key": "kwok.x-k8s.io/node", "operator": "Equal", "value": "fake", "effect": "NoSchedule"}

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")


def full_name(image: str) -> str:
    """The image reference with registry, and with the tag `latest` where there is neither tag nor digest.

    Source: github.com/distribution/reference, normalized names.
    """
    host, slash, _ = image.partition("/")
    if not slash or not ("." in host or ":" in host or host == "localhost"):
        image = f"docker.io/{image}" if slash else f"docker.io/library/{image}"
    if _DIGEST.search(image) or ":" in image.rpartition("/")[2]:
        return image
    return f"{image}:latest"


def simulation_reason(pod: Mapping[str, Any], local: Collection[str], simulated: Collection[str]) -> str:
    """Why this pod is to be simulated, or nothing.

    `local` holds full names of images with their tags; `simulated` holds patterns of repositories without tags.
    """
    spec = pod["spec"]
    owners = {owner.get("kind") for owner in pod.get("metadata", {}).get("ownerReferences") or ()}
    if spec.get("nodeName") or "DaemonSet" in owners:
        return ""
    if any(_wants_gpu(container) for container in _containers(spec)):
        return f"it asks for {GPU}, which only simulated nodes offer"
    missing = [name for name in map(full_name, _images(spec)) if _without_digest(name) not in local]
    for name in missing:
        repository = _without_digest(name).rpartition(":")[0]
        if any(fnmatch.fnmatchcase(repository, pattern) for pattern in simulated):
            return f"its image {name} is not in the local store and belongs to the simulated repositories"
    return ""


def placement_patch(pod: Mapping[str, Any], reason: str) -> list[dict[str, Any]]:
    """JSON Patch that sends `pod` to the simulated nodes and says so; may be applied to its own result."""
    meta, spec = pod.get("metadata", {}), pod["spec"]
    tolerations = [item for item in spec.get("tolerations") or () if item != TOLERATION]
    return [
        _set("/metadata/labels", {**(meta.get("labels") or {}), SIMULATED_LABEL: "true"}),
        _set("/metadata/annotations", {**(meta.get("annotations") or {}), REASON_ANNOTATION: reason}),
        _set("/spec/nodeSelector", {**(spec.get("nodeSelector") or {}), **NODE_LABEL}),
        _set("/spec/tolerations", [*tolerations, TOLERATION]),
    ]


def _set(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for group in ("initContainers", "containers"):
        yield from spec.get(group) or ()


def _images(spec: Mapping[str, Any]) -> Iterator[str]:
    return (container.get("image", "") for container in _containers(spec))


def _wants_gpu(container: Mapping[str, Any]) -> bool:
    resources = container.get("resources") or {}
    return any(str((resources.get(kind) or {}).get(GPU, "0")) != "0" for kind in ("limits", "requests"))


def _without_digest(name: str) -> str:
    """`repository:tag`; a digest beside a tag only pins it, a digest alone stands where the tag would."""
    bare = _DIGEST.sub("", name)
    return bare if ":" in bare.rpartition("/")[2] else f"{bare}:{name[len(bare) + 1 :]}"
