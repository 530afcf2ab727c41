"""Room that pods of lower priority hold, where Volcano's scheduler does not preempt them.

Rule: pkg/scheduler/actions/preempt of Volcano, v1.8.0 to v1.15.1, which preempts within a queue, as does
actions/gangpreempt from v1.15.0 on.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding, pod_group_name
from kubeflow_volcano.validators.explain.placement.nodes import nodes_of
from kubeflow_volcano.validators.explain.placement.pod_sets import how_many_fit, pod_sets
from kubeflow_volcano.validators.explain.scheduling.volcano import PODGROUPS, configuration, queue_of

_CLASSES = "priorityclasses.scheduling.k8s.io"
_ACTIONS = frozenset({"preempt", "gangpreempt"})
_MOST_PODS = 5


def preemption(situation: Situation) -> Iterator[Finding]:
    """The gang would fit if pods of lower priority were preempted, and the scheduler lacks that action."""
    priority, needed = _priority(situation), situation.unscheduled
    if situation.group is None or needed <= 0 or priority <= 0 or _preempts(situation):
        return
    nodes, pods = situation.facts.all("nodes"), situation.facts.all("pods")
    lower = [
        pod
        for pod in _pods_of_queue(situation)
        if pod["spec"].get("nodeName")
        and (pod["spec"].get("priority") or 0) < priority
        and pod.get("status", {}).get("phase") == "Running"
    ]
    victims = {pod["metadata"]["uid"] for pod in lower}
    others = [pod for pod in pods if pod["metadata"]["uid"] not in victims]
    sets = pod_sets(situation)
    if not lower or how_many_fit(sets, nodes_of(nodes, pods), needed) >= needed:
        return
    if how_many_fit(sets, nodes_of(nodes, others), needed) >= needed:
        yield finding(
            "LowerPriorityHolds",
            f"the gang, of priority {priority}, would fit if {counted(len(lower), 'pod')} of lower priority in its "
            "queue were preempted. Volcano's scheduler has no action preempt, so it preempts none.",
            needed="action preempt in the scheduler's configuration, for jobs that preempt others of their queue.",
            todo="add preempt to the scheduler's actions (volcano_scheduler_actions), or wait until other jobs end.",
            objects=[Ref.of(pod) for pod in lower[:_MOST_PODS]],
            blocks=False,
        )


def _pods_of_queue(situation: Situation) -> Iterator[Object]:
    """Pods of the other gangs in the queue: Volcano preempts within one (pkg/scheduler/actions/preempt)."""
    own = Ref.of(situation.group) if situation.group else None
    gangs = {
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in situation.facts.all(PODGROUPS)
        if queue_of(item) == situation.queue and Ref.of(item) != own
    }
    for pod in situation.facts.all("pods"):
        if (pod["metadata"]["namespace"], pod_group_name(pod)) in gangs:
            yield pod


def _priority(situation: Situation) -> int:
    """Priority of the gang: that of its pods, else that of the job's PriorityClass."""
    for pod in situation.pods:
        return int(pod["spec"].get("priority") or 0)
    of_pods = (role.template["spec"].get("priorityClassName") or "" for role in situation.job.roles)
    classes = (situation.facts.get(_CLASSES, "", name) for name in (situation.job.priority_class, *of_pods) if name)
    return next((int(item.get("value") or 0) for item in classes if item), 0)


def _preempts(situation: Situation) -> bool:
    """Whether the scheduler has the action preempt; assumed where its configuration is unknown."""
    chosen = configuration(situation.facts)
    return chosen is None or not _ACTIONS.isdisjoint(chosen.actions)
