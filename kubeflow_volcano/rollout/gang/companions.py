"""Objects beside a Deployment of several replicas, which are deleted when it has one replica again."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.apply.engine import Engine, refusal
from kubeflow_volcano.apply.remove import delete_owned
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.gang.replicas import ADDED, companions_of

__all__ = ["delete_unused_companions"]

_LABELS = ",".join(f"{key}={value}" for key, value in ADDED.items())


def delete_unused_companions(run: Engine, objects: Iterable[Object]) -> None:
    """Delete the PodDisruptionBudget and leader-election RBAC of each Deployment that is declared without them.

    In check mode they are only reported. Objects without this project's label and field manager stay.
    """
    declared = tuple(objects)
    former = {ref for obj in declared for ref in companions_of(obj)} - {Ref.of(obj) for obj in declared}
    try:
        for version, kind in sorted({(ref.api_version, ref.kind) for ref in former}):
            for live in run.cluster.list(version, kind, labels=_LABELS).items:
                if Ref.of(live) in former and (outcome := delete_owned(run.cluster, live, check=run.check)):
                    run.add_outcome(outcome)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))
