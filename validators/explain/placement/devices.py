"""Resources that a scheduler counts by books of its own: no node has them allocatable, and pods get them all the same.

Rules: GetIgnoredDevices of pkg/scheduler/api/devices/nvidia/vgpu and IgnoredDevicesList of pkg/scheduler/api, Volcano
v1.8.2 to v1.15.1: plugin deviceshare (predicates before 1.9) reads the cards from annotations of nodes; and those of
cards.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from kubeflow_volcano.cluster.objects import Object, Ref, conditions, has_ended
from kubeflow_volcano.cluster.pods.quantities import amounts, pod_requests
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import VOLCANO as SCHEDULER
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.cards import HAMI, VOLCANO, Card, Maker, Part, fitting
from kubeflow_volcano.validators.explain.placement.dynamic_resources import by_resource
from kubeflow_volcano.validators.explain.placement.nodes import nodes_with_pods
from kubeflow_volcano.validators.explain.placement.obstacles import by_text
from kubeflow_volcano.validators.explain.scheduling.volcano import plugins

_SWITCH, _NPU_SWITCH = "VGPUEnable", "AscendHAMiVNPUEnable"
_NPU_REGISTER, _NPU_MEMORY = "hami.io/node-register-Ascend", re.compile(r"huawei\.com/Ascend[^/]+-memory")
"""How annotations begin with which device plugins register NPUs to share, and their memory as pods request it.

Volcano ignores ResourceMemoryName alone (api/devices/ascend/hami, v1.14.1 to v1.15.1); `huawei.com/npu-core` is a
resource of nodes, which it counts as any other.
"""
_GATE = "the feature gate DRAExtendedResource, which is on by default from Kubernetes 1.36 on"
_OTHERS = frozenset({None, "", "default-scheduler", SCHEDULER})
Cards = Mapping[str, tuple[Card, ...] | None]
"""Of each node that registers some; None where that is unreadable."""


@lru_cache(maxsize=4)
def counted_elsewhere(facts: Facts) -> frozenset[str]:
    """Names that no node reports, of which a pod on a node got some, or which the scheduler's plugin looks after."""
    told: set[str] = set()
    for node in facts.all("nodes"):
        status = node.get("status", {})
        told |= {*(status.get("allocatable") or {}), *(status.get("capacity") or {})}
    got = {
        name
        for pod in facts.all("pods")
        if pod["spec"].get("nodeName") and not has_ended(pod)
        for name, amount in pod_requests(pod["spec"]).items()
        if amount > 0 and "/" in name
    }
    if _shares_cards(facts):
        got |= VOLCANO.parameters
    if any(HAMI.registered in (node["metadata"].get("annotations") or {}) for node in facts.all("nodes")):
        got |= HAMI.parameters
    return frozenset(got - told)


def counted_for(pod: Object, facts: Facts, *, of_volcano: bool) -> frozenset[str]:
    """What the scheduler of this pod counts by books of its own.

    Volcano compares requests with nodes before any plugin: a resource of a DeviceClass is one that they lack
    (allocate of pkg/scheduler/actions, v1.15.1).
    """
    asked = pod_requests(pod["spec"]).keys()
    found = set(counted_elsewhere(facts))
    if not of_volcano:
        found |= asked & by_resource(facts).keys()
    if _shares_npus(facts, of_volcano=of_volcano):
        found |= {name for name in asked if _NPU_MEMORY.fullmatch(name)}
    return frozenset(found)


def names_unoffered(situation: Situation) -> bool:
    """Whether a pod or pod template requests an extended resource that a node lacks, as one of a DeviceClass may be.

    A node without it may have devices of the class where others have a device plugin.
    """
    every = [frozenset(_offered(node)) for node in situation.facts.objects.get("nodes", ())]
    offered = frozenset.intersection(*every) if every else frozenset()
    pods = (*situation.unplaced, *(role.template for role in situation.job.roles))
    asked = (name for pod in pods if not is_of_volcano(pod, situation) for name in _extended(pod["spec"]))
    return any(name not in offered for name in asked)


def is_of_volcano(pod: Object, situation: Situation) -> bool:
    """Whether the pod, or those of the template, are for Volcano: operators set it in pods of a gang."""
    return bool(pod["spec"].get("schedulerName", SCHEDULER if situation.group else "") == SCHEDULER)


def _extended(spec: Object) -> list[str]:
    return [name for name, amount in pod_requests(spec).items() if amount > 0 and "/" in name]


def _offered(node: Object) -> list[str]:
    return [name for name, amount in amounts(node.get("status", {}).get("allocatable")).items() if amount]


def _shares_cards(facts: Facts) -> bool:
    return _is_on(_SWITCH, facts)


def _shares_npus(facts: Facts, *, of_volcano: bool) -> bool:
    """Whether the scheduler gives parts of NPUs as HAMi does."""
    nodes = facts.objects.get("nodes", ())
    registers = (key for node in nodes for key in node["metadata"].get("annotations") or ())
    return _is_on(_NPU_SWITCH, facts) if of_volcano else any(key.startswith(_NPU_REGISTER) for key in registers)


def _is_on(switch: str, facts: Facts) -> bool:
    """Whether the scheduler places parts of devices; not assumed where its configuration is unknown."""
    known = {} if facts.unread.keys() & {"deployments.apps", "configmaps"} else plugins(facts)
    arguments = (item.get("arguments") or {} for item in known.values())
    return any(key.endswith(switch) and value is True for item in arguments for key, value in item.items())


