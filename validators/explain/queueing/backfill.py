"""Pods that ask for nothing: Volcano's action backfill places them one after the other.

Before v1.12.0 it stops at the first that fits no node, and all behind it wait (volcano-sh/volcano#4028).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.pods.quantities import pod_requests
from validators.core.facts import Facts
from validators.explain.model import GROUP_NAME, VOLCANO, Finding, Situation, finding
from validators.explain.placing.claims import missing
from validators.explain.placing.nodes import Node, Wish, nodes_of, refusals
from validators.subjects.gang import scheduler_configuration

__all__ = ["backfill"]

_GOES_ON_SINCE = "1.12.0"
_MOST = 200
_CLAIM = "persistentvolumeclaim"


def backfill(situation: Situation) -> Iterator[Finding]:
    """Pods without requests are placed without their gang, and not while a pod of somebody else fits nowhere."""
    own = [pod for pod in situation.unplaced if _asks_for_nothing(pod)]
    alone = [pod for pod in situation.placed if _asks_for_nothing(pod)]
    if alone and len(situation.placed) < situation.minimum:
        yield finding(
            "NotHeldTogether",
            f"{len(alone)} pods of the job have a node before the gang has: they ask for no resources, and Volcano "
            "does not hold such pods back (volcano-sh/volcano#645).",
            needed="requests in the pod template, so that all start together.",
            todo="give the job's containers requests.",
            objects=[Ref.of(pod) for pod in alone],
            blocks=False,
        )
    if not own or situation.phase in {"", "Pending"} or not _stops(situation.facts):
        return
    nodes = nodes_of(situation.facts.all("nodes"), situation.facts.all("pods"))
    uids = {pod["metadata"]["uid"] for pod in situation.pods}
    waiting = [pod for pod in _waiting(situation.facts) if pod["metadata"]["uid"] not in uids][:_MOST]
    stuck = [pod for pod in waiting if _fits_nowhere(pod, nodes, situation)]
    if stuck:
        yield finding(
            "BehindBestEffort",
            f"{len(own)} pods of the job ask for no resources, and Volcano places such pods one after the other until "
            f"one fits no node. One that fits none is {Ref.of(stuck[0])}.",
            needed=f"requests in the pod template, or Volcano {_GOES_ON_SINCE} or later (volcano-sh/volcano#4028).",
            todo="give the job's containers requests; or see to the pod that is named.",
            objects=[Ref.of(pod) for pod in stuck],
        )


def _stops(facts: Facts) -> bool:
    version = scheduler_configuration.version(facts)
    return bool(version) and version_key(version) < version_key(_GOES_ON_SINCE)


def _asks_for_nothing(pod: Object) -> bool:
    return not any(pod_requests(pod["spec"]).values())


def _waiting(facts: Facts) -> Iterator[Object]:
    """Volcano's pods without requests and node, of gangs that were admitted and have all their pods."""
    groups = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item
        for item in facts.all("podgroups.scheduling.volcano.sh")
    }
    members: dict[tuple[str, str], list[Object]] = {}
    for pod in facts.all("pods"):
        name = (pod["metadata"].get("annotations") or {}).get(GROUP_NAME, "")
        members.setdefault((pod["metadata"]["namespace"], name), []).append(pod)
    for key, pods in members.items():
        group = groups.get(key)
        admitted = group and group.get("status", {}).get("phase") not in {None, "", "Pending"}
        if group and admitted and len(pods) >= int(group["spec"].get("minMember") or 1):
            yield from (
                pod
                for pod in pods
                if pod["spec"].get("schedulerName") == VOLCANO
                and not pod["spec"].get("nodeName")
                and not pod["spec"].get("schedulingGates")
                and _asks_for_nothing(pod)
            )


def _fits_nowhere(pod: Object, nodes: Sequence[Node], situation: Situation) -> bool:
    if pod["metadata"]["namespace"] == situation.job.ref.namespace:
        claimless = bool(missing(pod, situation.facts))
    else:  # whose claims were not read: the scheduler says it
        claimless = _CLAIM in conditions(pod).get("PodScheduled", {}).get("message", "").lower()
    return claimless or all(refusals(Wish.of(pod), node, nodes) for node in nodes)
