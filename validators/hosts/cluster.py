"""Cluster and inventory: the API server answers, and the hosts are its nodes."""

from __future__ import annotations

from kubeflow_volcano.ref import Ref
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.reach.api_server import API_SERVER
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed, skipped, warned
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.hosts.judging import host_ref, inventory_of


@check("P25", "cluster", severity=Severity.BLOCKER)
def cluster(facts: Facts) -> Outcome:
    """The API server answers, and the release supports its version.

    Correct kubeflow_kubeconfig and kubeflow_context, or choose another release. Skipped where there is no cluster yet.
    """
    if missing := facts.unread.get("cluster"):
        if missing.reason == "NoKubeconfig":
            return skipped(missing.reason, missing.message)
        return failed(missing.reason, missing.message, expected="an API server that answers", todo=missing.todo)
    bounds, release = facts.expectations.kubernetes, facts.expectations.release
    expected = f"Kubernetes {bounds} for Kubeflow {release}"
    if not bounds.covers(facts.server_version):
        return failed(
            "VersionOutsideRange",
            f"Kubeflow {release} was tested on Kubernetes {bounds}; the API server is {facts.server_version}.",
            expected=expected,
            objects=[API_SERVER],
            todo="choose a release that supports it (kubeflow_release), or another Kubernetes version.",
        )
    return passed(f"{facts.server_version} is within {bounds}.", objects=[API_SERVER])


@check("P26", "cluster-nodes", severity=Severity.BLOCKER, requires=("P25",), needs=(Rule("list", "", "nodes"),))
def cluster_nodes(facts: Facts) -> Outcome:
    """Every host of the inventory is a node, under its configured name.

    Restarts of containerd wait for the Node to be Ready again, and volumes are bound to it by name. Set
    kubeflow_node_name for a host whose Node has another name, or remove the host from the groups.
    """
    inventory = inventory_of(facts)
    nodes = {item["metadata"]["name"] for item in facts.all("nodes")}
    expected = [host for host in inventory.hosts if inventory.is_node(host)]
    if not expected:
        return skipped("NotExpected", "no host of the inventory is in a group of nodes.")
    absent = [host for host in expected if host.node_name not in nodes]
    if absent:
        names = [f"{host.name} as {host.node_name}" if host.node_name != host.name else host.name for host in absent]
        hints = [
            f"the hostname of {host.name} is {host.facts.machine.hostname}"
            for host in absent
            if host.facts and host.facts.machine and host.facts.machine.hostname in nodes
        ]
        return failed(
            "NoSuchNode",
            f"the cluster has no node for {few(names)}{'; ' if hints else ''}{few(hints)}.",
            expected="a Node for each host",
            observed={"nodes": sorted(nodes)},
            objects=[host_ref(host.name) for host in absent],
            todo="set kubeflow_node_name for these hosts, join them, or remove them from the inventory.",
            commands=("kubectl get nodes -o wide",),
        )
    known = {host.node_name for host in inventory.hosts} | {*inventory.left_out}
    others = sorted(nodes - known - facts.simulated_nodes)
    if others and not inventory.left_out:
        return warned(
            "NodesLeftOut",
            f"{counted(len(others), 'node')} of the cluster without a host in the inventory: {few(others)}.",
            expected="every node in the inventory",
            objects=[Ref("v1", "Node", "", name) for name in others],
            todo="add them to the inventory: pods may run on these nodes, which were not examined.",
        )
    number = counted(len(expected), "host")
    return passed(f"every host is a node ({number}).", objects=[host_ref(host.name) for host in expected])