def devices(situation: Situation) -> Iterator[Finding]:
    """Cards of which too few have room for what the pods want; or what only the scheduler counts, with its word."""
    facts = situation.facts
    names = {id(pod): counted_for(pod, facts, of_volcano=is_of_volcano(pod, situation)) for pod in situation.unplaced}
    # HAMi's webhook gives pods its own scheduler, whatever that is called.
    of_hami = [pod for pod in situation.unplaced if pod["spec"].get("schedulerName") not in _OTHERS]
    of_volcano = [pod for pod in situation.unplaced if is_of_volcano(pod, situation)]
    makers = {VOLCANO: of_volcano if _shares_cards(situation.facts) else [], HAMI: of_hami}
    rooms: list[str] = []
    for maker, pods in makers.items():
        asking = Counter(parts for pod in pods if (parts := maker.parts(pod)))
        cards = _cards(maker, situation) if asking else {}
        for parts, count in asking.items():
            refs = [Ref.of(pod) for pod in pods if maker.parts(pod) == parts]
            needed = count - max(len(situation.unplaced) + max(situation.missing, 0) - situation.unscheduled, 0)
            if found := _too_few(maker, cards, parts, needed):
                yield replace(found, objects=tuple(refs))
                return
            rooms += by_text(_room(cards, parts))
    waiting = {pod["metadata"]["name"]: pod for pod in situation.unplaced}
    wanted = sorted({name for pod in waiting.values() for name in pod_requests(pod["spec"]) if name in names[id(pod)]})
    if not wanted and not rooms:
        return
    said = [
        f"{name}: {text}"
        for name, pod in waiting.items()
        if (text := conditions(pod).get("PodScheduled", {}).get("message"))
    ]
    what = f"{', '.join(wanted)}, which nodes do not report" if wanted else "parts of cards"
    classes = by_resource(facts)
    said += [f"{name}: of DeviceClass {classes[name]}, by {_GATE}" for name in wanted if name in classes]
    yield finding(
        "DevicesNotCounted",
        f"the pods request {what}: the scheduler counts them by books of its own, and whether any is free is not known "
        "here for certain.",
        needed="devices that the scheduler finds free on one node.",
        todo="do what the scheduler says below: often one pod requests more cards than a node has, or a card is shared "
        "already.",
        objects=[Ref.of(pod) for pod in waiting.values()],
        details=[*said, *rooms],
        blocks=bool(wanted or said),
    )


def _cards(maker: Maker, situation: Situation) -> Cards:
    """The cards of each node that registers some, and the nodes that offer some and register none: None."""
    cards: dict[str, tuple[Card, ...] | None] = {}
    for node in nodes_with_pods(situation.facts):
        if maker.registered in (node.obj["metadata"].get("annotations") or {}):
            cards[node.name] = maker.cards(node)
        elif node.allocatable.get(maker.number):
            cards[node.name] = None
    return cards


def _room(cards: Cards, parts: tuple[Part, ...]) -> Iterator[tuple[str, str]]:
    """Each node with the cards that have room for what a container asks of one."""
    most = max(parts, key=lambda part: (part.memory, part.percent, part.cores, part.number))
    for name, found in cards.items():
        if found is None:
            yield name, "its device plugin registers no cards that can be read, or its cards are in MIG mode"
        else:
            with_room = sum(card.holds(most) > 0 for card in found)
            yield name, f"{with_room} of {counted(len(found), 'card')} with room for {most}, as computed"


def _too_few(maker: Maker, cards: Cards, parts: tuple[Part, ...], needed: int) -> Finding | None:
    """That the cards of all nodes have no room for so many pods; None where one is unreadable, or there are none."""
    known = [found for found in cards.values() if found is not None]
    if needed <= 0 or not known or len(known) < len(cards):  # another node may have room
        return None
    most = max(part.number for part in parts)
    empty = [[replace(card, used=0, used_memory=0, used_cores=0) for card in found] for found in known]
    now, ever = (sum(fitting(found, parts) for found in each) for each in (known, empty))
    if now >= needed:
        return None
    column = ".metadata.annotations." + maker.registered.replace(".", "\\.")
    largest = max(map(len, known))
    if most > largest:
        found = (
            f"a container requests {most} {maker.number}, each of which is on a card of its own, and no node has as "
        )
        found += f"many: {few([f'{name} has {len(each or ())}' for name, each in sorted(cards.items())])}."
        todo = f"request at most {largest} {maker.number} for a container, with more memory and cores each, or "
        todo += "add a node with more cards."
    else:
        what = "they are empty" if ever < needed else "others have parts of them"
        found = f"{counted(needed, 'pod')} of the gang request {few([str(part) for part in parts])} of a card, and the "
        found += f"cards have room for {now} of them at most: {what}."
        todo = "request less of a card, or add cards." if ever < needed else "wait until other pods end, or add cards."
    return finding(
        "CardsFull" if ever >= needed else "CardsTooFew",
        found,
        needed=f"{counted(most, 'card')} with room on one node, and room for {counted(needed, 'pod')} in all.",
        todo=todo,
        commands=[f"kubectl get nodes -o custom-columns='NODE:.metadata.name,CARDS:{column}'"],
        details=[*by_text(_room(cards, parts))],
    )
