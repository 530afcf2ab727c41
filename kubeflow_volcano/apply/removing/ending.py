"""Objects that are being deleted: waiting for their end as long as there is progress, and finalizers on request."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.text import counted, few

_POLL_SECONDS = 0.3
_REPORT_SECONDS = 10.0
_GET_SECONDS = 30.0


def wait_for_end(
    cluster: Cluster, uids: Mapping[Ref, str], patience: Deadline, progress: Progress
) -> Mapping[Ref, Object]:
    """Wait until these objects, by UID, are gone; returns the live ones that are left.

    `patience` begins again whenever one of them is gone: it limits the time without progress, not the whole.

    Raises:
        ApiError: the API server does not answer whether they exist.
    """
    left: dict[Ref, str] = dict(uids)
    live: dict[Ref, Object] = {}
    reported = Deadline(_REPORT_SECONDS)
    for _ in patience.every(_POLL_SECONDS):
        found = in_parallel(lambda ref: cluster.get(ref, deadline=Deadline(_GET_SECONDS)), left)
        live = {ref: obj for ref, obj in zip(left, found, strict=True) if obj and obj["metadata"]["uid"] == uids[ref]}
        if len(live) < len(left):
            patience.renew()
        left = {ref: uids[ref] for ref in live}
        if not left:
            break
        if reported.passed:
            reported.renew()
            progress(f"waiting until {counted(len(left), 'object')} are gone: {few(list(map(str, left)), 3)}")
    return live


def drop_finalizers(cluster: Cluster, live: Object) -> None:
    """Remove all finalizers of an object that is being deleted, of a Namespace also those of its spec.

    Raises:
        ApiError: the API server refuses it, or the object has changed since it was read.
    """
    ref, meta = Ref.of(live), live["metadata"]
    if meta.get("finalizers"):
        guard = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"], "finalizers": None}
        live = cluster.patch(ref, {"metadata": guard})
    if (ref.group, ref.kind) == ("", "Namespace") and live["spec"].get("finalizers"):
        cluster.replace({**live, "spec": {**live["spec"], "finalizers": []}}, subresource="finalize")
