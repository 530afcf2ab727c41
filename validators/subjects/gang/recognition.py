"""Detecting the gang scheduler of a cluster: the installed one, else the operator's, else that of Kubernetes itself.

Checks report contradictions: G1 if the training operator uses another scheduler or none, F1 and B1 if the scheduler
that it uses is missing.
"""

from __future__ import annotations

from kubeflow_volcano.catalog.gangs import GANG_SCHEDULERS, KUBERNETES, SCHEDULER_PLUGINS, VOLCANO, GangScheduler
from kubeflow_volcano.catalog.operator import eras, version_of_image
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.validators.subjects.gang.operator_flags import container_of, flags_of

_ALONE = "only its PodGroups are served"


def recognise_gang(cluster: Cluster, operator: Object | None, operator_version: str) -> tuple[GangScheduler, str]:
    """The gang scheduler of a cluster, and how it was detected.

    `operator` is the Deployment of the training operator; `operator_version` is used if its image does not show the
    version. Only discovery is read, which every user may.
    """
    installed = [item for item in GANG_SCHEDULERS.values() if item.has_makers and _served(cluster, item)]
    native = _served(cluster, KUBERNETES)
    if len(installed) == 1:
        return installed[0], "its PodGroups are served, as are those of Kubernetes itself" if native else _ALONE
    named = named_by(operator, operator_version) if operator else None
    if named:
        return named, "of the running operator's arguments"
    if not installed and native:
        return KUBERNETES, _ALONE
    return VOLCANO, "default; no operator names one"


def _served(cluster: Cluster, gang: GangScheduler) -> bool:
    try:
        cluster.resource(*gang.podgroup)
    except ApiError:  # not served, or not readable; the checks that need it report why
        return False
    return True


def named_by(operator: Object, version: str = "") -> GangScheduler | None:
    """The gang scheduler in the arguments of the training operator, as its version reads them; None if there is none.

    `version` is used if its image does not show the version; without either the newest is assumed.
    """
    container = container_of(operator)
    version = version_of_image(container["image"]) or version or eras()[-1].lowest
    flags = flags_of(container)
    try:
        required = [argument.partition("=") for argument in VOLCANO.arguments(version)]
    except InvalidInput:  # the catalog does not know this version
        return None
    if all(flags.get(flag, "").lower() == value for flag, _, value in required):
        return VOLCANO
    another = flags.get("--gang-scheduler-name", "").lower() not in {"", VOLCANO.scheduler}
    return SCHEDULER_PLUGINS if another and SCHEDULER_PLUGINS.is_supported_by(version) else None
