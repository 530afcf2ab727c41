"""What a rehearsal simulates: nodes, the pods on them, and webhooks that it answers for these pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.resources import NODES, PODS
from kubeflow_volcano.validators.subjects.ownership import workload_of

_REGISTER = Ref("v1", "ConfigMap", "kube-system", "rehearsal-simulated-webhooks")
_KEY = "webhooks.json"


@dataclass(frozen=True, slots=True)
class SimulatedWebhook:
    """A webhook configuration, or a CRD with conversion, that a rehearsal answers for the pods of `services`."""

    kind: str
    name: str
    webhooks: tuple[str, ...]
    services: tuple[Ref, ...]


def simulated_webhooks(cluster: Cluster, facts: Facts) -> tuple[SimulatedWebhook, ...]:
    """The webhooks that the rehearsal's stub answers; a cluster without simulated nodes has no stub.

    Raises:
        ApiError: the list cannot be read.
    """
    register = cluster.get(_REGISTER) if facts.simulated_nodes else None
    entries = read_json((register or {}).get("data", {}).get(_KEY, "[]"))
    return tuple(
        SimulatedWebhook(item["kind"], item["name"], tuple(item["webhooks"]), tuple(_services(item["services"])))
        for item in entries
    )


def _services(names: Iterable[str]) -> Iterator[Ref]:
    for namespace, _, name in (text.partition("/") for text in names):
        yield Ref("v1", "Service", namespace, name)


SIMULATED_WEBHOOKS = Fact[tuple[SimulatedWebhook, ...]](
    "simulated webhooks", simulated_webhooks, (), reads=(NODES,), enriches=True
)
"""Webhooks that a rehearsal answers for simulated pods."""


def simulated_workload(facts: Facts, workload: Ref) -> bool:
    """Whether the workload has pods other than those in deletion, and all of them are simulated."""
    return workload in _simulated(facts)


@lru_cache(maxsize=4)
def _simulated(facts: Facts) -> frozenset[Ref | None]:
    simulated = {item["metadata"]["uid"] for item in facts.simulated_pods}
    pods = [
        (workload_of(item), item["metadata"]["uid"] in simulated)
        for item in facts.objects.get(PODS, ())
        if "deletionTimestamp" not in item["metadata"]
    ]
    return frozenset(owner for owner, _ in pods) - {owner for owner, is_simulated in pods if not is_simulated}


def of_workloads(facts: Facts, workloads: Iterable[Ref]) -> str:
    """A sentence with the number of simulated workloads, after a space; empty if there are none."""
    number = sum(simulated_workload(facts, item) for item in workloads)
    return f" {number} of them on simulated nodes, which proves scheduling only." if number else ""
