"""Which version of each component the roll-outs so far have brought."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.catalog.operator import DEPLOYMENT, version_of_image
from kubeflow_volcano.catalog.read import INDEPENDENT, load_release
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.applied_objects import GUARDED_KINDS
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.state.inventory import read_inventory

_LEFT = GUARDED_KINDS | {"CustomResourceDefinition"}
"""Kinds that an uninstallation leaves until they are named or no longer used."""


def installed_versions(cluster: Cluster) -> Mapping[str, str]:
    """By component: the release of Kubeflow, or the own version of components such as Volcano.

    Left out is an operator of others of which roll-outs brought the gang wiring alone.

    Raises:
        ApiError: the records cannot be read.
    """
    inventory = read_inventory(cluster)
    return {name: brought.version for name, brought in inventory.items() if brought.objects and brought.version}


def operator_version(cluster: Cluster) -> str:
    """The version of the training operator that runs, by its image; empty where there is none, or none that is known.

    Raises:
        ApiError: it cannot be read.
    """
    operator = cluster.get(DEPLOYMENT)
    containers = operator["spec"]["template"]["spec"]["containers"] if operator else ()
    return next(filter(None, (version_of_image(item.get("image", "")) for item in containers)), "") or ""


def remains(cluster: Cluster) -> Mapping[str, tuple[Ref, ...]]:
    """What uninstallations left, by component: of these the record has nothing but data, namespaces and CRDs.

    Raises:
        ApiError: the record cannot be read.
    """
    return {
        name: tuple(sorted(brought.objects))
        for name, brought in read_inventory(cluster).items()
        if brought.objects and all(ref.kind in _LEFT for ref in brought.objects)
    }


def own_version(component: str, recorded: str) -> str:
    """The version of a component itself, such as 1.14.5 of cert-manager, where the release of Kubeflow is recorded.

    Where the catalog does not know it, the release is named as what it is.
    """
    if component in INDEPENDENT:
        return recorded
    try:
        part = load_release(recorded).components.get(component)
    except InvalidInput:
        part = None
    return part.version if part else f"of Kubeflow {recorded}"
