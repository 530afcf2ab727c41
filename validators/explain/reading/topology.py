"""Reads the HyperNodes of Volcano; nothing for jobs without a networkTopology."""

from __future__ import annotations

from dataclasses import replace

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.model import Situation
from kubeflow_volcano.validators.explain.reading.queries import Query, list_objects
from kubeflow_volcano.validators.explain.scheduling.topology import HYPERNODES, policy_of

_QUERY = Query(HYPERNODES)


def rules() -> tuple[Rule, ...]:
    """Permissions to read them."""
    return (_QUERY.rule,)


def with_topology(cluster: Cluster, situation: Situation) -> Situation:
    """The situation with HyperNodes, if its gang has a networkTopology."""
    if not policy_of(situation):
        return situation
    facts, answer = situation.facts, list_objects(cluster, _QUERY)
    if isinstance(answer, Unread):
        return replace(situation, facts=replace(facts, unread={**facts.unread, HYPERNODES: answer}))
    return replace(situation, facts=replace(facts, objects={**facts.objects, HYPERNODES: answer}))
