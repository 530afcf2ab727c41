"""What Volcano's configuration lacks so that it makes room for a gang by evicting pods of others.

Rules, of v1.8.0 to v1.15.1: pkg/scheduler/actions/preempt and reclaim (both skip a PodGroup in phase Pending and a job
that is not starving), JobEnqueueable of the plugins overcommit, proportion and capacity, JobStarving, Preemptable and
Reclaimable of pkg/scheduler/framework/session_plugins.go (the first tier that names victims decides), preemptableFn of
the plugins gang and priority. Reclaim asks JobStarving since 1.11.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.cluster.pods.quantities import total
from kubeflow_volcano.cluster.volcano import Configuration
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
    older,
    queue_of,
)
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import version
from kubeflow_volcano.validators.subjects.gang.scheduler_correction import written

_ZERO = Decimal(0)
_NEVER_MARK = "volcano.sh/preemptable"
_STARVING_SINCE = "1.11.0"
_PRIORITY_FIRST = "have plugin priority in the first tier"
_MOST_SPARED, _MOST_NODES = 60, 100
"""Of more pods, and on more nodes that have to be seen together, it is not tried which of them may stay."""

_Plugins = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Lack:
    """A setting without which nothing is evicted: what to do, and the change of the configuration's document."""

    todo: str
    change: Callable[[dict[str, Any]], None]


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


def lacks(action: str, situation: Situation, evicted: Sequence[Object]) -> tuple[Lack, ...]:
    """All that the configuration lacks so that this action evicts these pods for the gang; none where it is unknown."""
    chosen = configuration(situation.facts)
    if chosen is None:
        return ()
    return tuple(_lacks(action, chosen, situation, evicted))


def command(situation: Situation, found: Iterable[Lack]) -> str:
    """The command that writes the configuration with all of it; empty where the program has it built in."""
    chosen = configuration(situation.facts)
    if chosen is None or not chosen.key:
        return ""
    document = copy.deepcopy(dict(chosen.document))
    for item in found:
        item.change(document)
    return written(chosen, document)


def _lacks(action: str, chosen: Configuration, about: Situation, evicted: Sequence[Object]) -> Iterator[Lack]:
    plugins = chosen.plugins
    if action not in chosen.actions:
        yield Lack(f"add {action} to the scheduler's actions", lambda document: _add_action(document, action))
    running = version(about.facts)
    asks = action == "preempt" or not older(running, _STARVING_SINCE)
    asked = [name for name in ("gang", "priority") if name in plugins]
    if asks and not any(_is_on(plugins, name, "enableJobStarving") for name in asked):
        if asked:
            text = f"remove enableJobStarving: false of plugin {asked[0]}"
            yield Lack(text, _switch(asked[0], "enableJobStarving", on=True))
        elif action != "preempt":  # which needs plugin priority anyhow
            yield Lack(_PRIORITY_FIRST, _add_priority)
    yield from _of_admission(plugins, about)
    if action == "preempt":
        if not _is_on(plugins, "priority", "enablePreemptable"):
            yield Lack(_PRIORITY_FIRST, _add_priority)
        if _is_on(plugins, "gang", "enablePreemptable") and _breaks_gangs(evicted, about.facts):
            yield Lack(
                "set enablePreemptable: false on plugin gang, which else protects the pods that gangs need",
                _switch("gang", "enablePreemptable", on=False),
            )
    elif (
        _is_on(plugins, "gang", "enableReclaimable") and _breaks_gangs(evicted, about.facts) and not _asks_next(chosen)
    ):
        yield Lack(
            "set enableReclaimable: false on plugin gang, which else protects the pods that gangs need",
            _switch("gang", "enableReclaimable", on=False),
        )


def _of_admission(plugins: Mapping[str, Mapping[str, Any]], about: Situation) -> Iterator[Lack]:
    """Plugins that keep the PodGroup in phase Pending, where neither action sees it."""
    if about.phase not in {"", "Pending"} or not enqueues(about.facts) or not min_resources(about.group):
        return
    factor = needed_factor(about) if _is_on(plugins, "overcommit", "enableJobEnqueued") else None
    if factor:
        text = f"{factor.quantize(Decimal('0.1'), ROUND_UP):f}"
        yield Lack(
            f"set enableJobEnqueued: false on plugin overcommit, or its overcommit-factor to {text} or more",
            _switch("overcommit", "enableJobEnqueued", on=False),
        )
    for name in ("proportion", "capacity"):
        if _is_on(plugins, name, "enableJobEnqueued") and _is_full(about):
            yield Lack(f"set enableJobEnqueued: false on plugin {name}", _switch(name, "enableJobEnqueued", on=False))


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


def _asks_next(chosen: Configuration) -> bool:
    """Whether a tier behind that of gang has a plugin that names victims by shares."""
    tiers = [{item.get("name") for item in tier.get("plugins") or ()} for tier in chosen.document.get("tiers") or ()]
    first = next((number for number, names in enumerate(tiers) if "gang" in names), len(tiers))
    on = {name for name in ("proportion", "capacity") if _is_on(chosen.plugins, name, "enableReclaimable")}
    return any(on & names for names in tiers[first + 1 :])


def _is_on(plugins: Mapping[str, Mapping[str, Any]], name: str, switch: str) -> bool:
    return name in plugins and plugins[name].get(switch) is not False


def _add_action(document: dict[str, Any], action: str) -> None:
    actions = [name for item in document["actions"].split(",") if (name := item.strip())]
    actions.insert(actions.index("backfill") if "backfill" in actions else len(actions), action)
    document["actions"] = ", ".join(actions)


def _switch(plugin: str, switch: str, *, on: bool) -> Callable[[dict[str, Any]], None]:
    """Sets a switch of a plugin, or removes it, as all are on where nothing is said."""

    def change(document: dict[str, Any]) -> None:
        for item in _plugins(document):
            if item.get("name") == plugin:
                item.pop(switch, None)
                if not on:
                    item[switch] = False

    return change


def _add_priority(document: dict[str, Any]) -> None:
    known = [item for item in _plugins(document) if item.get("name") == "priority"]
    for item in known:
        item.pop("enablePreemptable", None)
    if not known:
        tiers = document["tiers"] = document.get("tiers") or [{}]
        tiers[0]["plugins"] = [{"name": "priority"}, *(tiers[0].get("plugins") or ())]


def _plugins(document: dict[str, Any]) -> _Plugins:
    return [item for tier in document.get("tiers") or () for item in tier.get("plugins") or ()]
