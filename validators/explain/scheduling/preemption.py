"""Room that pods of lower priority hold, where Volcano's scheduler does not preempt them.

Rule: pkg/scheduler/actions/preempt of Volcano, v1.8.0 to v1.15.1, which preempts within a queue. What counts is the
priority of the PodGroups (Snapshot of pkg/scheduler/cache), not that of their pods. Of actions/gangpreempt, from
v1.15.0 on, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.pod_sets import pod_sets
from kubeflow_volcano.validators.explain.scheduling.eviction import (
    command,
    group_key,
    group_of,
    kept_by,
    lacks,
    victims,
)
from kubeflow_volcano.validators.explain.scheduling.volcano import PODGROUPS, configuration, queue_of

_CLASSES = "priorityclasses.scheduling.k8s.io"
_OTHER = "gangpreempt"
_MOST_PODS = 5
_PLACES = {
    "batch.volcano.sh": "spec.priorityClassName of the job",
    "kubeflow.org": "spec.runPolicy.schedulingPolicy.priorityClass",
}


def preemption(situation: Situation) -> Iterator[Finding]:
    """The gang would fit if pods of lower priority were preempted, and something keeps the scheduler from that."""
    wanted, needed = max(_of_group(situation.group, situation), _of_pods(situation)), situation.unscheduled
    if situation.group is None or needed <= 0 or wanted <= 0 or _never_preempts(situation):
        return
    groups = {
        group_key(item): _of_group(item, situation)
        for item in situation.facts.all(PODGROUPS)
        if queue_of(item) == situation.queue and Ref.of(item) != situation.group_ref
    }
    lower = [
        pod
        for pod in situation.facts.all("pods")
        if max(groups.get(group_of(pod), wanted), int(pod["spec"].get("priority") or 0)) < wanted
    ]
    gone = victims(pod_sets(situation), lower, situation.facts, needed)
    if not gone:
        return
    settings = lacks("preempt", situation, gone)
    steps = [item.todo for item in settings]
    if _of_group(situation.group, situation) < wanted:
        place = _PLACES.get(situation.job.family, "spec.priorityClassName of the PodGroup")
        steps.append(f"recreate the job with its priority class in {place}, as its PodGroup has none")
    if not steps:
        return
    change = command(situation, settings) if settings else ""
    yield finding(
        "LowerPriorityHolds",
        f"the gang, of priority {wanted}, would fit if {counted(len(gone), 'pod')} of lower priority in its queue were "
        f"preempted. Volcano's scheduler preempts none, for lack of {counted(len(steps), 'setting')}.",
        needed="all settings of preemption, for jobs that preempt others of their queue.",
        todo=f"{'; '.join(steps)}. {kept_by('preempt', situation, settings)}Or wait until other jobs end.",
        objects=[Ref.of(pod) for pod in gone[:_MOST_PODS]],
        changes=[change] if change else [],
        blocks=False,
    )


def _of_group(group: Object | None, situation: Situation) -> int:
    """Priority of a PodGroup: that of its class, else 0."""
    name = (group or {"spec": {}})["spec"].get("priorityClassName") or ""
    return _value(name, situation)


def _of_pods(situation: Situation) -> int:
    """Priority that the job is meant to have: that of its pods, else that of the classes that it names."""
    for pod in situation.pods:
        return int(pod["spec"].get("priority") or 0)
    of_pods = (role.template["spec"].get("priorityClassName") or "" for role in situation.job.roles)
    return next((_value(name, situation) for name in (situation.job.priority_class, *of_pods) if name), 0)


def _value(name: str, situation: Situation) -> int:
    return int((situation.facts.get(_CLASSES, "", name) or {}).get("value") or 0) if name else 0


def _never_preempts(situation: Situation) -> bool:
    """Whether its pods are not to preempt others, by their class's policy, or another action is there for it."""
    chosen = configuration(situation.facts)
    if chosen and _OTHER in chosen.actions:
        return True
    specs = [pod["spec"] for pod in situation.pods] or [role.template["spec"] for role in situation.job.roles]
    classes = (situation.facts.get(_CLASSES, "", name) for item in specs if (name := item.get("priorityClassName")))
    named = {str((item or {}).get("preemptionPolicy")) for item in classes}
    return "Never" in named | {str(item.get("preemptionPolicy")) for item in specs}
