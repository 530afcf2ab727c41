"""What Volcano's configuration lacks so that it makes room for this gang by evicting pods of others.

Which settings there are is in the catalog (`evictions`); here is which of them matter to a gang and its victims.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_UP, Decimal

from kubeflow_volcano.catalog.evictions.lacking import Part, Setting, lacking
from kubeflow_volcano.catalog.evictions.presets import preset_with
from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.cluster.pods.quantities import total
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Situation, pod_group_name
from kubeflow_volcano.validators.explain.placement.filters import refusals
from kubeflow_volcano.validators.explain.placement.nodes import nodes_of
from kubeflow_volcano.validators.explain.placement.pod_sets import PodSet, how_many_fit
from kubeflow_volcano.validators.explain.scheduling.overcommit import needed_factor
from kubeflow_volcano.validators.explain.scheduling.queues import placed
from kubeflow_volcano.validators.explain.scheduling.shares import most_of
from kubeflow_volcano.validators.explain.scheduling.volcano import (
    PODGROUPS,
    configuration,
    enqueues,
    min_resources,
    queue_of,
)
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import version
from kubeflow_volcano.validators.subjects.gang.scheduler_correction import written

_ZERO = Decimal(0)
_NEVER_MARK = "volcano.sh/preemptable"
_MOST_SPARED, _MOST_NODES = 60, 100
"""Of more pods, and on more nodes that have to be seen together, it is not tried which of them may stay."""


def victims(sets: Sequence[PodSet], candidates: Iterable[Object], facts: Facts, needed: int) -> tuple[Object, ...]:
    """Those of the candidates in whose place the gang would fit; none where it fits anyhow, or not even so.

    Pods that fill no gap stay, those of the highest priority first.
    """
    nodes, pods = facts.all("nodes"), facts.all("pods")
    if how_many_fit(sets, nodes_of(nodes, pods), needed) >= needed:
        return ()
    chosen = [pod for pod in candidates if _may_go(pod)]
    emptied = nodes_of(nodes, _without(chosen, pods))
    if not chosen or how_many_fit(sets, emptied, needed) < needed:
        return ()
    if len(chosen) > _MOST_SPARED:
        return tuple(chosen)
    if not any(map(_looks_elsewhere, sets)):  # then a node that refuses them all the same says nothing of the others
        emptied = tuple(node for node in emptied if any(not refusals(item.wish, node, emptied) for item in sets))
    elif len(nodes) > _MOST_NODES:
        return tuple(chosen)
    names = {node.name for node in emptied}
    near = [pod for pod in pods if pod["spec"].get("nodeName") in names]
    for pod in sorted(chosen, key=lambda item: -int(item["spec"].get("priority") or 0)):
        rest = [item for item in chosen if item is not pod]
        if how_many_fit(sets, nodes_of((node.obj for node in emptied), _without(rest, near)), needed) >= needed:
            chosen = rest
    return tuple(chosen)


def _without(gone: Iterable[Object], pods: Iterable[Object]) -> list[Object]:
    uids = {pod["metadata"]["uid"] for pod in gone}
    return [pod for pod in pods if pod["metadata"]["uid"] not in uids]


def _looks_elsewhere(pods: PodSet) -> bool:
    """Whether pods on other nodes decide about a node, too."""
    spec = pods.wish.pod["spec"]
    rules = (spec.get("affinity") or {}).keys() & {"podAffinity", "podAntiAffinity"}
    return bool(rules or spec.get("topologySpreadConstraints") or pods.wish.unbound)


def _may_go(pod: Object) -> bool:
    """Whether Volcano evicts the pod at all: it runs, and nothing marks it (GetPodPreemptable of pkg/scheduler/api)."""
    meta = pod["metadata"]
    marks = {**(meta.get("labels") or {}), **(meta.get("annotations") or {})}
    running = pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") == "Running"
    return bool(running) and str(marks.get(_NEVER_MARK, "true")).lower() in {"1", "t", "true"}


def lacks(action: str, situation: Situation, evicted: Sequence[Object]) -> tuple[Setting, ...]:
    """All that the configuration lacks so that this action evicts these pods for the gang; none where it is unknown."""
    chosen = configuration(situation.facts)
    if chosen is None:
        return ()
    found = lacking(action, chosen.document, version(situation.facts))
    return tuple(item for setting in found for item in _that_matters(setting, situation, evicted))


def command(situation: Situation, found: Iterable[Setting]) -> str:
    """The command that writes the configuration with all of it; empty where the program has it built in."""
    chosen = configuration(situation.facts)
    if chosen is None or not chosen.key:
        return ""
    document = copy.deepcopy(dict(chosen.document))
    for item in found:
        item.change(document)
    return written(chosen, document)


def kept_by(action: str, situation: Situation, found: Sequence[Setting]) -> str:
    """Where these settings are changed, and what keeps them for roll-outs; empty without any."""
    chosen = configuration(situation.facts)
    if chosen is None or not found:
        return ""
    variables = "volcano_scheduler_actions and volcano_scheduler_tiers"
    preset = preset_with(action, chosen.document, found)
    keeps = f"volcano_scheduler_preset: {preset}, or {variables}, keep it" if preset else f"{variables} keep it"
    return (
        "The command writes it without comments, and the scheduler reads it again within a minute or two; "
        f"{keeps} for roll-outs. "
    )


def _that_matters(setting: Setting, about: Situation, evicted: Sequence[Object]) -> Iterator[Setting]:
    if setting.part is Part.WHOLE_GANGS:
        if _breaks_gangs(evicted, about.facts):
            yield setting
    elif setting.part is Part.OVERCOMMIT:
        if _waits_for_admission(about) and (factor := needed_factor(about)):
            text = f"{factor.quantize(Decimal('0.1'), ROUND_UP):f}"
            yield replace(setting, todo=f"{setting.todo}, or its overcommit-factor to {text} or more")
    elif setting.part is not Part.SHARE or (_waits_for_admission(about) and _is_full(about)):
        yield setting


def _waits_for_admission(about: Situation) -> bool:
    """Whether plugins keep the PodGroup in phase Pending, where neither action sees it."""
    return about.phase in {"", "Pending"} and enqueues(about.facts) and bool(min_resources(about.group))


def _is_full(about: Situation) -> bool:
    """Whether the gang's minResources are more than the queue has left of what it may use."""
    facts, asked, queue = about.facts, min_resources(about.group), about.queue
    held = placed(facts)
    sums: dict[str, Decimal] = dict(asked)
    for group in facts.all(PODGROUPS):
        if queue_of(group) != queue or Ref.of(group) == about.group_ref:
            continue
        least, on_nodes = min_resources(group), held.get(group_key(group), {})
        counted = {name: min(amount, least.get(name, _ZERO)) for name, amount in on_nodes.items()}  # no elastic part
        waits = least if group.get("status", {}).get("phase") == "Inqueue" else {}
        sums = total((sums, counted, waits))
    most = most_of(queue, facts)
    return any(sums[name] > most.get(name, sums[name]) for name in asked)


def _breaks_gangs(evicted: Sequence[Object], facts: Facts) -> bool:
    """Whether a gang would be left with fewer pods than its minimum (preemptableFn of plugin gang)."""
    least = {group_key(item): int(item["spec"].get("minMember") or 1) for item in facts.all(PODGROUPS)}
    on_nodes = Counter(group_of(pod) for pod in facts.all("pods") if pod["spec"].get("nodeName") and not has_ended(pod))
    gone = Counter(map(group_of, evicted))
    return any(on_nodes[key] - number < least.get(key, 0) for key, number in gone.items())


def group_of(pod: Object) -> tuple[str, str]:
    """Namespace and name of the pod's PodGroup."""
    return pod["metadata"]["namespace"], pod_group_name(pod)


def group_key(group: Object) -> tuple[str, str]:
    """Namespace and name of a PodGroup, as `group_of` has them."""
    return group["metadata"]["namespace"], group["metadata"]["name"]
