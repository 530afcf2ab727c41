"""The experiment that the project grew from: a TFJob of 2 PS and 4 workers of one GPU each, on one GPU and on four.

Without gang scheduling one worker starts and holds its GPU while three wait; with it nobody starts until all six can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.client import Cluster
from kubeflow_volcano.cluster.deadline import Deadline
from kubeflow_volcano.cluster.errors import ApiError
from kubeflow_volcano.cluster.objects import Object
from kubeflow_volcano.cluster.watching import Observer, Subject
from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.progress import Progress
from validators.facts import SIMULATED_POD
from validators.probes.record import Group, Recorder
from validators.probes.session import Session
from validators.probes.spaces import Level
from validators.probes.stage import PODGROUP

__all__ = ["CASES", "Case", "Observation", "observe", "side_by_side", "tfjob"]

NAME = "dist-mnist"
IMAGE = "ghcr.io/kubeflow/training-v1/tf-dist-mnist-test:latest"
PS, WORKERS = 2, 4
_ROLE, _INDEX = "training.kubeflow.org/replica-type", "training.kubeflow.org/replica-index"
_LIMIT_SECONDS = 90.0
_TELL_EVERY_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Case:
    """One run: what the cluster must offer, when the picture is settled, and what must never have been seen."""

    name: str
    title: str
    gpus: int
    hold_seconds: float
    """The picture counts when it has stood unchanged for this long."""
    settled: Callable[[Recorder], bool]
    wrong: Callable[[Recorder], str]
    """What contradicts the claim at any moment, as a sentence; empty when nothing does."""


def _counted(record: Recorder, role: str) -> dict[str, int]:
    """Members of a role ('ps', 'worker') by phase; unbound ones that a scheduler has judged are 'Unschedulable'."""
    counts: dict[str, int] = {}
    for member in record.members.values():
        if not member.gone and member.labels.get(_ROLE) == role:
            word = "Unschedulable" if member.judged and not member.node else member.phase
            counts[word] = counts.get(word, 0) + 1
    return counts


def _group(record: Recorder) -> Group | None:
    return next((group for group in record.groups.values() if not group.gone), None)


def _most_bound(record: Recorder) -> int:
    return max((len(names) for names in record.states), default=0)


def _partial(record: Recorder) -> bool:
    workers = {"Running": 1, "Unschedulable": WORKERS - 1}
    return _counted(record, "worker") == workers and _counted(record, "ps") == {"Running": PS}


def _withheld(record: Recorder) -> bool:
    group = _group(record)
    return group is not None and group.phase == "Pending" and bool(group.judged) and not record.bound()


def _whole(record: Recorder) -> bool:
    return _counted(record, "worker") == {"Running": WORKERS} and _counted(record, "ps") == {"Running": PS}


def _not_withheld(record: Recorder) -> str:
    if most := _most_bound(record):
        return f"{most} of {PS + WORKERS} pods got a node although the gang does not fit"
    group = _group(record)
    if group is not None and group.minimum != PS + WORKERS:
        return f"the PodGroup asks for {group.minimum} members instead of {PS + WORKERS}"
    return ""


def _not_partial(record: Recorder) -> str:
    return "a PodGroup exists although gang scheduling is off" if _group(record) else ""


def _not_whole(record: Recorder) -> str:
    schedulers = {member.scheduler for member in record.members.values()}
    return "" if schedulers <= {"volcano"} else f"pods were given to {', '.join(sorted(schedulers))}"


CASES = {
    case.name: case
    for case in (
        Case("default", "default scheduler, 1 GPU", 1, 5.0, _partial, _not_partial),
        Case("gang-short", "gang scheduling, 1 GPU", 1, 8.0, _withheld, _not_withheld),
        Case("gang-fits", "gang scheduling, 4 GPUs", 4, 1.0, _whole, _not_whole),
    )
}


@dataclass(frozen=True, slots=True)
class Observation:
    """How a case came out. `problem` is empty when the claim held."""

    case: str
    title: str
    seconds: float
    problem: str
    seen: dict[str, Any]


def tfjob(namespace: str) -> Object:
    """The job: two parameter servers on CPU, four workers that ask for one GPU each."""

    def replicas(count: int, resources: dict[str, str]) -> Object:
        container = {
            "name": "tensorflow",
            "image": IMAGE,
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"} | resources, "limits": resources},
        }
        pod = {"metadata": {"annotations": {"sidecar.istio.io/inject": "false"}}, "spec": {"containers": [container]}}
        return {"replicas": count, "restartPolicy": "Never", "template": pod}

    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "runPolicy": {"cleanPodPolicy": "All"},
            "tfReplicaSpecs": {"PS": replicas(PS, {}), "Worker": replicas(WORKERS, {"nvidia.com/gpu": "1"})},
        },
    }


def gpus_free(nodes: Sequence[Object], pods: Sequence[Object]) -> int:
    """GPUs that nodes offer and no pod has asked for."""
    offered = sum(int(node.get("status", {}).get("allocatable", {}).get("nvidia.com/gpu", 0)) for node in nodes)
    taken = sum(
        int(container.get("resources", {}).get("requests", {}).get("nvidia.com/gpu", 0))
        for pod in pods
        if pod["spec"].get("nodeName") and pod.get("status", {}).get("phase") not in {"Succeeded", "Failed"}
        for container in pod["spec"]["containers"]
    )
    return offered - taken


def observe(cluster: Cluster, case: Case, progress: Progress) -> Observation:
    """Run the job in a namespace of its own, watch until the picture is settled, and remove everything.

    Raises:
        ProblemsError: the cluster is not set up for this case, or the job was refused.
    """
    free = gpus_free(cluster.list("v1", "Node").items, cluster.list("v1", "Pod").items)
    if free != case.gpus:
        raise ProblemsError(
            Problem(
                f"{free} free GPUs (nvidia.com/gpu) in the cluster.",
                f"exactly {case.gpus} for the case '{case.name}' ({case.title}).",
                f"run it through `make gang-demo`, which sets the rehearsal cluster to {case.gpus} GPU nodes first.",
            )
        )
    session = Session(cluster, progress)
    session.sweep()
    try:
        namespace = session.namespace(Level.BASELINE)
        return _watch(cluster, session, case, namespace, progress)
    except ApiError as error:
        raise ProblemsError(
            Problem(
                f"the TFJob was not accepted: {error.message}.",
                "a training operator whose webhook answers.",
                "run playbooks/install.yml, then try again.",
            )
        ) from error
    finally:
        session.close()


def _watch(cluster: Cluster, session: Session, case: Case, namespace: str, progress: Progress) -> Observation:
    subjects = [Subject("v1", "Pod", namespace), Subject(*PODGROUP, namespace)]
    deadline = Deadline(_LIMIT_SECONDS)
    settled = False
    with Observer(cluster, subjects, deadline) as observer:
        record = Recorder(cluster, namespace, "", observer.changes(tick=0.25))
        session.create(tfjob(namespace))
        while not (case.wrong(record) or deadline.passed):
            progress(f"{case.title}: {_picture(record)}")
            if not record.until(lambda: bool(case.wrong(record)) or case.settled(record), _TELL_EVERY_SECONDS):
                continue
            # Only what lasts is a picture: a moment may be on the way to something else.
            settled = not record.until(lambda: bool(case.wrong(record)) or not case.settled(record), case.hold_seconds)
            if settled:
                break
    problem = case.wrong(record)
    if not (problem or settled):
        problem = f"not settled after {_LIMIT_SECONDS:.0f} s: {_picture(record)}"
    return Observation(case.name, case.title, round(deadline.elapsed, 1), problem, _seen(record))


def _picture(record: Recorder) -> str:
    group = _group(record)
    text = f"PodGroup {group.phase or 'without phase'}, minMember {group.minimum}" if group else "no PodGroup"
    return (
        f"{sum(not member.gone for member in record.members.values())} pods, {len(record.bound())} with a node; {text}"
    )


def _seen(record: Recorder) -> dict[str, Any]:
    """The record as plain data."""
    group = _group(record)
    members = [
        {
            "role": f"{member.labels.get(_ROLE)}-{member.labels.get(_INDEX)}",
            "phase": member.phase,
            "node": member.node,
            "simulated": SIMULATED_POD in member.labels,
            "bound_at": member.bound_at,
        }
        for member in record.members.values()
        if not member.gone
    ]
    reasons = [item["reason"] for item in group.conditions if item.get("reason")] if group else []
    return {
        "members": sorted(members, key=lambda item: str(item["role"])),
        "group": {"phase": group.phase, "minMember": group.minimum, "reasons": reasons} if group else None,
        "most_bound": _most_bound(record),
    }


def side_by_side(observations: Sequence[Observation]) -> str:
    """The tables of all cases next to each other, as plain text."""
    columns = [_table(observation) for observation in observations]
    widths = [max(len(line) for line in column) for column in columns]
    height = max(len(column) for column in columns)
    rows = (
        "   ".join(
            (column[row] if row < len(column) else "").ljust(width)
            for column, width in zip(columns, widths, strict=True)
        )
        for row in range(height)
    )
    return "\n".join(row.rstrip() for row in rows)


def _table(observation: Observation) -> list[str]:
    group, members = observation.seen["group"], observation.seen["members"]
    lines = [observation.title, "-" * max(34, len(observation.title)), f"{'POD':<10}{'STATUS':<12}NODE"]
    for member in members:
        node = (member["node"] + ("*" if member["simulated"] and member["node"] else "")) or "-"
        lines.append(f"{member['role']:<10}{member['phase']:<12}{node}")
    if not members:
        lines.append("(no pods)")
    lines.append("")
    if group:
        lines += [
            f"PodGroup {group['phase']}, MINMEMBER {group['minMember']}",
            f"  {', '.join(dict.fromkeys(group['reasons']))}",
        ]
    else:
        lines.append("no PodGroup")
    lines.append(f"most pods bound at once: {observation.seen['most_bound']}")
    lines.append("as claimed" if not observation.problem else f"NOT as claimed: {observation.problem}")
    return lines
