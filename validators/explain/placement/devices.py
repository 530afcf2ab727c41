"""Resources that a scheduler counts by books of its own: no node has them allocatable, and pods get them all the same.

Rules: GetIgnoredDevices of pkg/scheduler/api/devices/nvidia/vgpu and IgnoredDevicesList of pkg/scheduler/api, Volcano
v1.8.2 to v1.15.1: plugin deviceshare (predicates before 1.9) reads the cards from annotations of nodes. Each virtual
GPU of a container is on another card (checkNodeGPUSharingPredicate there: "no enough gpu cards").
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from kubeflow_volcano.cluster.objects import Object, Ref, conditions, has_ended
from kubeflow_volcano.cluster.pods.quantities import amounts, pod_requests
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.scheduling.volcano import plugins

_OF_VGPU = frozenset({f"volcano.sh/vgpu-{what}" for what in ("cores", "memory", "memory-percentage")})
_NUMBER, _CARDS = "volcano.sh/vgpu-number", "volcano.sh/node-vgpu-register"
"""Virtual GPUs that a container requests, and the annotation in which a node's device plugin registers its cards."""
_COLUMN = ".metadata.annotations." + _CARDS.replace(".", "\\.")
_SWITCH = "VGPUEnable"


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
    return frozenset((got | (_OF_VGPU if _shares_cards(facts) else frozenset())) - told)


def _shares_cards(facts: Facts) -> bool:
    """Whether the scheduler places parts of cards; not assumed where its configuration is unknown."""
    known = {} if facts.unread.keys() & {"deployments.apps", "configmaps"} else plugins(facts)
    arguments = (item.get("arguments") or {} for item in known.values())
    return any(key.endswith(_SWITCH) and value is True for item in arguments for key, value in item.items())


def _too_few_cards(situation: Situation) -> Iterator[Finding]:
    """A container requests more virtual GPUs than any node has cards."""
    cards = {
        node["metadata"]["name"]: sum("," in card for card in text.split(":"))
        for node in situation.facts.all("nodes")
        if (text := (node["metadata"].get("annotations") or {}).get(_CARDS))
    }
    asked = {Ref.of(pod): _most_wanted(pod) for pod in situation.unplaced}
    most = max(asked.values(), default=Decimal(0))
    if not cards or most <= max(cards.values()) or not _shares_cards(situation.facts):
        return
    yield finding(
        "CardsTooFew",
        f"a container requests {most:f} {_NUMBER}, each of which is on a card of its own, and no node has as many: "
        f"{few([f'{name} has {number}' for name, number in sorted(cards.items())])}.",
        needed=f"a node with {most:f} cards.",
        todo=f"request at most {max(cards.values())} {_NUMBER} for a container, with more memory and cores each, or "
        "add a node with more cards.",
        objects=[ref for ref, number in asked.items() if number == most],
        commands=[f"kubectl get nodes -o custom-columns='NODE:.metadata.name,CARDS:{_COLUMN}'"],
    )


def _most_wanted(pod: Object) -> Decimal:
    limits = (amounts((item.get("resources") or {}).get("limits")) for item in pod["spec"].get("containers") or ())
    return max((item.get(_NUMBER, Decimal(0)) for item in limits), default=Decimal(0))


def devices(situation: Situation) -> Iterator[Finding]:
    """The pods want such a resource, of which only the scheduler knows whether any is free: its message is shown."""
    names = counted_elsewhere(situation.facts)
    if found := [*_too_few_cards(situation)]:
        yield from found
        return
    waiting = {pod["metadata"]["name"]: pod for pod in situation.unplaced}
    wanted = sorted({name for pod in waiting.values() for name in pod_requests(pod["spec"]) if name in names})
    if not wanted:
        return
    said = [
        f"{name}: {text}"
        for name, pod in waiting.items()
        if (text := conditions(pod).get("PodScheduled", {}).get("message"))
    ]
    yield finding(
        "DevicesNotCounted",
        f"the pods request {', '.join(wanted)}, which nodes do not report: the scheduler counts it by books of its "
        "own, and whether any is free is not known here.",
        needed="devices that the scheduler finds free on one node.",
        todo="do what the scheduler says below: often one pod requests more cards than a node has, or a card is shared "
        "already.",
        objects=[Ref.of(pod) for pod in waiting.values()],
        details=said,
    )
