"""The claims that a job's pods mount: are they there, bound, and from which nodes can they be reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.cluster.objects import Object, Ref
from validators.core.facts import Facts
from validators.explain.model import Event, Finding, Situation, finding
from validators.subjects.storage_classes import default_classes

__all__ = ["claims", "missing", "reach"]

_CLAIMS = "persistentvolumeclaims"
_CLASSES = "storageclasses.storage.k8s.io"


def claims(situation: Situation) -> Iterator[Finding]:
    """Claims that are missing, lost, or wait for somebody who will not come."""
    namespace = situation.job.ref.namespace
    pods = [*situation.unplaced, *({"spec": role.template["spec"]} for role in situation.job.roles)]
    names = dict.fromkeys(name for pod in pods for name in _names(pod))
    for name in names:
        ref = Ref("v1", "PersistentVolumeClaim", namespace, name)
        claim = situation.facts.get(_CLAIMS, namespace, name)
        if claim is None:
            yield finding(
                "ClaimMissing",
                f"{ref} does not exist.",
                needed="every claim that the pods mount.",
                todo="make the claim, or correct claimName in the pod template.",
                objects=[ref],
            )
        elif found := _trouble(claim, situation):
            yield found


def reach(pod: Object, facts: Facts) -> tuple[tuple[str, Sequence[Object]], ...]:
    """Claim and node selector terms of each bound volume that not every node reaches."""
    namespace = pod["metadata"].get("namespace", "")
    found = ((name, facts.get(_CLAIMS, namespace, name)) for name in _names(pod))
    volumes = (
        (name, facts.get("persistentvolumes", "", claim["spec"]["volumeName"]))
        for name, claim in found
        if claim and claim["spec"].get("volumeName")
    )
    required = (
        (name, ((volume or {}).get("spec", {}).get("nodeAffinity") or {}).get("required")) for name, volume in volumes
    )
    return tuple((name, terms["nodeSelectorTerms"]) for name, terms in required if terms)


def missing(pod: Object, facts: Facts) -> list[str]:
    """Claims that the pod mounts and that do not exist."""
    return [name for name in _names(pod) if facts.get(_CLAIMS, pod["metadata"]["namespace"], name) is None]


def _names(pod: Object) -> list[str]:
    """Claims that the pod mounts; one that is made for it is named after it."""
    found = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            found.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume and pod.get("metadata", {}).get("name"):
            found.append(f"{pod['metadata']['name']}-{volume['name']}")
    return found


def _trouble(claim: Object, situation: Situation) -> Finding | None:
    ref = Ref.of(claim)
    phase = claim.get("status", {}).get("phase")
    if phase == "Bound":
        return None
    if phase == "Lost":
        return finding(
            "ClaimLost",
            f"{ref} has lost its volume {claim['spec'].get('volumeName', '')}.",
            needed="a claim whose volume exists.",
            todo="restore the volume, or make the claim anew: its data are gone.",
            objects=[ref],
        )
    name = claim["spec"].get("storageClassName")
    if name is None:
        name = next(iter(default_classes(situation.facts)), None)
        if name is None:
            return finding(
                "NoDefaultClass",
                f"{ref} names no storage class, and no class is the default.",
                needed="a class for the claim, or one that is marked as default.",
                todo="name a class in the claim, or mark one as default.",
                objects=[ref],
            )
    found = situation.facts.get(_CLASSES, "", name) if name else None
    if name and found is None:
        known = ", ".join(sorted(item["metadata"]["name"] for item in situation.facts.all(_CLASSES)))
        return finding(
            "ClassMissing",
            f"{ref} asks for the storage class {name}, which does not exist.",
            needed=f"a class of that name; there are {known or 'none'}.",
            todo="make the class, or make the claim anew with one that exists.",
            objects=[ref],
        )
    # It is bound when its pod is placed.
    if (found or {}).get("volumeBindingMode") == "WaitForFirstConsumer" and not _said(ref, situation.events):
        return None
    told = _said(ref, situation.events)
    return finding(
        "ClaimUnbound",
        f"{ref} is {phase or 'not bound'}{': ' + told if told else ''}.",
        needed="a volume for the claim before its pod can be placed.",
        todo=f"see the provisioner of class {name}." if name else "make a PersistentVolume that fits the claim.",
        objects=[ref],
        commands=[f"kubectl -n {ref.namespace} describe pvc {ref.name}"],
    )


def _said(ref: Ref, events: Sequence[Event]) -> str:
    return next((item.message.rstrip(".") for item in reversed(events) if item.ref == ref), "")
