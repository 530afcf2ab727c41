"""Pods that have a node and do not run: image, settings, volumes, init containers, crashes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess_pod
from validators.core.facts import Facts
from validators.explain.model import Finding, Situation, finding
from validators.subjects.pods import POD_NOTES, PodNotes, issue

__all__ = ["containers"]

_TOLD = 5
_SETTINGS = frozenset({"CreateContainerConfigError", "RunContainerError"})


def containers(situation: Situation) -> Iterator[Finding]:
    """One finding for pods that suffer from the same thing."""
    told: dict[tuple[str, str], list[tuple[Object, Finding]]] = {}
    own = replace(situation.facts, objects={"pods": situation.pods}, unread={})
    for pod in situation.placed:
        if found := _trouble(pod, own):
            told.setdefault((found.reason, found.problem.todo), []).append((pod, found))
    for items in told.values():
        pod, found = items[0]
        others = [str(Ref.of(other)) for other, _ in items[1:]]
        more = [f"and the same of {', '.join(others[:_TOLD])}{' …' if len(others) > _TOLD else ''}"] if others else []
        yield finding(
            found.reason,
            found.problem.found,
            needed=found.problem.needed,
            todo=found.problem.todo,
            objects=[Ref.of(other) for other, _ in items],
            commands=[f"kubectl -n {pod['metadata']['namespace']} describe pod {pod['metadata']['name']}"],
            details=[*more, *found.details],
        )


def _trouble(pod: Object, facts: Facts) -> Finding | None:
    notes = facts.known(POD_NOTES).get(pod["metadata"]["uid"], PodNotes())
    if assess_pod(pod).state in {State.READY, State.SKIP}:
        return None
    if waiting := _init(pod, notes):
        return waiting
    if settings := _settings(pod):
        return settings
    if pod.get("status", {}).get("phase") == "Pending" and notes.events and not _images(pod, notes):
        return finding(
            "NotStarted",
            f"{Ref.of(pod)} is on {pod['spec']['nodeName']} and has not started: {notes.events[-1].rstrip('.')}.",
            needed="what the node wants for starting it: volumes, network, secrets.",
            todo="correct what the node names.",
        )
    found = issue(pod, facts)
    if found is None:
        return None
    return finding(
        found.reason,
        found.message,
        needed="a container that runs and is ready.",
        todo=found.todo,
        details=notes.log.strip().splitlines()[-_TOLD:],
    )


def _images(pod: Object, notes: PodNotes) -> bool:
    """Whether a container waits for its image or for its next try, of which the pod's own state says more."""
    waiting = (item.get("state", {}).get("waiting") or {} for item in pod["status"].get("containerStatuses") or ())
    return "pull" in notes.events[-1].lower() or any(
        item.get("reason") not in {None, "ContainerCreating", "PodInitializing"} for item in waiting
    )


def _init(pod: Object, notes: PodNotes) -> Finding | None:
    """The first init container that has not ended well; the rest waits for it."""
    for status in pod.get("status", {}).get("initContainerStatuses") or ():
        state = status.get("state", {})
        last = (status.get("lastState") or {}).get("terminated") or state.get("terminated") or {}
        if (state.get("terminated") or {}).get("exitCode") == 0 or (status.get("started") and _sidecar(pod, status)):
            continue
        if last.get("exitCode"):
            return finding(
                "InitContainerFails",
                f"{Ref.of(pod)}: init container {status['name']} ends with exit code {last['exitCode']}, "
                f"{status.get('restartCount', 0)} restarts.",
                needed="init containers that end with exit code 0.",
                todo=f"read its log: kubectl -n {Ref.of(pod).namespace} logs {Ref.of(pod).name} -c {status['name']}.",
                details=notes.log.strip().splitlines()[-_TOLD:],
            )
        if "running" in state:
            return finding(
                "InitContainerRuns",
                f"{Ref.of(pod)}: init container {status['name']} runs since {state['running'].get('startedAt')}.",
                needed="that it ends; the others start after it.",
                todo="see what it waits for. One of an operator waits for the name of the master or launcher in DNS.",
            )
        return None
    return None


def _sidecar(pod: Object, status: Object) -> bool:
    return any(
        item["name"] == status["name"] and item.get("restartPolicy") == "Always"
        for item in pod["spec"].get("initContainers") or ()
    )


def _settings(pod: Object) -> Finding | None:
    for status in pod.get("status", {}).get("containerStatuses") or ():
        waiting = status.get("state", {}).get("waiting") or {}
        if waiting.get("reason") in _SETTINGS:
            return finding(
                str(waiting["reason"]),
                f"{Ref.of(pod)}: container {status['name']} cannot be set up: {waiting.get('message', 'no message')}.",
                needed="every ConfigMap, Secret and key that the container names.",
                todo="make what is missing, or correct the name in the pod template.",
            )
    return None
