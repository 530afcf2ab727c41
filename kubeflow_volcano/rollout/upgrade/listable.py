"""Kinds of ours whose objects cannot be listed: neither saved, nor stored again, nor counted."""

from __future__ import annotations

from kubeflow_volcano.apply.removing.managed import own_crds, preferred_kinds
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.discovery import Resource
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.stored_versions import lost_version, problem
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.problems import Problem


def unlistable(cluster: Cluster) -> list[Problem]:
    """A problem with the way back for each CRD of ours that lacks a version in which an object is stored.

    Raises:
        ApiError: the API server does not answer, or refuses a list for another reason.
    """
    ours = own_crds(cluster)

    def look(kind: Resource) -> Problem | None:
        try:
            for _ in cluster.pages(kind.api_version, kind.kind, brief=True):
                pass
        except ApiError as error:
            if not lost_version(error.message):
                raise
            return problem(kind.title, str(error))
        return None

    kinds = [kind for kind in preferred_kinds(cluster) if kind.title in ours]
    return [found for found in in_parallel(look, kinds) if found]
