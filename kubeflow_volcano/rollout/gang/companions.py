"""What stood beside a Deployment of several pods goes when it has one again."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.apply.engine import Engine, refusal
from kubeflow_volcano.apply.remove import delete_owned
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.gang.replicas import ADDED, beside

__all__ = ["retire"]

_LABELS = ",".join(f"{key}={value}" for key, value in ADDED.items())


def retire(run: Engine, objects: Iterable[Object]) -> None:
    """Remove what was put beside the Deployments of `objects` and is no longer among these; in check mode, tell it.

    What the API server refuses is a problem of the run.
    """
    declared = tuple(objects)
    former = {ref for obj in declared for ref in beside(obj)} - {Ref.of(obj) for obj in declared}
    try:
        for version, kind in sorted({(ref.api_version, ref.kind) for ref in former}):
            for live in run.cluster.list(version, kind, labels=_LABELS).items:
                if Ref.of(live) in former and (outcome := delete_owned(run.cluster, live, check=run.check)):
                    run.add_outcome(outcome)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))
