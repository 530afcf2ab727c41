"""Two gangs that compete for two places: one after the other with Volcano, deadlocked with the default scheduler.

No room is scarce for it and no second node needed: of two pods with the same slot the anti-affinity admits one to the
node that all four are pinned to, so that the node has two slots, and each gang needs both. The pods come in the order
a0, b1, b0, a1: who binds one by one gives each gang one slot, and neither ever gets its second.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kubeflow_volcano.experiment.record import Recorder
from kubeflow_volcano.experiment.stage import Stage
from kubeflow_volcano.progress import Progress
from kubeflow_volcano.validators.probes.gang.evidence import GangEvidence

CONTROL, GANGS, RELEASE, DEADLOCK = "H6s", "H6", "H6r", "H6c"
"""Ids of the steps: Volcano without gangs, two gangs, the second one when the first has gone, the default scheduler."""

SIZE = 2
"""Members of a gang, and slots."""

_ORDER = ("a0", "b1", "b0", "a1")
_SLOT = "kfv.io/slot"
_HOSTNAME = "kubernetes.io/hostname"


def gang_of(name: str) -> str:
    """Letter of the gang that a pod belongs to, by its name."""
    return name[-2]


def slot_of(name: str) -> str:
    """Number of the slot that a pod wants, by its name."""
    return name[-1]


def play(stage: Stage, evidence: GangEvidence, progress: Progress, prefix: str) -> tuple[str, ...]:
    """H6 between its controls. Needs H1, which found a node with room."""
    node = evidence.steps["H1"].bound[0].node
    # Volcano's own anti-affinity was broken in some versions, and then the gangs have nothing to fight about.
    _without_gangs(stage, evidence, progress, f"{prefix}h6s-", node)
    if len(evidence.steps[CONTROL].bound) != SIZE:
        return (CONTROL,)
    ids = _gangs(stage, evidence, progress, f"{prefix}h6-", node)
    _default_scheduler(stage, evidence, progress, f"{prefix}h6c-", node)
    return (CONTROL, *ids, DEADLOCK)


def _without_gangs(stage: Stage, evidence: GangEvidence, progress: Progress, prefix: str, node: str) -> None:
    progress("H6 control: four pods for two slots of one node, each of which may run alone")
    names = _set_up(stage, prefix, node, minimum=1)
    evidence.steps[CONTROL] = stage.step(CONTROL, names, reached=_settled(stage.recorder, evidence, names))
    stage.clear()


def _gangs(stage: Stage, evidence: GangEvidence, progress: Progress, prefix: str, node: str) -> tuple[str, ...]:
    progress("H6 two gangs: the same pods as two gangs of two")
    names = _set_up(stage, prefix, node, minimum=SIZE)
    record = stage.recorder
    _settled(record, evidence, names)
    # Whoever lost has by now been judged beside the winner; a scheduler that lets it in does so in its next session.
    record.until(lambda: len(record.bound()) > SIZE or record.disturbed(), 2 * evidence.period_seconds)
    bound = record.bound()
    winner = gang_of(bound[0]) if len(bound) == SIZE and len({gang_of(name) for name in bound}) == 1 else ""
    evidence.steps[GANGS] = stage.step(GANGS, names, reached=bool(winner))
    if not winner or record.disturbed():
        stage.clear()
        return (GANGS,)
    progress("H6 two gangs: the first one goes")
    started = time.monotonic()
    stage.remove(*(name for name in names if gang_of(name) == winner))

    def whole() -> bool:
        return len(record.bound()) == SIZE

    record.wait_for(lambda: whole() or record.disturbed(), evidence.timing.bind_seconds)
    step = stage.step(RELEASE, names, reached=whole())
    evidence.steps[RELEASE] = replace(step, seconds=round(time.monotonic() - started, 3))
    stage.clear()
    return GANGS, RELEASE


def _default_scheduler(stage: Stage, evidence: GangEvidence, progress: Progress, prefix: str, node: str) -> None:
    progress("H6 control: the same pods with the default scheduler")
    names = _set_up(stage, prefix, node, minimum=0)
    evidence.steps[DEADLOCK] = stage.step(DEADLOCK, names, reached=_settled(stage.recorder, evidence, names))
    stage.clear()


def _set_up(stage: Stage, prefix: str, node: str, *, minimum: int) -> tuple[str, ...]:
    """Create two groups of `minimum` members and their pods; with 0 there are pods alone. Returns the pods' names."""
    names = tuple(prefix + letters for letters in _ORDER)
    stage.begin()
    for gang in sorted({gang_of(name) for name in names} if minimum else ()):
        stage.group(prefix + gang, minimum)
    for name in names:
        # Slots of its own: a scheduler may still count a pod of the step before, which is gone.
        slot = {_SLOT: f"{prefix}{slot_of(name)}"}
        stage.pod(name, prefix + gang_of(name) if minimum else "", required=_only_one(node, slot), labels=slot)
    return names


def _settled(record: Recorder, evidence: GangEvidence, names: tuple[str, ...]) -> bool:
    """Wait until a scheduler has placed as many as there are slots and judged the rest, or placed too many."""

    def settled() -> bool:
        known = [item for item in record.members.values() if item.name in names]
        done = len(known) == len(names) and all(item.node or item.judged for item in known)
        return len(record.bound()) > SIZE or (done and len(record.bound()) == SIZE)

    record.wait_for(lambda: settled() or record.disturbed(), evidence.timing.bind_seconds)
    return settled()


def _only_one(node: str, slot: Mapping[str, str]) -> Mapping[str, Any]:
    """Affinity to one node, and to no other pod of the slot; `spec.nodeName` would pass the scheduler by."""
    field = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    other = {"topologyKey": _HOSTNAME, "labelSelector": {"matchLabels": dict(slot)}}
    return {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [field]}},
        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [other]},
    }
