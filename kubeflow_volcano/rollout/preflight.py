"""Everything about a roll-out that can be known before its first change, found out at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout import storage
from kubeflow_volcano.rollout.matrix import require_kubernetes
from kubeflow_volcano.rollout.run import objects_of, refused
from kubeflow_volcano.rollout.settings import Settings

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
        with _gathered(problems):
            require_kubernetes(settings, cluster.version["gitVersion"])
        for part in settings.components:
            with _gathered(problems):
                objects = objects_of(settings, part, progress)
                count += len(objects)
                if part.name == "local-path":
                    storage.require_one_default(cluster, objects)
    except ApiError as error:
        raise ProblemsError([*problems, refused(cluster, error)]) from error
    if problems:
        raise InvalidInput(problems)
    return count


@contextlib.contextmanager
def _gathered(problems: list[Problem]) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        problems += error.problems
