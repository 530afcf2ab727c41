"""Pods that have a node but are not ready: image, configuration, volumes, init containers, crashes.

Rules: reasons of the kubelet (pkg/kubelet/images, container/sync_result.go and kuberuntime of Kubernetes, v1.22 to
v1.37), and the table of symptoms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from kubeflow_volcano.catalog.symptoms.logs import last_words
from kubeflow_volcano.catalog.symptoms.read import ANYWHERE, recognise
from kubeflow_volcano.cluster.objects import Object, Ref, conditions, has_ended
from kubeflow_volcano.cluster.readiness import State, assess_pod
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.pod_sets import role_of
from kubeflow_volcano.validators.subjects.pods import POD_NOTES, PodNotes, fault

_MOST = 5
"""Names of pods, and lines of a log."""
_INIT_RUNS = "InitContainerRuns"
_NOT_CONFIGURED = frozenset({"CreateContainerConfigError", "RunContainerError"})


def containers(situation: Situation) -> Iterator[Finding]:
    """One finding for all pods with the same trouble."""
    alike: dict[tuple[str, str], list[tuple[Object, Finding]]] = {}
    own = replace(situation.facts, objects={"pods": situation.pods}, unread={})
    nodes = {item["metadata"]["name"]: item for item in situation.facts.objects.get("nodes", ())}
    empty = {role.name.lower() for role in situation.job.roles if role.replicas == 0}
    for pod in situation.placed:
        if role_of(pod).lower() in empty:  # the training operator creates one, and deletes it at once
            continue
        if found := (_lost(pod, nodes) if nodes else None) or _trouble(pod, own):
            alike.setdefault((found.reason, found.problem.todo), []).append((pod, found))
    for items in alike.values():
        pod, found = items[0]
        others = [str(Ref.of(other)) for other, _ in items[1:]]
        more = [f"the same holds for {few(others, _MOST)}"] if others else []
        yield finding(
            found.reason,
            found.problem.found,
            needed=found.problem.needed,
            todo=found.problem.todo,
            objects=[Ref.of(other) for other, _ in items],
            commands=found.commands or [f"kubectl -n {Ref.of(pod).namespace} describe pod {Ref.of(pod).name}"],
            details=[*more, *found.details],
            # An init container that waits for the master ends once that runs.
            blocks=found.reason != _INIT_RUNS or len(alike) == 1,
        )


def _trouble(pod: Object, facts: Facts) -> Finding | None:
    notes = facts.known(POD_NOTES).get(pod["metadata"]["uid"], PodNotes())
    if assess_pod(pod).state in {State.READY, State.SKIP}:
        return None
    if own := _init_container(pod, notes) or _configuration(pod) or _ended(pod, notes):
        return own
    if pod.get("status", {}).get("phase") == "Pending" and notes.events and not _waits_for_image(pod, notes):
        node, said = pod["spec"]["nodeName"], notes.events[-1].rstrip(".")
        symptom = recognise(said, "sandbox") or recognise(said, "event")
        cause = f" Cause: {symptom.cause}." if symptom else ""
        return finding(
            symptom.reason if symptom else "NotStarted",
            f"{Ref.of(pod)} is on {node} and has not started: {said}.{cause}",
            needed="volumes, network and Secrets that the node can set up for the pod.",
            todo=symptom.todo if symptom else "fix what the message names.",
            commands=symptom.commands_at(node) if symptom else (),
        )
    issue = fault(pod, facts)
    if issue is None:
        return None
    return finding(
        issue.reason,
        issue.message,
        needed="containers that are running and ready.",
        todo=issue.todo,
        details=notes.log.strip().splitlines()[-_MOST:],
    )


def _lost(pod: Object, nodes: Mapping[str, Object]) -> Finding | None:
    """The pod's node does not exist, or no kubelet works on it."""
    node = nodes.get(pod["spec"]["nodeName"])
    if has_ended(pod):
        return None
    if node is not None and conditions(node).get("Ready", {}).get("status") == "True":
        return None
    name, needed = pod["spec"]["nodeName"], "pods on nodes that are Ready."
    if node is None:
        todo = "remove nodeName from the pod template, or correct it, and recreate the job."
        return finding("NodeMissing", f"the node {name} of {Ref.of(pod)} does not exist.", needed=needed, todo=todo)
    todo = "repair the node, or delete the pod: its controller creates another one."
    return finding("NodeNotReady", f"the node {name} of {Ref.of(pod)} is not Ready.", needed=needed, todo=todo)


