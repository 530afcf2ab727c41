"""How far the clocks of the API server and of the nodes are from each other, and from this host's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from email.utils import parsedate_to_datetime

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.deadline import Deadline
from validators.core.facts import Clocks, Facts

__all__ = ["clocks", "drift", "narrowed"]

_SAMPLES = 3
_SECONDS, _PAUSE_SECONDS = 10.0, 0.2
_LEASES = ("coordination.k8s.io/v1", "Lease", "kube-node-lease")
_RENEWED = "f:renewTime"
_EVERY_WRITE = (1, 25)
"""Before, managedFields keep the time of the first write with the same fields (seen in 1.22.17, not in 1.25.0)."""
_LEASE_SECONDS = 40.0

Bounds = tuple[float, float]


def clocks(cluster: Cluster, _facts: Facts) -> Clocks:
    """Differences in seconds; nodes whose Lease does not tell are left out.

    A Lease is renewed every 10 s, so its age says nothing. But the kubelet's clock gives its renewTime, and the API
    server's the time of the same write in managedFields (apimachinery, util/managedfields, managedfieldsupdater.go).
    An API server that does not note every write tells no more than that a node that lives has renewed its Lease
    before it ran out.

    Raises:
        ApiError: the server does not answer, or Leases may not be read.
    """
    server = narrowed(_sample(cluster) for _ in range(_SAMPLES))
    api_version, kind, namespace = _LEASES
    leases = cluster.list(api_version, kind, namespace=namespace).items
    noted = version_key(cluster.version.get("gitVersion", "0"))[:2] >= _EVERY_WRITE
    now = None if noted else time.time() + server[1]
    drifts = {lease["metadata"]["name"]: drift(lease, now) for lease in leases}
    return Clocks(server, {name: bounds for name, bounds in drifts.items() if bounds})


def narrowed(samples: Iterator[Bounds]) -> Bounds:
    """What all samples agree on; where a clock was set in between, the last one."""
    low, high = next(samples)
    for last in samples:
        shared = max(low, last[0]), min(high, last[1])
        low, high = shared if shared[0] <= shared[1] else last
    return low, high


def _sample(cluster: Cluster) -> Bounds:
    """The header Date is in whole seconds, and the answer was under way for a while: hence bounds."""
    deadline = Deadline(_SECONDS)
    while True:
        before = time.time()
        try:
            with cluster.stream("/version", {}, deadline) as response:
                after, text = time.time(), response.headers.get("Date")
            break
        except ApiError as error:
            if not error.transient or deadline.passed:
                raise
            time.sleep(_PAUSE_SECONDS)
    if not text:
        raise ApiError(0, "NoDate", "the API server's answers carry no Date, or something between takes it out")
    date = parsedate_to_datetime(text).timestamp()
    return date - after, date + 1 - before


def drift(lease: Object, now: float | None = None) -> Bounds | None:
    """A node's clock less the API server's when its Lease was last renewed; None where nobody noted when that was.

    `now` is the API server's time where it notes the first renewal only, else None.
    """
    renewed = lease.get("spec", {}).get("renewTime")
    written = [
        entry["time"]
        for entry in lease["metadata"].get("managedFields") or ()
        if "time" in entry and _RENEWED in (entry.get("fieldsV1") or {}).get("f:spec", {})
    ]
    if not (renewed and written):
        return None
    there = datetime.fromisoformat(renewed).timestamp()
    most = there - datetime.fromisoformat(max(written)).timestamp()
    if now is None:
        return most - 1, most
    return there - now, min(most, there - now + lease["spec"].get("leaseDurationSeconds", _LEASE_SECONDS))
