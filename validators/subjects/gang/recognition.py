"""Which gang scheduler a cluster is judged by where nobody says so: the one that is installed, else the operator's.

What contradicts the answer is for checks to find: G1 where the training operator is told of another scheduler or of
none, F1 and B1 where the one that it is told of is missing.
"""

from __future__ import annotations

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS, SCHEDULER_PLUGINS, VOLCANO, GangScheduler
from kubeflow_volcano.catalog.operator import eras, version_of_image
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from validators.subjects.gang.operator_flags import container_of, flags_of

__all__ = ["named_by", "recognise_gang"]


def recognise_gang(cluster: Cluster, operator: Object | None, operator_version: str) -> tuple[GangScheduler, str]:
    """The gang scheduler of a cluster, and how it is known.

    `operator` is the Deployment of the training operator; `operator_version` counts where its image does not tell.
    Asks only what the server serves, which everybody may.
    """
    installed = [item for item in GANG_SCHEDULERS.values() if _served(cluster, item)]
    if len(installed) == 1:
        return installed[0], "only its PodGroups are served"
    named = named_by(operator, operator_version) if operator else None
    if named:
        return named, "of the running operator's arguments"
    return VOLCANO, "default; no operator names one"


def _served(cluster: Cluster, gang: GangScheduler) -> bool:
    try:
        cluster.resource(*gang.podgroup)
    except ApiError:  # not served, or not told; the checks that want to know say why
        return False
    return True


def named_by(operator: Object, version: str = "") -> GangScheduler | None:
    """Whom the training operator makes gangs for by its arguments, as its era reads them; None for nobody.

    `version` counts where its image does not tell; without either it is read as the newest.
    """
    container = container_of(operator)
    version = version_of_image(container["image"]) or version or eras()[-1].lowest
    flags = flags_of(container)
    try:
        required = [argument.partition("=") for argument in VOLCANO.arguments(version)]
    except InvalidInput:  # no training operator that the catalog knows
        return None
    if all(flags.get(flag, "").lower() == value for flag, _, value in required):
        return VOLCANO
    another = flags.get("--gang-scheduler-name", "").lower() not in {"", VOLCANO.scheduler}
    return SCHEDULER_PLUGINS if another and SCHEDULER_PLUGINS.is_supported_by(version) else None
