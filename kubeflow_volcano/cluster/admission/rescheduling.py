"""Who gives pods another scheduler than they name: a dry run asks the API server, webhooks that intercept pods tell."""

from __future__ import annotations

from dataclasses import dataclass

from kubeflow_volcano.cluster.admission.alterations import interceptors
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref


@dataclass(frozen=True, slots=True)
class Rescheduling:
    """Admission stores pods that name the scheduler `asked` with `given`.

    `hooks` are the configurations of webhooks that change such pods; none where they could not be read.
    """

    asked: str
    given: str
    hooks: tuple[Ref, ...] = ()


def rescheduling(cluster: Cluster, pod: Object) -> Rescheduling | None:
    """Whether admission gives a pod another scheduler than it names; None where it does not, or refuses it."""
    asked = str(pod["spec"]["schedulerName"])
    try:
        given = str(cluster.create(pod, dry_run=True)["spec"].get("schedulerName", ""))
    except ApiError:
        return None
    if given == asked:
        return None
    return Rescheduling(asked, given, interceptors(cluster, pod))
