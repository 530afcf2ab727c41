"""`python -m validators explain job NAMESPACE/NAME`."""

from __future__ import annotations

import json
from pathlib import Path

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.problems import Exit, InvalidInput, Problem, Unreachable
from validators.explain.answer import explain
from validators.explain.reading.reading import situation
from validators.explain.text import document, render

__all__ = ["explain_job"]


def explain_job(
    name: str, *, kind: str, as_json: bool, kubeconfig: Path | None, context: str | None
) -> tuple[str, Exit]:
    """What to print, and the exit code: 1 where something is in the job's way, 3 where too little could be read.

    Raises:
        InvalidInput: no such job, or no such kind.
        Unreachable: the API server does not answer, or does not let the job be read.
    """
    namespace, _, own = name.rpartition("/")
    if not own or not namespace or "/" in namespace:
        raise InvalidInput(Problem(f"the job {name!r}.", "NAMESPACE/NAME.", "write it so."))
    cluster = Cluster.connect(kubeconfig, context, user_agent="kubeflow-volcano-explain")
    try:
        found = explain(situation(cluster, namespace, own, kind))
    except ApiError as error:
        raise Unreachable(
            Problem(
                f"job {name} could not be read: {error}.",
                "an API server that answers, and the right to get the job.",
                "see its health and your rights (kubectl auth can-i get).",
            )
        ) from error
    told = document(found)
    text = json.dumps(told, indent=2, ensure_ascii=False) + "\n" if as_json else render(told)
    if found.blocked:
        return text, Exit.CHECK_FAILED
    return text, Exit.INCOMPLETE if found.unread else Exit.OK
