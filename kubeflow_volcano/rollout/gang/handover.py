"""The end of an operator's former pods, which act on jobs by their former flags until they have stopped."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.apply.engine import Engine
from kubeflow_volcano.apply.problems import refusal
from kubeflow_volcano.apply.removing.ending import wait_for_end
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.gang.pods import pods_of

_KILL_SECONDS = 10
"""What the kubelet may take beyond a pod's grace period. Pods of a lost node never end, so the wait does."""


def wait_for_former_pods(run: Engine, deployments: Iterable[Object]) -> None:
    """Wait until no pod of these Deployments is terminating, for its grace period and a little more.

    A Deployment is complete while former pods still stop, and both handle the jobs that arrive then.
    """
    if run.check:
        return
    try:
        for deployment in deployments:
            former = [pod for pod in pods_of(run.cluster, deployment) if "deletionTimestamp" in pod["metadata"]]
            grace = max((pod["metadata"].get("deletionGracePeriodSeconds") or 0 for pod in former), default=0)
            uids = {Ref.of(pod): pod["metadata"]["uid"] for pod in former}
            wait_for_end(run.cluster, uids, run.deadline.at_most(grace + _KILL_SECONDS), run.progress)
    except ApiError as error:
        run.add_problem(refusal(run.cluster, error))
