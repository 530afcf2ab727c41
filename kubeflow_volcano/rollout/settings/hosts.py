"""Variables of single hosts: validated for all hosts at once, with one message for a mistake that many share."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.variables import complete
from kubeflow_volcano.text import few

_OF_THE_CLUSTER = (
    "gang_scheduling_",
    "kubeflow_",
    "kustomize_",
    "local_path_node_paths",
    "local_path_source",
    "local_path_static_",
    "local_path_storage_mode",
    "local_path_version",
    "plan_",
    "preflight_",
    "rehearsal_cluster_",
    "scheduler_plugins_",
    "training_operator_",
    "validation_",
    "volcano_",
)
"""Prefixes of variables that are read on localhost, for the whole cluster; on other hosts they have no effect."""

_OF_A_HOST = ("kubeflow_node_name",)
"""Exceptions."""

_GROUPS = ("control_plane", "nodes")

_GROUPS_OF_OTHERS = {
    "kube_control_plane": "control_plane",  # Kubespray
    "kube-master": "control_plane",  # Kubespray before 2.15
    "kube_master": "control_plane",  # kubeasz
    "masters": "control_plane",  # oeDeploy
    "server": "control_plane",  # k3s-ansible
    "kube_node": "nodes",  # Kubespray, kubeasz
    "kube-node": "nodes",
    "workers": "nodes",
    "agent": "nodes",
}
"""Groups of the inventories with which others set up Kubernetes, and the group that the same hosts are in here."""

_BASE, _PATHS = "local_path_base_directory", "local_path_node_paths"


def hosts_of_cluster(groups: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """Hosts of the inventory that this project may look at and change; others share the inventory only.

    Args:
        groups: names of hosts by group.
    """
    return tuple(dict.fromkeys(host for group in _GROUPS for host in groups.get(group, ()) if host != "localhost"))


def others(groups: Mapping[str, Iterable[str]]) -> list[str]:
    """Hosts of the inventory that no play works on."""
    return sorted({*groups.get("all", ())} - {"localhost", *hosts_of_cluster(groups), *groups.get("clusters", ())})


def validate_groups(groups: Mapping[str, Iterable[str]], *, of_hosts: bool, needed: bool = False) -> Iterator[Problem]:
    """Problems of the inventory's groups for plays that are about one cluster, or about its hosts.

    Args:
        groups: names of hosts by group.
        of_hosts: whether the plays to come set up the hosts of a cluster; the group `clusters` alone has none.
        needed: whether these plays do nothing else, so that groups that are there and empty are no answer.
    """
    if of_hosts:
        yield from _hosts_in_other_groups(groups, needed=needed)
    clusters, hosts = list(groups.get("clusters", ())), hosts_of_cluster(groups)
    if not clusters or "localhost" in clusters:
        return
    if of_hosts and hosts:
        yield Problem(
            f"hosts ({few(hosts)}) and several clusters ({few(clusters)}), and nothing says whose hosts they are.",
            "hosts in an inventory of one cluster, whose settings are theirs too.",
            "move these hosts to an inventory of their cluster, and set them up with that.",
        )
    if not of_hosts:
        yield Problem(
            f"the inventory has {few(clusters)} in the group clusters, and this playbook works on one cluster.",
            "an inventory of that cluster alone.",
            "use another inventory; site.yml, install.yml, upgrade.yml and validate.yml work on all clusters.",
        )


def _hosts_in_other_groups(groups: Mapping[str, Iterable[str]], *, needed: bool) -> Iterator[Problem]:
    """An inventory that has hosts, none of which any play would look at. Empty groups say that this is meant."""
    left = others(groups)
    if not left or hosts_of_cluster(groups):
        return
    known = {name: own for name, own in _GROUPS_OF_OTHERS.items() if any(host in left for host in groups.get(name, ()))}
    if known:
        children = "; ".join(f"[{own}:children] {name}" for name, own in known.items())
        yield Problem(
            f"the inventory has hosts ({few(left)}) in {' and '.join(known)}, and none in control_plane or nodes.",
            "the hosts of the cluster in the groups control_plane and nodes; no other host is looked at or changed.",
            "add these groups to the inventory, with the present ones as their children. "
            "As INI, each word on a line of its own: "
            f"{children}. As YAML: {_as_yaml(known)}.",
        )
    elif needed or not any(group in groups for group in _GROUPS):
        yield Problem(
            f"the inventory has hosts ({few(left)}), and none of them is in control_plane or nodes.",
            "the hosts of the cluster in the groups control_plane and nodes; no other host is looked at or changed.",
            "put the hosts of the cluster into these groups. If others look after them, use install.yml and "
            "validate.yml, or site.yml with an empty group nodes.",
        )


def _as_yaml(known: Mapping[str, str]) -> str:
    groups: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for name, own in known.items():
        groups.setdefault(own, {"children": {}})["children"][name] = {}
    return json.dumps(groups).replace('"', "")


def node_name(host: str, variables: Mapping[str, Any]) -> str:
    """Name of the Node that this host of the inventory is."""
    return str(variables.get("kubeflow_node_name") or host)


def node_paths(cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """By node: the directory of volumes, where it is not that of localhost.

    Args:
        cluster: variables of localhost.
        hosts: variables of every other host of the inventory, by its name there.
    """
    paths = {node_name(host, own): own[_BASE] for host, own in hosts.items() if own.get(_BASE)}
    common = cluster.get(_BASE)
    return {node: path for node, path in paths.items() if path != common} | dict(cluster.get(_PATHS) or {})


def validate_hosts(cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> list[Problem]:
    """Problems of the variables of hosts, without those that the variables of localhost have, too.

    Args:
        cluster: variables of localhost; they apply to the whole cluster.
        hosts: variables of every other host of the inventory, by its name there.
    """
    values, known = complete(cluster)
    affected: dict[Problem, list[str]] = defaultdict(list)
    for host, variables in hosts.items():
        own, problems = complete(variables)
        given = {name: own[name] for name in variables if name in own}
        for problem in (*problems, *_without_effect(values, given)):
            if problem not in known:
                affected[problem].append(host)
    problems = [
        Problem(f"on {_which(names, hosts)}: {problem.found}", problem.needed, problem.todo)
        for problem, names in affected.items()
    ]
    return [*problems, *_duplicate_nodes(cluster, hosts)]


def validate_node_paths(cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    """Nodes with two different directories; values of a wrong type are left to `validate_hosts`."""
    given = cluster.get(_PATHS)
    for host, own in hosts.items():
        node = node_name(host, own)
        other = given.get(node) if isinstance(given, Mapping) else None
        if other and own.get(_BASE, other) != other:
            yield Problem(
                f"{_BASE} of {host} is {own[_BASE]}, and {_PATHS}.{node} is {other}.",
                "one directory for the volumes of a node.",
                f"remove {_PATHS}.{node}; it is for nodes that are not hosts of the inventory.",
            )


def _which(names: Sequence[str], hosts: Mapping[str, Any]) -> str:
    return f"all {len(hosts)} hosts" if 1 < len(names) == len(hosts) else few(names)


def _without_effect(cluster: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in own.items():
        if name.startswith(_OF_THE_CLUSTER) and name not in _OF_A_HOST and value != cluster[name]:
            yield Problem(
                f"the variable {name} has another value than on localhost, where it is read.",
                "one value for the whole cluster.",
                f"set {name} in group_vars/all, not for single hosts or groups.",
            )


def _duplicate_nodes(cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    if cluster.get("kubeflow_node_name"):
        yield Problem(
            "kubeflow_node_name is set for all hosts.",
            "a different name for each host, or none where the host's name in the inventory is the Node's.",
            "move kubeflow_node_name to the host_vars of its host.",
        )
        return
    by_node: dict[str, list[str]] = defaultdict(list)
    for host, variables in hosts.items():
        by_node[node_name(host, variables)].append(host)
    for node, names in by_node.items():
        if len(names) > 1:
            yield Problem(
                f"{few(names)} are all the Node {node}.",
                "one host for each Node.",
                "correct kubeflow_node_name, or the names of the hosts in the inventory.",
            )
