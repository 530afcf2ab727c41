"""Everything about a roll-out that can be known before its first change, found out at once."""

from __future__ import annotations

from kubeflow_volcano.apply.engine import refusal
from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.account.stored import strange_owners
from kubeflow_volcano.rollout.desired import desired, gathered
from kubeflow_volcano.rollout.patches.namespaces import refused_namespaces
from kubeflow_volcano.rollout.queues.reconcile import require_queues
from kubeflow_volcano.rollout.settings.kubernetes_range import require_kubernetes
from kubeflow_volcano.rollout.settings.settings import Settings
from kubeflow_volcano.rollout.storage import default_class as storage
from kubeflow_volcano.rollout.storage.static_volumes import objects_of

__all__ = ["preflight"]


def preflight(cluster: Cluster, settings: Settings, progress: Progress) -> int:
    """See that versions, sources, manifests and storage allow the roll-out of all chosen components.

    Changes nothing, and leaves what was downloaded and built in the cache. Returns the number of objects.

    Raises:
        InvalidInput: every reason why not.
        ProblemsError: the API server refused a question.
    """
    problems: list[Problem] = []
    count = 0
    try:
        with gathered(problems):
            require_kubernetes(settings, cluster.version["gitVersion"])
        problems += strange_owners(cluster, settings, settings.components)
        with gathered(problems):
            found = desired(settings, settings.components, progress)
            count = sum(map(len, found.parts.values()))
            for line in (*found.notes, *map(str, found.images.warnings)):
                progress(f"note: {line}")
            problems += refused_namespaces(cluster, found.parts, settings)
            if VOLCANO.name in found.parts:
                with gathered(problems):
                    require_queues(cluster, settings.scheduling, found.parts[VOLCANO.name])
            if "local-path" in found.parts or settings.storage.mode != "local_path":
                objects = found.parts.get("local-path", objects_of(settings))
                storage.require_usable(cluster, settings, objects)
    except ApiError as error:
        raise ProblemsError([*problems, refusal(cluster, error)]) from error
    if problems:
        raise InvalidInput(problems)
    return count
