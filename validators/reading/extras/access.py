"""What the caller may do of all that the run needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kubeflow_volcano.cluster.api.client import Cluster
from validators.core.facts import Facts
from validators.core.rights import Rule
from validators.reading.permissions import allowed

__all__ = ["own_access"]


def own_access(cluster: Cluster, facts: Facts) -> Mapping[Rule, bool]:
    """The API server's answer on each rule; those for one namespace carry its name.

    Of the release's namespaces those that exist are asked for: nobody can be granted anything in the others.
    """
    there = {"", facts.probe_namespace, *(item["metadata"]["name"] for item in facts.all("namespaces"))}
    rules = [
        replace(rule, namespace=where) for where, found in facts.rights.items() if where in there for rule in found
    ]
    return allowed(cluster, sorted(rules, key=str))