def _ended(pod: Object, notes: PodNotes) -> Finding | None:
    """A container that has failed and is about to be restarted."""
    if pod.get("status", {}).get("phase") != "Running":
        return None
    for status in pod["status"].get("containerStatuses") or ():
        end = status.get("state", {}).get("terminated") or {}
        if end.get("exitCode"):
            return _fails(pod, status, end, notes)
    return None


def _fails(pod: Object, status: Object, end: Object, notes: PodNotes, kind: str = "") -> Finding:
    """A container that ends with an error, with what its log says and what is known of that."""
    text = f"{end.get('reason', '')}, exit code {end['exitCode']}"
    line, of_log = last_words(notes.log)
    known = of_log or recognise(text, "exit") or recognise(line, ANYWHERE)
    cause = f" Cause: {known.cause}." if known else ""
    lines = notes.log.strip().splitlines()[-_MOST:]
    return finding(
        "InitContainerFails" if kind else "ContainerFails",
        f"{Ref.of(pod)}: {kind}container {status['name']} ends with exit code {end['exitCode']} "
        f"({counted(status.get('restartCount', 0), 'restart')}).{cause}",
        needed="init containers that end with exit code 0." if kind else "containers that are running and ready.",
        todo=known.todo if known else "read its log.",
        commands=[_log(pod, status), *(known.commands_at(pod["spec"].get("nodeName", "")) if known else ())],
        details=lines if not line or any(line in item for item in lines) else [line, *lines],
    )


def _log(pod: Object, status: Object) -> str:
    """The log of a container as it was when it ended last."""
    previous = "" if status.get("state", {}).get("terminated") else " --previous"
    return f"kubectl -n {Ref.of(pod).namespace} logs {Ref.of(pod).name} -c {status['name']}{previous}"


def _waits_for_image(pod: Object, notes: PodNotes) -> bool:
    """Whether a container waits for its image or its next restart, which the pod's own status explains better."""
    waiting = (item.get("state", {}).get("waiting") or {} for item in pod["status"].get("containerStatuses") or ())
    return "pull" in notes.events[-1].lower() or any(
        item.get("reason") not in {None, "ContainerCreating", "PodInitializing"} for item in waiting
    )


def _init_container(pod: Object, notes: PodNotes) -> Finding | None:
    """The first init container that has not succeeded; all other containers wait for it."""
    for status in pod.get("status", {}).get("initContainerStatuses") or ():
        state = status.get("state", {})
        last = (status.get("lastState") or {}).get("terminated") or state.get("terminated") or {}
        if (state.get("terminated") or {}).get("exitCode") == 0 or (status.get("started") and _is_sidecar(pod, status)):
            continue
        if last.get("exitCode"):
            return _fails(pod, status, last, notes, kind="init ")
        if "running" in state:
            return finding(
                _INIT_RUNS,
                f"{Ref.of(pod)}: init container {status['name']} has been running since "
                f"{state['running'].get('startedAt')}.",
                needed="an init container that ends: the other containers start after it.",
                todo="find what it waits for. An operator's init container waits for the DNS name of the master or "
                "launcher.",
            )
        return None
    return None


def _is_sidecar(pod: Object, status: Object) -> bool:
    return any(
        item["name"] == status["name"] and item.get("restartPolicy") == "Always"
        for item in pod["spec"].get("initContainers") or ()
    )


def _configuration(pod: Object) -> Finding | None:
    for status in pod.get("status", {}).get("containerStatuses") or ():
        waiting = status.get("state", {}).get("waiting") or {}
        if waiting.get("reason") in _NOT_CONFIGURED:
            return finding(
                str(waiting["reason"]),
                f"{Ref.of(pod)}: container {status['name']} cannot be created: {waiting.get('message', 'no message')}.",
                needed="every ConfigMap, Secret and key that the container names.",
                todo="create what is missing, or correct the name in the pod template.",
            )
    return None
