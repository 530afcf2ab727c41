"""Which pods run on the real node and which on simulated ones. Pure.

The rules, first match wins:

1. a pod that is bound to a simulated node is simulated there; a DaemonSet's pod and one that is bound to the real node
   are left alone;
2. a pod that requests a device, as an extended resource or by a ResourceClaim, is sent to the simulated nodes for
   training, the only ones that have any;
3. a pod all of whose images are in the local store runs for real;
4. a pod with an image from a known repository is simulated: training workloads on those nodes, components of
   Kubeflow on the simulated node for them;
5. any other pod is left alone: it is scheduled to the real node and fails there, as its image cannot be pulled.

A DaemonSet with an image from a known repository gets one pod, on the simulated node for Kubeflow's components.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SIMULATED_LABEL = "rehearsal.kubeflow-volcano.io/simulated"
REASON_ANNOTATION = "rehearsal.kubeflow-volcano.io/simulated-because"
SUCCEED_ANNOTATION = "rehearsal.kubeflow-volcano.io/succeed-after"
TRAINING_POOL = {"type": "kwok"}
PLATFORM_POOL = {"type": "kwok-platform"}
"""Labels of the simulated nodes for training, with devices, and of the one for Kubeflow's components."""
TOLERATION = {"key": "kwok.x-k8s.io/node", "operator": "Equal", "value": "fake", "effect": "NoSchedule"}

_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
_HELPER_SCRIPTS = (["/bin/sh", "/script/setup"], ["/bin/sh", "/script/teardown"])
"""Commands of the pods that create and remove the directory of a volume (local-path-provisioner, provisioner.go)."""
_HELPER_SECONDS, _JOB_SECONDS = "1s", "3s"


@dataclass(frozen=True, slots=True)
class Rules:
    """Inputs of placement.

    `local` has full names of images with tags, `training` and `platform` patterns of repositories without tags,
    `real_node` the name of the only node that is not simulated.
    """

    local: Collection[str]
    training: Collection[str]
    platform: Collection[str]
    real_node: str


@dataclass(frozen=True, slots=True)
class Simulation:
    """How a pod is simulated: why, on which nodes (empty: it is bound), when it succeeds (empty: never)."""

    reason: str
    pool: Mapping[str, str] = field(default_factory=dict)
    succeed_after: str = ""


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


def simulation(pod: Mapping[str, Any], rules: Rules) -> Simulation | None:
    """How to simulate this pod; None when it is left alone."""
    spec = pod["spec"]
    owners = pod.get("metadata", {}).get("ownerReferences") or ()
    if node := spec.get("nodeName"):
        return _bound(spec, node) if node != rules.real_node else None
    if "DaemonSet" in {owner.get("kind") for owner in owners}:
        return None
    if device := next(_devices(spec), ""):
        return Simulation(f"it requests {device}, which only simulated nodes have", TRAINING_POOL)
    if image := _first_of(spec, rules.training, rules.local):
        return Simulation(_because(image, "training workloads"), TRAINING_POOL)
    if image := _first_of(spec, rules.platform, rules.local):
        of_job = any(owner.get("kind") == "Job" and owner.get("apiVersion") == "batch/v1" for owner in owners)
        return Simulation(_because(image, "Kubeflow components"), PLATFORM_POOL, _JOB_SECONDS if of_job else "")
    return None


def simulation_of_daemon_set(daemon_set: Mapping[str, Any], rules: Rules) -> Simulation | None:
    """How to simulate the pods of this DaemonSet; None when they are left alone."""
    image = _first_of(daemon_set["spec"]["template"]["spec"], rules.platform, rules.local)
    return Simulation(_because(image, "Kubeflow components"), PLATFORM_POOL) if image else None


def patch(pod: Mapping[str, Any], how: Simulation, at: str = "") -> list[dict[str, Any]]:
    """JSON Patch that simulates `pod`, or the template at the path `at`, and annotates the reason.

    Applying it twice has the same result.
    """
    meta, spec = pod.get("metadata", {}), pod["spec"]
    end = {SUCCEED_ANNOTATION: how.succeed_after} if how.succeed_after else {}
    operations = [
        _set(f"{at}/metadata/labels", {**(meta.get("labels") or {}), SIMULATED_LABEL: "true"}),
        _set(f"{at}/metadata/annotations", end | (meta.get("annotations") or {}) | {REASON_ANNOTATION: how.reason}),
    ]
    if how.pool:
        tolerations = [item for item in spec.get("tolerations") or () if item != TOLERATION]
        operations += [
            _set(f"{at}/spec/nodeSelector", {**(spec.get("nodeSelector") or {}), **how.pool}),
            _set(f"{at}/spec/tolerations", [*tolerations, TOLERATION]),
        ]
    return operations


def _bound(spec: Mapping[str, Any], node: str) -> Simulation:
    helper = any(container.get("command") in _HELPER_SCRIPTS for container in spec.get("containers") or ())
    return Simulation(f"it is bound to {node}, which is simulated", succeed_after=_HELPER_SECONDS if helper else "")


def _because(image: str, whose: str) -> str:
    return f"its image {image} is not in the local store and belongs to the simulated repositories of {whose}"


def _set(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def _first_of(spec: Mapping[str, Any], patterns: Collection[str], local: Collection[str]) -> str:
    """The first image that is not local and matches a pattern."""
    for container in _containers(spec):
        name = full_name(container.get("image", ""))
        known = any(form in local for form in _unmirrored(_without_digest(name)))
        if not known and any(
            fnmatch.fnmatchcase(form, pattern) for pattern in patterns for form in _unmirrored(_repository(name))
        ):
            return name
    return ""


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for group in ("initContainers", "containers"):
        yield from spec.get(group) or ()


def _devices(spec: Mapping[str, Any]) -> Iterator[str]:
    """Extended resources of which a pod requests any, and claims; rule: IsExtendedResourceName of pkg/apis/core/v1."""
    for container in _containers(spec):
        resources = container.get("resources") or {}
        for kind in ("limits", "requests"):
            for name, amount in (resources.get(kind) or {}).items():
                if "/" in name and "kubernetes.io/" not in name and str(amount) != "0":
                    yield name
    if spec.get("resourceClaims"):
        yield "devices by ResourceClaims"


def _unmirrored(name: str) -> Iterator[str]:
    """A full name, and each suffix that may be the original one: mirrors put their own name first."""
    parts = name.split("/")
    return ("/".join(parts[start:]) for start in range(len(parts)))


def _repository(name: str) -> str:
    """A full name without tag and digest."""
    return re.sub(r":[^/]*$", "", _DIGEST.sub("", name))


def _without_digest(name: str) -> str:
    """`repository:tag`, without the digest that pins the tag; `repository:digest` where there is no tag."""
    bare = _DIGEST.sub("", name)
    return bare if ":" in bare.rpartition("/")[2] else f"{bare}:{name[len(bare) + 1 :]}"
