"""Changing one live object as it is, without overwriting what others write meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.metadata import FIELD_MANAGER
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline

_TRIES = 5


def edit(
    cluster: Cluster, ref: Ref, change: Callable[[Object], bool], *, deadline: Deadline, subresource: str = ""
) -> None:
    """Read an object, let `change` edit it, and replace it; again if others, such as an injector, changed it meanwhile.

    `change` returns whether anything is to be written.

    Raises:
        ApiError: the API server refused it, or others changed it between reading and writing five times.
    """
    path = cluster.resource(ref.api_version, ref.kind).path(ref.namespace, ref.name)
    for last in (*(False,) * (_TRIES - 1), True):
        live: Object = cluster.request("GET", path, deadline=deadline)
        if not change(live):
            return
        try:
            cluster.replace(live, subresource=subresource, manager=FIELD_MANAGER, deadline=deadline)
        except ApiError as error:
            if last or error.status != HTTPStatus.CONFLICT:
                raise
        else:
            return
