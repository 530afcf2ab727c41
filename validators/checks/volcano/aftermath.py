"""Family F, leftovers of earlier failures: panics at the start, PodGroups without pods, incomplete gangs.

Rules, of Volcano v1.8.0 to v1.15.1. F7: newDefaultQueue of pkg/scheduler/cache, which panics. F8: plugins proportion,
capacity and overcommit count minResources of PodGroups in phase Inqueue. F9: jobStatus of
pkg/scheduler/framework/session.go sets Unknown where some members run and too few for minMember.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from kubeflow_volcano.catalog.gangs import VOLCANO
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import (
    CannotJudgeError,
    Outcome,
    Severity,
    failed,
    passed,
    skipped,
    warned,
)
from kubeflow_volcano.validators.core.resources import PODGROUPS, PODS
from kubeflow_volcano.validators.core.rights import VOLCANO_HOME, Rule
from kubeflow_volcano.validators.subjects import crds
from kubeflow_volcano.validators.subjects.issues import judged
from kubeflow_volcano.validators.subjects.ownership import workload_of
from kubeflow_volcano.validators.subjects.pods import GROUP_NAME

_PANIC = re.compile(r"^panic: .*", re.MULTILINE)
_QUEUE_PANIC = "failed init default queue"
_LINES = 400
"""A panic stands before the stack of one goroutine, at the end of the log."""


def previous_logs(cluster: Cluster, facts: Facts) -> Mapping[tuple[Ref, str], str]:
    """By pod and container: the end of the log of the container before the one that is there now, where one was."""
    ours = {ref for ref, component in facts.expectations.workloads.items() if component == "volcano"}
    logs: dict[tuple[Ref, str], str] = {}
    for pod in facts.all(PODS):
        if workload_of(pod) not in ours:
            continue
        ref = Ref.of(pod)
        for item in pod.get("status", {}).get("containerStatuses") or ():
            if item.get("restartCount"):
                logs[ref, item["name"]] = _previous(cluster, ref, item["name"])
    return logs


def _previous(cluster: Cluster, pod: Ref, container: str) -> str:
    try:
        return cluster.logs(pod.namespace, pod.name, container, previous=True, tail=_LINES)
    except ApiError as error:
        if "previous terminated container" in error.message:  # the kubelet has removed it by now
            return ""
        raise


PREVIOUS_LOGS = Fact[Mapping[tuple[Ref, str], str]](
    "volcano-logs", previous_logs, {}, reads=(PODS,), needs=(Rule("get", "", "pods/log", VOLCANO_HOME),)
)
"""By pod and container of Volcano, the end of the log before it was started again; only of those that were."""


@check(
    "F7",
    "no-start-panics",
    severity=Severity.MAJOR,
    reads=(PODS, PREVIOUS_LOGS),
)
def no_start_panics(facts: Facts) -> Outcome:
    """No container of Volcano panicked before its last restart.

    The scheduler panics with "failed init default queue" when it starts while Volcano's webhook or the API server does
    not answer (volcano-sh/volcano#2759), or while it may not create Queues. If it runs again, this is a warning: make
    sure that the admission is ready before the scheduler starts. Otherwise it is a failure: remove the cause that the
    panic names.
    """
    ours = {ref for ref, component in facts.expectations.workloads.items() if component == "volcano"}
    containers = {
        (Ref.of(pod), item["name"]): bool(item.get("ready"))
        for pod in facts.all(PODS)
        if (workload := workload_of(pod)) and workload in ours and workload.kind != "Job"
        for item in pod.get("status", {}).get("containerStatuses") or ()
    }
    if not ours:
        return skipped("NotExpected", "the chosen components have no Volcano.")
    if not containers:
        return skipped("NoPods", "no pod of Volcano has a container to look at.")
    logs = {key: log for key, log in facts.read(PREVIOUS_LOGS).items() if key in containers}
    panics = {key: found[-1] for key, log in logs.items() if (found := _PANIC.findall(log))}
    if not panics:
        return passed(
            f"none of {len(containers)} containers of Volcano ended in a panic.", objects=[pod for pod, _ in containers]
        )
    down = [key for key in panics if not containers[key]]
    make = failed if down else warned
    queue = any(_QUEUE_PANIC in line for line in panics.values())
    return make(
        "QueuePanic" if queue else "Panicked",
        " ".join(
            f"{pod}: container {name} ended with {line!r} and {'is down' if (pod, name) in down else 'runs again'}."
            for (pod, name), line in panics.items()
        ),
        expected="no panic in the log of a container that was started again",
        observed={f"{pod} {name}": line for (pod, name), line in panics.items()},
        objects=[pod for pod, _ in panics],
        todo="remove what the panic names, mostly an admission that does not answer (B3); then restart the scheduler."
        if queue
        else "read the whole log, and look the panic up in Volcano's issues.",
        commands=[f"kubectl -n {pod.namespace} logs {pod.name} -c {name} --previous" for pod, name in panics],
        evidence={f"{pod.name}-{name}.log": logs[pod, name] for pod, name in panics},
    )


@check("F8", "no-stale-podgroups", severity=Severity.MINOR, reads=(*crds.READS, PODGROUPS, PODS))
def no_stale_podgroups(facts: Facts) -> Outcome:
    """No PodGroup is Running or Inqueue without a live pod for more than 10 minutes.

    Such a PodGroup reserves resources, so others wait without need (volcano-sh/volcano#2633). With an operator up to
    1.5 it may also be a job whose pods were never created: annotate the job. Otherwise delete the job that owns the
    PodGroup, or a PodGroup without an owner itself.
    """

    def stale(group: Object, pods: Iterable[Object]) -> str:
        phase = group.get("status", {}).get("phase", "")
        pods = tuple(pods)
        live = [pod for pod in pods if pod.get("status", {}).get("phase") in {"Pending", "Running", "Unknown"}]
        seconds = facts.taken - max(_changed(group), *(_changed(pod) for pod in pods), 0.0)
        if phase not in {"Running", "Inqueue"} or live or seconds <= facts.timing.stale_seconds:
            return ""
        held = group["spec"].get("minResources") or {}
        asked = ", ".join(f"{name} {amount}" for name, amount in sorted(held.items())) or "nothing"
        return f"is {phase} without a live pod for {seconds / 60:.0f} min, and requests {asked}"

    return _groups(
        facts,
        stale,
        ("StalePodGroups", "PodGroups Running or Inqueue have live pods"),
        "delete what owns the group, or touch a job whose pods never came.",
    )


@check("F9", "no-broken-gangs", severity=Severity.MINOR, reads=(*crds.READS, PODGROUPS, PODS))
def no_broken_gangs(facts: Facts) -> Outcome:
    """No PodGroup has been in phase Unknown for more than a minute.

    In this phase some members ran and were not replaced, while the others keep their nodes (volcano-sh/volcano#2462).
    Free resources for the missing pods, or delete the job and let it start again.
    """

    def broken(group: Object, pods: Iterable[Object]) -> str:
        if (
            group.get("status", {}).get("phase") != "Unknown"
            or facts.taken - _changed(group) <= facts.timing.broken_seconds
        ):
            return ""
        running = sum(pod.get("status", {}).get("phase") == "Running" for pod in pods)
        return f"is Unknown: {running} of {group['spec'].get('minMember', 0)} members run"

    return _groups(
        facts,
        broken,
        ("BrokenGangs", "every gang is whole, or waits as a whole"),
        "make room for the missing members, or delete the job and let it start whole.",
    )


def _groups(
    facts: Facts, fault: Callable[[Object, Iterable[Object]], str], wrong: tuple[str, str], todo: str
) -> Outcome:
    """One outcome for all PodGroups; `wrong` is the reason and what is expected instead.

    Raises:
        CannotJudgeError: there is none to look at, or the kinds could not be read.
    """
    crds.demand_volcano(facts, "holds nothing for a PodGroup, whose phase only follows its pods")
    crds.demand_gang_kinds(facts, VOLCANO)
    groups = tuple(judged(facts, PODGROUPS))
    members: dict[tuple[str, str], list[Object]] = {}
    for pod in facts.all(PODS):
        meta = pod["metadata"]
        if name := (meta.get("annotations") or {}).get(GROUP_NAME):
            members.setdefault((meta["namespace"], name), []).append(pod)
    if not groups:
        raise CannotJudgeError(skipped("NoPodGroups", "there is no PodGroup."))
    faults = {
        Ref.of(group): text
        for group in groups
        if (text := fault(group, members.get((group["metadata"]["namespace"], group["metadata"]["name"]), ())))
    }
    if not faults:
        return passed(f"{len(groups)} PodGroups: {wrong[1]}.", objects=[Ref.of(item) for item in groups])
    return warned(
        wrong[0],
        f"{few([f'{ref} {text}' for ref, text in faults.items()], separator='; ')}.",
        expected=wrong[1],
        observed={str(ref): text for ref, text in faults.items()},
        objects=tuple(faults),
        todo=todo,
        commands=[
            f"kubectl -n {ref.namespace} get podgroups.scheduling.volcano.sh {ref.name} -o yaml" for ref in faults
        ],
    )


def _changed(obj: Object) -> float:
    """When something last happened to an object, in seconds since the epoch, as far as it tells."""
    status = obj.get("status", {})
    ends = (
        item.get("state", {}).get("terminated", {}).get("finishedAt") for item in status.get("containerStatuses") or ()
    )
    turns = (item.get("lastTransitionTime") for item in conditions(obj).values())
    times = [obj["metadata"]["creationTimestamp"], *(text for text in (*ends, *turns) if text)]
    return max(datetime.fromisoformat(text).timestamp() for text in times)
