"""What a case runs on: the versions of programs, and the pods of those that make and place its gangs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.catalog.images.names import tag_of
from kubeflow_volcano.catalog.operator import DEPLOYMENT, version_of_image
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["pods_of_programs", "versions"]

_PROGRAMS: Mapping[str, tuple[Ref, ...]] = {
    "Volcano": tuple(
        Ref("apps/v1", "Deployment", "volcano-system", name) for name in ("volcano-scheduler", "volcano-controllers")
    ),
    "training operator": (DEPLOYMENT,),
}
"""Deployments of each; its version is that of the first."""


def versions(cluster: Cluster) -> dict[str, str]:
    """What the case runs on, by the name of the program; a program that is not there is left out."""
    found = {"Kubernetes": cluster.version["gitVersion"].removeprefix("v")}
    for name, refs in _PROGRAMS.items():
        if live := cluster.get(refs[0]):
            image = live["spec"]["template"]["spec"]["containers"][0]["image"]
            found[name] = version_of_image(image) or tag_of(image).removeprefix("v")
    return found


def pods_of_programs(cluster: Cluster) -> dict[str, frozenset[tuple[str, ...]]]:
    """The pods that run of each program: UIDs, and when each of their containers started. Same when all ran through."""
    return {
        name: frozenset(_started(pod) for ref in refs for pod in _running(cluster, ref))
        for name, refs in _PROGRAMS.items()
    }


def _running(cluster: Cluster, ref: Ref) -> Iterator[Object]:
    live = cluster.get(ref)
    wanted = live["spec"]["selector"]["matchLabels"] if live else {}
    labels = ",".join(f"{key}={value}" for key, value in wanted.items())
    for pod in cluster.list("v1", "Pod", namespace=ref.namespace, labels=labels).items if wanted else ():
        if pod.get("status", {}).get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]:
            yield pod


def _started(pod: Object) -> tuple[str, ...]:
    states = (item.get("state", {}) for item in pod["status"].get("containerStatuses") or ())
    return (pod["metadata"]["uid"], *(state.get("running", {}).get("startedAt", "") for state in states))
