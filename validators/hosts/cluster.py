"""Family P, part ten: does the cluster answer, and are the hosts of the inventory its nodes."""

from __future__ import annotations

from kubeflow_volcano.ref import Ref
from validators.checks.reach.api_server import API_SERVER
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, failed, passed, skipped, warned
from validators.core.rights import Rule
from validators.hosts.each import asked, named, ref

__all__ = ["CHECKS"]


@check("P25", "cluster", severity=Severity.BLOCKER)
def cluster(facts: Facts) -> Outcome:
    """The API server answers, and its version is one that the release was tested with.

    Correct kubeflow_kubeconfig and kubeflow_context, or choose another release. Where there is no cluster yet, this
    is skipped.
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
            f"Kubeflow {release} was tested on Kubernetes {bounds}, the server is {facts.server_version}.",
            expected=expected,
            objects=[API_SERVER],
            todo="choose a release that fits (kubeflow_release), or another Kubernetes version.",
        )
    return passed(f"{facts.server_version} lies within {bounds}.", objects=[API_SERVER])


@check("P26", "cluster-nodes", severity=Severity.BLOCKER, requires=("P25",), needs=(Rule("list", "", "nodes"),))
def cluster_nodes(facts: Facts) -> Outcome:
    """Every host of the inventory is a node of the cluster, under the name that the inventory says.

    Restarts of containerd wait for the Node to be ready again, and volumes are bound to it by name. Set
    kubeflow_node_name for a host whose Node is called otherwise, or take the host out of the groups.
    """
    inventory = asked(facts)
    nodes = {item["metadata"]["name"] for item in facts.all("nodes")}
    meant = [host for host in inventory.hosts if inventory.is_node(host)]
    if not meant:
        return skipped("NotExpected", "no host of the inventory is meant to be a node.")
    absent = [host for host in meant if host.node_name not in nodes]
    told = [f"{host.name} as {host.node_name}" if host.node_name != host.name else host.name for host in absent]
    if absent:
        hints = [
            f"{host.name} calls itself {host.facts.machine.hostname}"
            for host in absent
            if host.facts and host.facts.machine and host.facts.machine.hostname in nodes
        ]
        return failed(
            "NoSuchNode",
            f"the cluster has no node for {named(told)}.{' ' + named(hints) + '.' if hints else ''}",
            expected="a Node for each host",
            observed={"nodes": sorted(nodes)},
            objects=[ref(host.name) for host in absent],
            todo="set kubeflow_node_name for these hosts, join them, or take them out of the inventory.",
            commands=("kubectl get nodes -o wide",),
        )
    known = {host.node_name for host in inventory.hosts} | {*inventory.left_out}
    others = sorted(nodes - known - facts.simulated_nodes)
    if others and not inventory.left_out:
        return warned(
            "NodesLeftOut",
            f"{len(others)} nodes of the cluster are not in the inventory: {named(others)}.",
            expected="every node in the inventory",
            objects=[Ref("v1", "Node", "", name) for name in others],
            todo="add them to the inventory: pods may run there, on hosts that nobody looked at.",
        )
    return passed(f"all {len(meant)} hosts are nodes of the cluster.", objects=[ref(host.name) for host in meant])


CHECKS = (cluster, cluster_nodes)
