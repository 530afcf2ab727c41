"""Pods without requests: a gang starts without them, and action backfill places them one after the other.

Rule: Volcano counts those that wait as placed, also where no node accepts them (IsReady of pkg/scheduler/api, v1.8.0
to v1.15.1). Before v1.12.0, backfill stops at the first one that fits no node, and all behind it wait
(volcano-sh/volcano#4028). Requests of a whole pod (spec.resources) count from v1.15 on
(amendResourceAccordingToPodFeatures there).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.pods.quantities import pod_requests
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import VOLCANO, Finding, Situation, finding, pod_group_name
from kubeflow_volcano.validators.explain.placement.claims import missing_claims
from kubeflow_volcano.validators.explain.placement.filters import ignored_by_volcano, refusals
from kubeflow_volcano.validators.explain.placement.nodes import Node, Wish, nodes_with_pods
from kubeflow_volcano.validators.explain.scheduling.volcano import PODGROUPS, older
from kubeflow_volcano.validators.subjects.gang import scheduler_configuration

_CONTINUES_SINCE = "1.12.0"
WHOLE_POD_SINCE = "1.15.0"
"""The version of Volcano that reads spec.resources of pods."""
_MOST_PODS = 200
_CLAIM = "persistentvolumeclaim"


def best_effort(situation: Situation) -> Iterator[Finding]:
    """A gang starts without its pods that have no requests, which wait behind a pod that fits no node."""
    if (
        situation.placed
        and situation.unscheduled > 0
        and any(_is_best_effort(pod, situation.facts) for pod in situation.pods)
    ):
        yield finding(
            "NotHeldTogether",
            f"{counted(len(situation.placed), 'pod')} of the job got a node before the whole gang: Volcano does not "
            "wait for pods without resource requests (volcano-sh/volcano#645).",
            needed="requests in the pod template, so that all pods start together.",
            todo="set requests for the job's containers.",
            objects=[Ref.of(pod) for pod in situation.pods if _is_best_effort(pod, situation.facts)],
            blocks=False,
        )
    waiting = [pod for pod in situation.unplaced if _is_best_effort(pod, situation.facts)]
    if not waiting or situation.phase in {"", "Pending"} or not _stops_at_first(situation.facts):
        return
    nodes = nodes_with_pods(situation.facts)
    own = {pod["metadata"]["uid"] for pod in situation.pods}
    others = [pod for pod in _waiting(situation.facts) if pod["metadata"]["uid"] not in own][:_MOST_PODS]
    stuck = [pod for pod in others if _fits_no_node(pod, nodes, situation)]
    if stuck:
        yield finding(
            "BehindBestEffort",
            f"{counted(len(waiting), 'pod')} of the job {'has' if len(waiting) == 1 else 'have'} no resource requests. "
            "Volcano places such pods one after the other and stops at the first that fits no node: "
            f"{Ref.of(stuck[0])}.",
            needed=f"requests in the pod template, or Volcano {_CONTINUES_SINCE} or later (volcano-sh/volcano#4028).",
            todo=f"set requests for the job's containers, or fix or delete {Ref.of(stuck[0])}.",
            objects=[Ref.of(pod) for pod in stuck],
        )


def ran_in_part(situation: Situation) -> Iterator[Finding]:
    """A gang without requests that has ended: some of its pods may never have had a node."""
    members = [pod for pod in situation.pods if pod_group_name(pod)]
    if not any(_is_best_effort(pod, situation.facts) for pod in members):
        return
    never = [pod for pod in members if not pod["spec"].get("nodeName")]
    # Controllers delete pods at the end, so that the number of those that are left says nothing.
    what = f"{counted(len(never), 'pod')} of it never had a node" if never else "it may have run in part"
    yield finding(
        "NotHeldTogether",
        f"the job has ended, and {what}: Volcano does not wait for pods without resource requests "
        "(volcano-sh/volcano#645).",
        needed="requests in the pod template, so that all pods start together.",
        todo="set requests for the job's containers, and recreate the job.",
        objects=[Ref.of(pod) for pod in never or members],
        blocks=False,
    )


def _stops_at_first(facts: Facts) -> bool:
    return older(scheduler_configuration.version(facts), _CONTINUES_SINCE)


def _is_best_effort(pod: Object, facts: Facts) -> bool:
    if any(pod_requests(pod["spec"]).values()):
        return False
    running = scheduler_configuration.version(facts)
    return not any((pod["spec"].get("resources") or {}).values()) or older(running, WHOLE_POD_SINCE)


def _waiting(facts: Facts) -> Iterator[Object]:
    """Volcano's pods without requests and node, of gangs that were admitted and have all their pods."""
    groups = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in facts.all(PODGROUPS)}
    members: dict[tuple[str, str], list[Object]] = {}
    for pod in facts.all("pods"):
        members.setdefault((pod["metadata"]["namespace"], pod_group_name(pod)), []).append(pod)
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
                and _is_best_effort(pod, facts)
            )


def _fits_no_node(pod: Object, nodes: Sequence[Node], situation: Situation) -> bool:
    if pod["metadata"]["namespace"] == situation.job.ref.namespace:
        lacks_claim = bool(missing_claims(pod, situation.facts))
    else:  # its claims were not read: the scheduler reports them
        lacks_claim = _CLAIM in conditions(pod).get("PodScheduled", {}).get("message", "").lower()
    wish = replace(Wish.of(pod), ignored=ignored_by_volcano(situation.facts))
    return lacks_claim or all(refusals(wish, node, nodes) for node in nodes)
