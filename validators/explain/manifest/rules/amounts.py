"""Rules about amounts of resources that no API server takes in a pod, wherever its namespace is.

Rules: validateContainerResources and IsExtendedResourceName of pkg/apis/core of Kubernetes, v1.22 to v1.37: amounts of
extended resources are whole, and their limit is set and equals the request; of others a request is within the limit.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.pods.quantities import amounts
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.manifest.model import Flaw, Manifest, flaw
from kubeflow_volcano.validators.explain.manifest.templates import shown

_NATIVE = "kubernetes.io/"


def resources(manifest: Manifest, _facts: Facts) -> Iterator[Flaw]:
    """Requests and limits that a pod may not have."""
    for template in manifest.templates:
        for path, container in template.containers:
            for name, why, word in _faults(container.get("resources") or {}):
                yield flaw(
                    "ResourcesInvalid",
                    f"{shown((*path, 'resources'))}, {name}: {why}. No API server takes such a pod.",
                    needed="whole amounts of devices with equal request and limit, other requests within their limit.",
                    todo="correct the amounts.",
                    words=[name, word],
                )


def _faults(found: Object) -> Iterator[tuple[str, str, str]]:
    """Name of a resource, what is wrong with its amounts, and a word of the API server's refusal for it."""
    requests, limits = amounts(found.get("requests")), amounts(found.get("limits"))
    for name in dict.fromkeys((*requests, *limits)):
        asked, most = requests.get(name), limits.get(name)
        if _is_extended(name):
            if any(amount is not None and amount % 1 for amount in (asked, most)):
                yield name, f"{asked if asked is not None else most} is no whole number", "must be an integer"
            if most is None:
                yield name, "it has a request and no limit", "Limit must be set"
            elif asked is not None and asked != most:
                yield name, f"its request {asked} is not its limit {most}", "must be equal to"
        elif asked is not None and most is not None and asked > most:
            yield name, f"its request {asked} is above its limit {most}", "must be less than or equal to"


def _is_extended(name: str) -> bool:
    """Whether it is a resource of a device plugin, as nvidia.com/gpu."""
    return "/" in name and _NATIVE not in name and not name.startswith("requests.")
