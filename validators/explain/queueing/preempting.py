"""Room that pods of lower priority hold, where Volcano is not told to take it from them."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from validators.explain.model import GROUP_NAME, Finding, Situation, finding
from validators.explain.placing.nodes import nodes_of
from validators.explain.placing.packing import fits
from validators.explain.placing.room import groups_of
from validators.explain.queueing.queues import SCHEDULER
from validators.subjects.gang import scheduler_configuration

__all__ = ["preempting"]

_CLASSES = "priorityclasses.scheduling.k8s.io"
_TOLD = 5


def preempting(situation: Situation) -> Iterator[Finding]:
    """The gang would fit if pods of lower priority made way, and the scheduler has no action for that."""
    missing = situation.minimum - len(situation.placed)
    own = _priority(situation)
    if situation.group is None or missing <= 0 or own <= 0 or _preempts(situation):
        return
    facts = situation.facts
    groups, nodes = groups_of(situation), facts.all("nodes")
    lower = [
        pod
        for pod in _of_queue(situation)
        if pod["spec"].get("nodeName")
        and (pod["spec"].get("priority") or 0) < own
        and pod.get("status", {}).get("phase") == "Running"
    ]
    kept = {pod["metadata"]["uid"] for pod in lower}
    others = [pod for pod in facts.all("pods") if pod["metadata"]["uid"] not in kept]
    if not lower or fits(groups, nodes_of(nodes, facts.all("pods")), missing) >= missing:
        return
    if fits(groups, nodes_of(nodes, others), missing) >= missing:
        yield finding(
            "LowerPriorityHolds",
            f"the gang, of priority {own}, would fit if pods of lower priority in its queue made way, which are "
            f"{len(lower)}. Volcano's scheduler has no action preempt, so that they stay.",
            needed="action preempt in the scheduler's configuration, where jobs of higher priority are to take room "
            "from others of their queue.",
            todo="add preempt to the scheduler's actions (volcano_scheduler_actions), or wait until others end.",
            objects=[Ref.of(pod) for pod in lower[:_TOLD]],
            blocks=False,
        )


def _of_queue(situation: Situation) -> Iterator[Object]:
    """Pods of the other gangs in the queue: Volcano preempts within one (pkg/scheduler/actions/preempt)."""
    own = Ref.of(situation.group) if situation.group else None
    gangs = {
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in situation.facts.all("podgroups.scheduling.volcano.sh")
        if (item["spec"].get("queue") or "default") == situation.queue and Ref.of(item) != own
    }
    for pod in situation.facts.all("pods"):
        name = (pod["metadata"].get("annotations") or {}).get(GROUP_NAME)
        if (pod["metadata"]["namespace"], name) in gangs:
            yield pod


def _priority(situation: Situation) -> int:
    """Of the gang, as its pods say, else as the class of the job does."""
    for pod in situation.pods:
        return int(pod["spec"].get("priority") or 0)
    names = (situation.job.priority_class, *(_class_of(role.template) for role in situation.job.roles))
    found = (situation.facts.get(_CLASSES, "", name) for name in names if name)
    return next((int(item.get("value") or 0) for item in found if item), 0)


def _class_of(template: Object) -> str:
    name: str = template["spec"].get("priorityClassName") or ""
    return name


def _preempts(situation: Situation) -> bool:
    """Whether the configuration has the action, or nobody can tell."""
    scheduler = situation.facts.get("deployments.apps", SCHEDULER.namespace, SCHEDULER.name)
    if scheduler is None:
        return True
    found = scheduler_configuration.read(scheduler, situation.facts)
    return isinstance(found, scheduler_configuration.Unusable) or "preempt" in found.actions
