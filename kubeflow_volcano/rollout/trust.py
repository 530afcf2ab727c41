"""Webhooks that are not trusted any more because their caBundle is gone: their backends are started anew."""

from __future__ import annotations

from collections.abc import Sequence

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.rollout.intercepts import backends, webhooks
from kubeflow_volcano.rollout.restart import restart
from kubeflow_volcano.rollout.result import ObjectOutcome

__all__ = ["renew_trust"]


def renew_trust(
    cluster: Cluster, configurations: Sequence[Ref], objects: Sequence[Object], progress: Progress
) -> tuple[ObjectOutcome, ...]:
    """Start the backends among `objects` anew that write the caBundle at their start, where it has gone since.

    Raises:
        ApiError: something may not be read or changed.
    """
    causes: dict[Ref, str] = {}
    for live in filter(None, map(cluster.get, configurations)):
        meta = live["metadata"]
        for hook in webhooks([live]):
            if hook.service and not hook.text["clientConfig"].get("caBundle"):
                cause = f"{meta['uid']}-{meta['generation']}"
                behind = [Ref.of(obj) for obj in backends(hook, objects) if obj["kind"] == "Deployment"]
                causes |= dict.fromkeys(behind, cause)
    done: list[ObjectOutcome] = []
    for ref, cause in causes.items():
        deployment = cluster.get(ref)
        if deployment is not None:
            progress(f"{ref} is started anew: it writes the caBundle of its webhooks, which is gone")
            done.append(restart(cluster, deployment, cause, check=False))
    return tuple(done)
