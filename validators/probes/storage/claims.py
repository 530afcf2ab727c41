"""Claims of probes: they cannot be bound to existing volumes, and are deleted together with their volume."""

from __future__ import annotations

import contextlib

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.readiness import State, assess_pod
from kubeflow_volcano.experiment.ended import NO_EVENT, warnings_about
from kubeflow_volcano.experiment.session import Session
from kubeflow_volcano.experiment.volumes import helpers_of, let_go, volume_of
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import STORAGE_CLASSES, VOLUMES
from kubeflow_volcano.validators.subjects.storage_classes import STATIC, serving_workloads, without_replicas

SIZE = "64Mi"
STARTING = ("pull", "sandbox", "create")
"""Where messages about pods that do not start are seen."""


def unsafe(storage_class: str, facts: Facts) -> str:
    """Why a probe may not, or need not, claim from this class; empty when it may.

    The binder prefers a volume that is there over a new one, and a volume that a probe has used is Released: what is
    free in a class would be lost to the people it was made for.
    """
    if not storage_class:
        return "the claim names no class, so only a volume made by hand can be bound to it"
    found = facts.get(STORAGE_CLASSES, "", storage_class)
    if found is None:
        return f"StorageClass {storage_class} does not exist"
    if found["provisioner"] == STATIC:
        return f"StorageClass {storage_class} has no provisioner: a probe's claim would take a volume made by hand"
    if idle := without_replicas(facts, found["provisioner"]):
        return f"{idle}, which provisions for class {storage_class}, has no pod that is available"
    for volume in facts.objects.get(VOLUMES, ()):
        free = volume.get("status", {}).get("phase") == "Available" and not volume["spec"].get("claimRef")
        if free and volume["spec"].get("storageClassName") == storage_class:
            name = volume["metadata"]["name"]
            return f"PersistentVolume {name} of class {storage_class} is free, and a probe's claim would take it"
    return ""


def claim(session: Session, namespace: str, name: str, storage_class: str, access_modes: tuple[str, ...]) -> Object:
    """Create a claim; without a class name the server fills in the default one.

    Raises:
        ProbeRefused: it is not admitted.
    """
    spec: dict[str, object] = {"accessModes": list(access_modes), "resources": {"requests": {"storage": SIZE}}}
    if storage_class:
        spec["storageClassName"] = storage_class
    return session.create(new_object("v1", "PersistentVolumeClaim", name, namespace, spec=spec))


def release(session: Session, made: Object) -> Object | None:
    """Give a probe's claim back, and its volume with it; returns the volume, whose end the session waits for.

    Raises:
        ProbeRefused: the claim may not be removed.
        ApiError: the volume may not be read or changed.
    """
    live = session.cluster.get(Ref.of(made))
    volume = volume_of(session.cluster, live) if live else None
    if volume:
        session.adopt(volume)
        let_go(session.cluster, volume)
    session.delete(made)
    return volume


def _obstacle(session: Session, facts: Facts, made: Object) -> str:
    """Why a probe's claim has no volume yet: the pods of its provisioner that failed, and events about the claim."""
    meta = made["metadata"]
    name = made["spec"].get("storageClassName", "")
    provisioner = (facts.get(STORAGE_CLASSES, "", name) or {}).get("provisioner", "")
    said: list[str] = []
    for namespace in sorted({ref.namespace for ref in serving_workloads(facts, provisioner)}):
        with contextlib.suppress(ApiError):
            said += [_ended(session, pod) for pod in helpers_of(session.cluster, {meta["uid"]}, namespace)]
            said += _of_helpers(session, meta["uid"], namespace)
    said += warnings_about(session, meta["namespace"], meta["uid"])
    return "; ".join(dict.fromkeys(filter(None, said)))


def because_of(session: Session, facts: Facts, made: Object, failure: str) -> str:
    """What kept a pod with this claim from running, and what keeps the claim from having a volume."""
    obstacle = _obstacle(session, facts, made)
    return (
        f"{failure.removesuffix(NO_EVENT)}{'' if failure.endswith(NO_EVENT) else '; '}{obstacle}"
        if obstacle
        else failure
    )


def _of_helpers(session: Session, uid: str, namespace: str) -> list[str]:
    """What the kubelet cannot pull, mount or start for the pods of a provisioner for this claim, which it removes."""
    about = "type=Warning,involvedObject.kind=Pod"
    events = session.cluster.list("v1", "Event", namespace=namespace, fields=about).items
    said = (item.get("message", "") for item in events if uid in item["involvedObject"].get("name", ""))
    known = [text for text in dict.fromkeys(said) if any(recognise(text, place) for place in STARTING)]
    return [f"the provisioner's pod in {namespace}: {text}" for text in known]


def _ended(session: Session, pod: Object) -> str:
    """How a pod of the provisioner failed, with the last line of its log; empty if it did not."""
    state = assess_pod(pod)
    if state.state is not State.FAILED:
        return ""
    meta = pod["metadata"]
    log = ""
    with contextlib.suppress(ApiError):
        log = session.cluster.logs(meta["namespace"], meta["name"], pod["spec"]["containers"][0]["name"], tail=5)
    last = log.strip().rpartition("\n")[2]
    return state.message.rstrip(".") + (f", last line of its log: {last}" if last else "")
