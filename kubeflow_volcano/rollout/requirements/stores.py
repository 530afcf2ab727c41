"""Whether what an installation holds in its own stores would be lost sight of by stores outside of the cluster."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.pods.stores import DatabaseSettings, ObjectStoreSettings, Store

_NAMESPACE = "kubeflow"


def unmet_stores(
    cluster: Cluster, database: DatabaseSettings, object_store: ObjectStoreSettings, components: Container[str]
) -> Iterator[Problem]:
    """Problems of claims with the data of these components, unless the inventory says that it was moved.

    A claim that was never bound has none.

    Raises:
        ApiError: a claim cannot be read.
    """
    stores: Mapping[str, Store] = {"kubeflow_database": database, "kubeflow_object_store": object_store}
    unused = [
        (variable, given.place, component, name)
        for variable, given in stores.items()
        for component, names in given.claims.items()
        for name in sorted(names)
        if component in components and not given.moved
    ]
    for variable, place, component, name in unused:
        ref = Ref("v1", "PersistentVolumeClaim", _NAMESPACE, name)
        live = cluster.get(ref)
        if live and (live.get("status") or {}).get("phase") != "Pending":
            yield Problem(
                f"{ref} has the data of {component}, and {variable} names {place}.",
                "the same data there: it is not copied, and runs and artifacts would no longer be shown.",
                f"move it, as docs/stores.md says, or do without; then set {variable}.moved: true. The claim stays.",
            )
