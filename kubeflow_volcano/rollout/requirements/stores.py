"""Whether what an installation holds in its own stores would be lost sight of by `kubeflow_database`."""

from __future__ import annotations

from collections.abc import Container, Iterator

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.pods.stores import DatabaseSettings

_NAMESPACE = "kubeflow"


def unmet_stores(cluster: Cluster, database: DatabaseSettings, components: Container[str]) -> Iterator[Problem]:
    """Problems of claims with the data of these components, unless the inventory says that it was moved.

    A claim that was never bound has none.

    Raises:
        ApiError: a claim cannot be read.
    """
    for component, name in database.claims.items():
        if component not in components or database.moved:
            continue
        ref = Ref("v1", "PersistentVolumeClaim", _NAMESPACE, name)
        live = cluster.get(ref)
        if live and (live.get("status") or {}).get("phase") != "Pending":
            yield Problem(
                f"{ref} has the data of {component}, and kubeflow_database names {database.host}.",
                "the same data there: runs, experiments and their metadata are not copied, and would no longer be "
                "shown.",
                "move it, as with mysqldump, or do without; then set kubeflow_database.moved: true. The claim stays.",
            )
