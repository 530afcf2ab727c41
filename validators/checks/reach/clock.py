"""Family A, clocks: how far those of the API server and of the nodes are from each other, and from this host's."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.text import counted
from validators.checks.reach.api_server import API_SERVER
from validators.core.check import check
from validators.core.facts import Fact, Facts
from validators.core.outcome import Outcome, Severity, errored, failed, passed, warned
from validators.core.resources import NODES
from validators.core.rights import Rule

__all__ = ["CHECKS", "CLOCKS", "Clocks", "clocks", "drift", "narrowed"]


_SAMPLES = 3
_SECONDS, _PAUSE_SECONDS = 10.0, 0.2
_LEASES = ("coordination.k8s.io/v1", "Lease", "kube-node-lease")
_RENEWED = "f:renewTime"
_EVERY_WRITE = (1, 25)
"""Before, managedFields keep the time of the first write with the same fields (seen in 1.22.17, not in 1.25.0)."""
_LEASE_SECONDS = 40.0

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Clocks:
    """How far clocks are apart, in seconds, each as the bounds between which the difference lies.

    `server` is the API server's clock less that of this host; `nodes` hold each node's less the API server's.
    """

    server: Bounds
    nodes: Mapping[str, Bounds] = field(default_factory=dict)


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


CLOCKS = Fact[Clocks | None](
    "clocks", clocks, None, needs=(Rule("list", "coordination.k8s.io", "leases", "kube-node-lease"),)
)
"""How far the clocks are apart."""


@check(
    "A3",
    "clock-skew",
    severity=Severity.MAJOR,
    reads=(CLOCKS, NODES),
)
def clock_skew(facts: Facts) -> Outcome:
    """The clocks of this host, of the API server and of every node agree within 5 s.

    From 60 s on certificates are not valid yet or any more, tokens expire, and Leases are taken from those who hold
    them. The API server's clock is read from its answers, a node's from the moment at which its kubelet last renewed
    its Lease; before Kubernetes 1.25 that tells of a clock that is behind only from 40 s on. Let chronyd keep the
    clocks of all hosts (`timedatectl`, `chronyc tracking`).
    """
    found = facts.read(CLOCKS)
    if found is None:
        return errored("NotRead", "no clock was read.", todo="run again.")
    real = {item["metadata"]["name"] for item in facts.all(NODES)} - facts.simulated_nodes
    apart = {"this host and the API server": _least(found.server)}
    apart |= {
        f"node {name} and the API server": _least(found.nodes[name]) for name in sorted(real & found.nodes.keys())
    }
    wrong = {who: seconds for who, seconds in apart.items() if seconds > facts.timing.skew_warn_seconds}
    untold = sorted(real - found.nodes.keys())
    refs = [API_SERVER, *(Ref("v1", "Node", "", name) for name in sorted(real))]
    if wrong:
        make = failed if max(wrong.values()) > facts.timing.skew_fail_seconds else warned
        return make(
            "ClockSkew",
            f"{'; '.join(f'{who} are {seconds:.0f} s apart' for who, seconds in wrong.items())}.",
            expected=f"at most {facts.timing.skew_warn_seconds:.0f} s apart",
            observed={who: f"{seconds:.1f} s" for who, seconds in wrong.items()},
            objects=[ref for ref in refs if ref == API_SERVER or f"node {ref.name} and the API server" in wrong],
            todo="set the clocks, and let chronyd keep them.",
            commands=("timedatectl", "chronyc tracking"),
        )
    if untold:
        return errored(
            "NotTold",
            f"the Leases of {', '.join(untold)} do not tell the clock of their nodes.",
            expected="a Lease in kube-node-lease for every node, renewed by its kubelet",
            objects=[ref for ref in refs if ref.name in untold],
            todo="see that their kubelets run.",
            because=("A4",),
        )
    simulated = len(facts.simulated_nodes)
    told = f" {simulated} simulated nodes have no clock of their own." if simulated else ""
    return passed(
        f"this host, the API server and {counted(len(real), 'node')} agree within "
        f"{facts.timing.skew_warn_seconds:.0f} s.{told}",
        objects=refs,
        observed={who: f"{seconds:.1f} s" for who, seconds in apart.items()},
    )


def _least(bounds: Bounds) -> float:
    """The smallest difference that lies within the bounds; 0 where they hold none for certain."""
    low, high = bounds
    return max(low, -high, 0.0)


CHECKS = (clock_skew,)
