"""Family A, clocks: how far the clocks of this host, of the API server and of the nodes are apart."""

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
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.reach.api_server import API_SERVER
from kubeflow_volcano.validators.checks.reach.open_nodes import sick_of
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, failed, passed, warned
from kubeflow_volcano.validators.core.resources import NODES
from kubeflow_volcano.validators.core.rights import Rule

_SAMPLES = 3
_SECONDS, _PAUSE_SECONDS = 10.0, 0.2
_LEASES = ("coordination.k8s.io/v1", "Lease", "kube-node-lease")
_RENEWED = "f:renewTime"
_EVERY_WRITE = (1, 25)
"""Earlier versions keep the time of the first write of the same fields in managedFields (1.22.17 does, 1.25.0 not)."""
_LEASE_SECONDS = 40.0

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Clocks:
    """Differences between clocks in seconds, each as its lower and upper bound.

    `server` is the API server's clock minus this host's; `nodes` are the nodes' clocks minus the API server's.
    """

    server: Bounds
    nodes: Mapping[str, Bounds] = field(default_factory=dict)


def clocks(cluster: Cluster, _facts: Facts) -> Clocks:
    """Differences in seconds; a node is missing if its Lease does not show its clock.

    A Lease is renewed every 10 s, so its age shows nothing. But its renewTime is from the kubelet's clock, and the time
    of the same write in managedFields from the API server's (apimachinery, util/managedfields,
    managedfieldsupdater.go). If the API server does not record every write, only this is known: a running kubelet
    renewed its Lease before it expired.

    Raises:
        ApiError: the API server does not answer, or Leases may not be read.
    """
    server = narrowed(_sample(cluster) for _ in range(_SAMPLES))
    api_version, kind, namespace = _LEASES
    leases = cluster.list(api_version, kind, namespace=namespace).items
    now = None if _every_write_noted(cluster.version.get("gitVersion", "")) else time.time() + server[1]
    drifts = {lease["metadata"]["name"]: drift(lease, now) for lease in leases}
    return Clocks(server, {name: bounds for name, bounds in drifts.items() if bounds})


def _every_write_noted(server_version: str) -> bool:
    return version_key(server_version or "0")[:2] >= _EVERY_WRITE


def narrowed(samples: Iterator[Bounds]) -> Bounds:
    """The intersection of all samples; the last sample if a clock was set in between."""
    low, high = next(samples)
    for last in samples:
        shared = max(low, last[0]), min(high, last[1])
        low, high = shared if shared[0] <= shared[1] else last
    return low, high


def _sample(cluster: Cluster) -> Bounds:
    """Bounds, because the header Date is in whole seconds and the answer takes time."""
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
        raise ApiError(0, "NoDate", "the answers of the API server have no header Date, or a proxy removes it")
    date = parsedate_to_datetime(text).timestamp()
    return date - after, date + 1 - before


def drift(lease: Object, now: float | None = None) -> Bounds | None:
    """The node's clock minus the API server's at the last renewal of its Lease; None if that time is not recorded.

    `now` is the API server's time if it records the first renewal only, else None.
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
"""Differences between clocks; None if they were not read."""


@check(
    "A3",
    "clock-skew",
    severity=Severity.MAJOR,
    reads=(CLOCKS, NODES),
)
def clock_skew(facts: Facts) -> Outcome:
    """The clocks of this host, the API server and all nodes agree within 5 s.

    From a difference of 60 s on certificates are not valid, tokens expire, and controllers lose their Leases. The API
    server's clock is read from its answers, a node's from the last renewal of its Lease; before Kubernetes 1.25 a node
    that is behind is found from 40 s on. Synchronize the clocks of all hosts with chronyd (`timedatectl`, `chronyc
    tracking`).
    """
    clocks = facts.read(CLOCKS)
    if clocks is None:
        return errored("NotRead", "no clock was read.", todo="run again.")
    real = {item["metadata"]["name"] for item in facts.all(NODES)} - facts.simulated_nodes
    lost = real & {ref.name for ref, state in sick_of(facts.all(NODES)).items() if state.reason == "NotReady"}
    # A4 reports these. Their last renewal shows their clock only where the time of that write is noted.
    real -= lost - (clocks.nodes.keys() if _every_write_noted(facts.server_version) else set())
    apart = {"this host and the API server": _least(clocks.server)}
    apart |= {
        f"node {name} and the API server": _least(clocks.nodes[name]) for name in sorted(real & clocks.nodes.keys())
    }
    wrong = {who: seconds for who, seconds in apart.items() if seconds > facts.timing.skew_warn_seconds}
    unknown = sorted(real - clocks.nodes.keys())
    refs = [API_SERVER, *(Ref("v1", "Node", "", name) for name in sorted(real))]
    if wrong:
        make = failed if max(wrong.values()) > facts.timing.skew_fail_seconds else warned
        return make(
            "ClockSkew",
            f"The clocks of {'; '.join(f'{who} are {seconds:.0f} s apart' for who, seconds in wrong.items())}.",
            expected=f"at most {facts.timing.skew_warn_seconds:.0f} s apart",
            observed={who: f"{seconds:.1f} s" for who, seconds in wrong.items()},
            objects=[ref for ref in refs if ref == API_SERVER or f"node {ref.name} and the API server" in wrong],
            todo="set the clocks, and synchronize them with chronyd.",
            commands=("timedatectl", "chronyc tracking"),
        )
    if unknown:
        return errored(
            "NotTold",
            f"the Leases of {few(unknown)} do not show the clock of their nodes.",
            expected="a Lease in kube-node-lease for every node, renewed by its kubelet",
            objects=[ref for ref in refs if ref.name in unknown],
            todo="see whether their kubelets are running.",
            because=[frozenset({ref}) for ref in refs if ref.name in unknown],
        )
    simulated = len(facts.simulated_nodes)
    note = f" {counted(simulated, 'simulated node')} without a clock." if simulated else ""
    note += f" Not Ready, and not compared: {few(sorted(lost - real))}." if lost - real else ""
    return passed(
        f"the clocks of this host, the API server and {counted(len(real), 'node')} agree within "
        f"{facts.timing.skew_warn_seconds:.0f} s.{note}",
        objects=refs,
        observed={who: f"{seconds:.1f} s" for who, seconds in apart.items()},
    )


def _least(bounds: Bounds) -> float:
    """The smallest difference within the bounds; 0 if they include it."""
    low, high = bounds
    return max(low, -high, 0.0)
