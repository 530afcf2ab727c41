"""Gangs with a networkTopology: which HyperNode their pods are in, or why none of an allowed tier takes the gang.

Rules: allocateResourceForTasksWithTopology of pkg/scheduler/actions/allocate, v1.12.2 to v1.13.3 of Volcano, and plugin
network-topology-aware with translateHighestTierNameToAllowed and addClusterTopHyperNode of pkg/scheduler/framework,
v1.14.1 and v1.15.1; GetMembers of pkg/scheduler/api/hyper_node_info.go: a member that is a HyperNode is named exactly.
Topologies of parts of a gang (partitionPolicy, subGroupPolicy) are not computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.dynamic_resources import listed, mapping
from kubeflow_volcano.validators.explain.placement.node_affinity import terms_match
from kubeflow_volcano.validators.explain.placement.nodes import Node, nodes_of, nodes_with_pods
from kubeflow_volcano.validators.explain.placement.pod_sets import how_many_fit, pod_sets
from kubeflow_volcano.validators.explain.scheduling.volcano import configuration, older
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import version

HYPERNODES = "hypernodes.topology.volcano.sh"
API = "topology.volcano.sh/v1alpha1"
_PLUGIN, _BY_PLUGIN_SINCE = "network-topology-aware", "1.14.0"
_COMMANDS = ("kubectl get hypernodes", "kubectl get hypernodes -o yaml")


@dataclass(frozen=True, slots=True)
class _Domain:
    """A HyperNode with the names of all nodes below it."""

    ref: Ref
    tier: int
    nodes: frozenset[str]


def policy_of(situation: Situation) -> Object:
    """The networkTopology of the PodGroup, or of a job of Volcano without one yet; empty where there is none."""
    return mapping(mapping((situation.group or situation.obj).get("spec")).get("networkTopology"))


def topology(situation: Situation) -> Iterator[Finding]:
    """The HyperNode of a gang that is placed; else that no HyperNode of an allowed tier has room for it."""
    policy, facts = policy_of(situation), situation.facts
    if not policy:
        return
    domains = _domains(facts)
    if domains is None:
        return
    limit = _limit(policy, facts)
    placed = frozenset(pod["spec"]["nodeName"] for pod in situation.placed)
    around = sorted((item for item in domains if placed <= item.nodes), key=lambda item: (item.tier, len(item.nodes)))
    applied = policy.get("mode", "hard") == "hard" and _is_known(facts)
    if applied and (ignored := _ignored(policy, limit, facts)):
        yield finding(
            "TopologyIgnored",
            f"networkTopology of {situation.group_ref or situation.job.ref} has no effect: {ignored[0]}.",
            needed="a topology that the scheduler applies.",
            todo=f"{ignored[1]}.",
            objects=[situation.group_ref or situation.job.ref],
            commands=_COMMANDS,
            blocks=False,
        )
        applied = False
    if situation.unscheduled <= 0:
        yield from _where(around, policy, situation)
    if situation.unscheduled <= 0 or not applied:
        return
    top = max((item.tier for item in domains), default=0)
    if limit is None or (limit > top and not older(version(facts), _BY_PLUGIN_SINCE)):
        return  # the whole cluster is a tier above all others
    allowed = [item for item in (around if placed else domains) if item.tier <= limit]
    yield from _too_small(allowed, limit, situation)


def _limit(policy: Object, facts: Facts) -> int | None:
    """The highest tier that is allowed, by its number or its name; None where neither says one."""
    number, name = policy.get("highestTierAllowed"), policy.get("highestTierName")
    if isinstance(number, int):
        return number
    tiers = {mapping(item.get("spec")).get("tierName"): _tier(item) for item in facts.all(HYPERNODES) if name}
    return tiers.get(name)


def _ignored(policy: Object, limit: int | None, facts: Facts) -> tuple[str, str] | None:
    """Why Volcano leaves the topology out, and what to do; None where it applies it, or that is not known."""
    if limit is None:
        name = policy.get("highestTierName")
        if name:
            return f"no HyperNode has the tierName {name}", "correct highestTierName, or set tierName of the HyperNodes"
        return "it has neither highestTierAllowed nor highestTierName", "set one of them"
    chosen, running = configuration(facts), version(facts)
    plugin = chosen.plugins.get(_PLUGIN) if chosen else None
    if not older(running, _BY_PLUGIN_SINCE) and (plugin is None or plugin.get("enabledHyperNodeGradient") is False):
        return f"Volcano {running} applies it by plugin {_PLUGIN}, which is not on", f"add {_PLUGIN} to a tier"
    return None


def _is_known(facts: Facts) -> bool:
    """Whether it is known which version of Volcano runs, and with which plugins."""
    readable = not facts.unread.keys() & {"deployments.apps", "configmaps"}
    return readable and bool(version(facts)) and configuration(facts) is not None


def _where(around: Sequence[_Domain], policy: Object, situation: Situation) -> Iterator[Finding]:
    ref = situation.group_ref or situation.job.ref
    if around:
        found = f"the pods of {ref} are in {around[0].ref}, of tier {around[0].tier}."
    elif situation.placed:
        found = f"no HyperNode has all nodes of the pods of {ref}."
    else:
        return
    asked = policy.get("highestTierName") or policy.get("highestTierAllowed")
    yield finding(
        "TopologyTier",
        found,
        needed=f"mode {policy.get('mode', 'hard')}, highest tier {'any' if asked is None else asked}.",
        todo="nothing; lower tiers are nearer.",
        objects=[ref, *(item.ref for item in around[:1])],
        blocks=False,
    )


def _too_small(allowed: Sequence[_Domain], limit: int, situation: Situation) -> Iterator[Finding]:
    """That none of these HyperNodes has room for what is missing of the gang."""
    sets, needed, facts = pod_sets(situation), situation.unscheduled, situation.facts
    if not sets:
        return
    now = nodes_with_pods(facts)
    fits = {item.ref: how_many_fit(sets, here, needed) if (here := _in(item, now)) else 0 for item in allowed}
    if any(count >= needed for count in fits.values()):
        return
    own = {pod["metadata"]["uid"] for pod in situation.placed}
    empty = nodes_of(facts.all("nodes"), [pod for pod in facts.all("pods") if pod["metadata"].get("uid") in own])
    never = not any(how_many_fit(sets, here, needed) >= needed for item in allowed if (here := _in(item, empty)))
    if how_many_fit(sets, empty if never else now, needed) < needed:  # which is told for the whole cluster
        return
    ref = situation.group_ref or situation.job.ref
    best = max(fits.values(), default=0)
    held = ", where its other pods are" if situation.placed else ""
    yield finding(
        "TopologyTooSmall" if never else "TopologyFull",
        f"{ref} needs {counted(needed, 'pod')} more in one HyperNode of tier {limit} or lower{held}: "
        + (f"the one with the most room takes {best} of them." if allowed else "there is none."),
        needed=f"a HyperNode of tier {limit} or lower with room for {counted(needed, 'pod')}.",
        todo=f"{'' if never else 'wait until other pods end there; or '}allow a higher tier (highestTierAllowed), use "
        "mode soft, or correct tiers and members of the HyperNodes.",
        objects=[ref, *(item.ref for item in allowed[:5])],
        commands=_COMMANDS,
        details=[
            f"{item.ref.name}, tier {item.tier}, {counted(len(item.nodes), 'node')}: room for {fits[item.ref]}"
            for item in allowed
        ],
    )


def _in(domain: _Domain, nodes: Sequence[Node]) -> list[Node]:
    return [node for node in nodes if node.name in domain.nodes]


def _tier(hyper: Object) -> int:
    tier = mapping(hyper.get("spec")).get("tier")
    return tier if isinstance(tier, int) else 0


def _domains(facts: Facts) -> list[_Domain] | None:
    """Every HyperNode; None where the pattern of one is not understood here.

    Raises:
        CannotJudgeError: they could not be read.
    """
    every = {str(item["metadata"]["name"]): item for item in facts.all(HYPERNODES) if mapping(item.get("spec"))}
    try:
        nodes = {name: frozenset(_nodes_below(name, every, facts, ())) for name in every}
    except re.error:
        return None
    return [_Domain(Ref.of(item), _tier(item), nodes[name]) for name, item in sorted(every.items())]


def _nodes_below(name: str, every: Mapping[str, Object], facts: Facts, above: tuple[str, ...]) -> Iterator[str]:
    if name in above or name not in every:  # a circle, or one that is not made yet
        return
    for member in listed(every[name]["spec"], "members"):
        selector = mapping(member.get("selector"))
        exact = str(mapping(selector.get("exactMatch")).get("name") or "")
        if member.get("type") == "HyperNode":
            yield from _nodes_below(exact, every, facts, (*above, name))
            continue
        pattern = mapping(selector.get("regexMatch")).get("pattern")
        labels = mapping(selector.get("labelMatch"))
        named = mapping(labels.get("matchLabels"))
        wanted = [{"key": key, "operator": "In", "values": [value]} for key, value in named.items()]
        wanted += listed(labels, "matchExpressions")
        for node in facts.all("nodes"):
            here = str(node["metadata"]["name"])
            by_label = wanted and terms_match([{"matchExpressions": wanted}], node)
            if here == exact or (pattern and re.search(str(pattern), here)) or by_label:
                yield here
