"""Family E, routes: do pods of every node reach pods of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.refusals import not_tried
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, failed, passed, skipped
from kubeflow_volcano.validators.probes.network.network import NETWORK, NetworkEvidence, Way


@check(
    "E2",
    "pod-to-service",
    severity=Severity.MAJOR,
    probe=NETWORK,
    opt_in="network_per_node",
)
def pod_to_service(facts: Facts) -> Outcome:
    """Pods of every node reach a pod of another node, by its address and through a Service.

    If the address is unreachable, traffic between the two nodes is blocked: check the network plugin and firewalls
    (VXLAN needs UDP 4789 or 8472; firewalld needs the pod network as a trusted source). If only the Service is
    unreachable, kube-proxy or its replacement does not work on the client's node.
    """
    evidence = facts.evidence(NETWORK)
    if evidence.failure:
        return not_tried(evidence.failure)
    observed = {"left out": dict(evidence.left_out), "not judged": dict(evidence.unjudged)}
    broken = [item for item in evidence.ways if item.failure]
    if broken:
        return _unreached(broken, evidence, observed)
    if evidence.unjudged:
        name, why = next(iter(evidence.unjudged.items()))
        return errored(
            "NodeNotTried",
            f"no verdict on {few(sorted(evidence.unjudged))}: {name}: {why}",
            expected="a pod on each node that is ready",
            observed=observed,
            objects=[_node(item) for item in evidence.unjudged],
            todo="see why the node takes no small pod.",
        )
    nodes = sorted({item.client for item in evidence.ways})
    if not nodes:
        return skipped("NoNode", f"no node was tried: {few(sorted(set(evidence.left_out.values())))}.")
    servers = sorted({item.server for item in evidence.ways})
    alone = " A single node shows only the way within it." if nodes == servers[:1] else ""
    left = f" {counted(len(evidence.left_out), 'node')} left out." if evidence.left_out else ""
    text = f"from {counted(len(nodes), 'node')} to pods on {', '.join(servers)}, directly and through Services."
    return passed(text + alone + left, objects=[_node(item) for item in nodes], observed=observed)


def _unreached(broken: Sequence[Way], evidence: NetworkEvidence, observed: Mapping[str, Any]) -> Outcome:
    direct = {(item.client, item.server) for item in broken if not item.through}
    clients = sorted({item.client for item in broken})
    reason, how, todo = (
        ("PodNetwork", "a pod's own address", "see the network plugin on both nodes, and the firewall between them.")
        if direct
        else (
            "ServiceProxy",
            "the address of a Service, though the pod's own is reached",
            f"see kube-proxy, or what takes its place, on {few(clients)}.",
        )
    )
    pairs = sorted({f"{item.client} to {item.server}" for item in broken})
    every = {(item.client, item.server) for item in evidence.ways}
    ways = {f"{item.client} to {item.server}{' through a Service' * item.through}": item.failure for item in broken}
    return failed(
        reason,
        f"{len(pairs)} of {counted(len(every), 'pair')} of nodes fail at {how}: {few(pairs)}. {broken[0].failure}",
        expected="the server's text, from every node, by both ways",
        observed={**observed, **ways},
        objects=[_node(name) for name in clients],
        todo=todo,
    )


def _node(name: str) -> Ref:
    return Ref("v1", "Node", "", name)
