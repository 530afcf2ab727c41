"""Resources that a scheduler counts by books of its own: no node has them allocatable, and pods get them all the same.

Rules: GetIgnoredDevices of pkg/scheduler/api/devices/nvidia/vgpu and IgnoredDevicesList of pkg/scheduler/api, Volcano
v1.8.2 to v1.15.1: plugin deviceshare (predicates before 1.9) reads the cards from annotations of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kubeflow_volcano.cluster.objects import Ref, conditions, has_ended
from kubeflow_volcano.cluster.pods.quantities import pod_requests
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.scheduling.volcano import plugins

_OF_VGPU = frozenset({f"volcano.sh/vgpu-{what}" for what in ("cores", "memory", "memory-percentage")})
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
    known = {} if facts.unread.keys() & {"deployments.apps", "configmaps"} else plugins(facts)
    arguments = (item.get("arguments") or {} for item in known.values())
    shared = any(key.endswith(_SWITCH) and value is True for item in arguments for key, value in item.items())
    return frozenset((got | (_OF_VGPU if shared else frozenset())) - told)


def devices(situation: Situation) -> Iterator[Finding]:
    """The pods want such a resource, of which only the scheduler knows whether any is free: its message is shown."""
    names = counted_elsewhere(situation.facts)
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
