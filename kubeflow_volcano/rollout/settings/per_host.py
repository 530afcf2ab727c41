"""What the inventory says about single hosts, judged for all at once; a mistake that many share is told once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeflow_volcano.problems import Problem
from kubeflow_volcano.rollout.settings.shape import shaped

__all__ = ["judged", "named", "node_name"]

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
    "validation_",
    "volcano_",
)
"""Beginnings of variables that are read where Ansible runs, for the whole cluster; on a host they change nothing."""

_OF_A_HOST = ("kubeflow_node_name", "kustomize_directory", "kustomize_install_on_hosts")
"""Exceptions from that."""

_NAMED = 5


def node_name(host: str, variables: Mapping[str, Any]) -> str:
    """Name of the Node that this host of the inventory is."""
    return str(variables.get("kubeflow_node_name") or host)


def named(hosts: Sequence[str]) -> str:
    """The hosts for a person: the first five by name, and how many more."""
    more = f" and {len(hosts) - _NAMED} more" if len(hosts) > _NAMED else ""
    return ", ".join(hosts[:_NAMED]) + more


def judged(cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> list[Problem]:
    """Everything that is wrong with the variables of `hosts`, and not already with those of the cluster.

    Args:
        cluster: variables that the inventory has for localhost, which decide what goes onto the cluster.
        hosts: the same of every other host of the inventory, by its name there.
    """
    values, told = shaped(cluster)
    met: dict[Problem, list[str]] = defaultdict(list)
    for host, variables in hosts.items():
        own, problems = shaped(variables)
        given = {name: own[name] for name in variables if name in own}
        for problem in (*problems, *_without_effect(values, given)):
            if problem not in told:
                met[problem].append(host)
    problems = [
        Problem(f"on {_which(where, hosts)}: {problem.found}", problem.needed, problem.todo)
        for problem, where in met.items()
    ]
    return [*problems, *_one_node_twice(cluster, hosts)]


def _which(where: Sequence[str], hosts: Mapping[str, Any]) -> str:
    return f"all {len(hosts)} hosts" if 1 < len(where) == len(hosts) else named(where)


def _without_effect(cluster: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[Problem]:
    for name, value in own.items():
        if name.startswith(_OF_THE_CLUSTER) and name not in _OF_A_HOST and value != cluster[name]:
            yield Problem(
                f"the variable {name} has another value than on localhost, where it is read.",
                "one value for the whole cluster.",
                f"set {name} in group_vars/all, not for single hosts or groups.",
            )


def _one_node_twice(cluster: Mapping[str, Any], hosts: Mapping[str, Mapping[str, Any]]) -> Iterator[Problem]:
    if cluster.get("kubeflow_node_name"):
        yield Problem(
            "kubeflow_node_name is set for all hosts.",
            "a name of its own for each host, or none where the inventory's is the Node's.",
            "move kubeflow_node_name to the host_vars of the host that it belongs to.",
        )
        return
    met: dict[str, list[str]] = defaultdict(list)
    for host, variables in hosts.items():
        met[node_name(host, variables)].append(host)
    for node, where in met.items():
        if len(where) > 1:
            yield Problem(
                f"{named(where)} are all the Node {node}.",
                "one host for each Node.",
                "correct kubeflow_node_name, or the names of the hosts in the inventory.",
            )
