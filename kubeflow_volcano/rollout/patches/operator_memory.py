"""The training operator's memory limit: raised if upstream's is known to be too low, and never lowered."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.catalog.operator import era_of, version_of_image
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import quantity


def raise_limit(container: Object, release_version: str) -> None:
    """Raise the memory limit to the least that the operator's version needs; without a limit nothing changes."""
    least = era_of(version_of_image(container["image"]) or release_version).least_memory
    limits = (container.get("resources") or {}).get("limits") or {}
    if least and "memory" in limits and quantity(limits["memory"]) < quantity(least):
        limits["memory"] = least


def keep_higher_limit(cluster: Cluster, objects: Sequence[Object], name: str, release_version: str) -> None:
    """Keep a higher memory limit, or none, that the operator `name` has on the cluster.

    Only for versions whose limit is raised; for others upstream's limit is declared.

    Raises:
        ApiError: the Deployment may not be read.
    """
    for deployment in objects:
        if deployment["kind"] != "Deployment" or deployment["metadata"]["name"] != name:
            continue
        container = _container(deployment, name)
        limits = ((container or {}).get("resources") or {}).get("limits") or {}
        if not container or "memory" not in limits:
            continue
        least = era_of(version_of_image(container["image"]) or release_version).least_memory
        live = cluster.get(Ref.of(deployment)) if least else None
        there = _container(live, name) if live else None
        if not there:
            continue
        given = ((there.get("resources") or {}).get("limits") or {}).get("memory")
        if given is None:
            del limits["memory"]
        elif quantity(given) > quantity(limits["memory"]):
            limits["memory"] = given


def _container(deployment: Object, name: str) -> Object | None:
    containers: list[Object] = deployment["spec"]["template"]["spec"]["containers"]
    return next((item for item in containers if item["name"] == name), None)
