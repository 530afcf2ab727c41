"""The claims that a job's pods mount: do they exist, are they bound, and which nodes can reach their volumes.

Rules: pkg/controller/volume/persistentvolume and pkg/scheduler/framework/plugins/volumebinding of Kubernetes, v1.22 to
v1.37. A claim of a class without an object is bound to a volume of that class, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.node_affinity import terms_match, terms_text
from kubeflow_volcano.validators.subjects.storage_classes import effective_class

_CLAIMS = "persistentvolumeclaims"
_CLASSES = "storageclasses.storage.k8s.io"
_BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
_BOUND_LATE = "WaitForFirstConsumer"


def claims(situation: Situation) -> Iterator[Finding]:
    """Claims that are missing, lost, or not going to be bound."""
    namespace = situation.job.ref.namespace
    pods = [*situation.unplaced, *({"spec": role.template["spec"]} for role in situation.job.roles)]
    names = dict.fromkeys(name for pod in pods for name in claim_names(pod))
    for name in names:
        ref = Ref("v1", "PersistentVolumeClaim", namespace, name)
        claim = situation.facts.get(_CLAIMS, namespace, name)
        if claim is None:
            yield finding(
                "ClaimMissing",
                f"{ref} does not exist.",
                needed="every claim that the pods mount.",
                todo="create the claim, or correct claimName in the pod template.",
                objects=[ref],
            )
        elif found := _trouble(claim, situation):
            yield found


def volume_terms(pod: Object, facts: Facts) -> tuple[tuple[str, Sequence[Object]], ...]:
    """Claim and node selector terms of each bound volume that only some nodes can reach."""
    namespace = pod["metadata"].get("namespace", "")
    claims = ((name, facts.get(_CLAIMS, namespace, name)) for name in claim_names(pod))
    volumes = (
        (name, facts.get("persistentvolumes", "", claim["spec"]["volumeName"]))
        for name, claim in claims
        if claim and claim["spec"].get("volumeName")
    )
    required = (
        (name, ((volume or {}).get("spec", {}).get("nodeAffinity") or {}).get("required")) for name, volume in volumes
    )
    return tuple((name, terms["nodeSelectorTerms"]) for name, terms in required if terms)


def unbound_claims(pod: Object, facts: Facts) -> tuple[str, ...]:
    """Claims of the pod that are bound when the first pod that mounts them is placed, on its node.

    Rule: FindPodVolumes holds other pods to that node until the claim is bound, which a gang is not before all its pods
    have a node (AllocateVolumes in a statement of Volcano v1.8.0 to v1.11, plugin predicates' Reserve up to v1.15.1).
    """
    namespace = pod["metadata"].get("namespace", "")
    claims = ((name, facts.get(_CLAIMS, namespace, name)) for name in claim_names(pod))
    return tuple(name for name, claim in claims if claim and _waits_for_consumer(claim, facts))


def _waits_for_consumer(claim: Object, facts: Facts) -> bool:
    name = _class_of(claim)
    storage_class = facts.get(_CLASSES, "", effective_class(facts) if name is None else name)
    return not claim["spec"].get("volumeName") and (storage_class or {}).get("volumeBindingMode") == _BOUND_LATE


def _class_of(claim: Object) -> str | None:
    """The class that it names; None without one (GetPersistentVolumeClaimClass of component-helpers/storage/volume)."""
    by_annotation: str | None = (claim["metadata"].get("annotations") or {}).get(_BETA_CLASS)
    return claim["spec"].get("storageClassName") if by_annotation is None else by_annotation


def missing_claims(pod: Object, facts: Facts) -> list[str]:
    """Claims that the pod mounts and that do not exist."""
    return [name for name in claim_names(pod) if facts.get(_CLAIMS, pod["metadata"]["namespace"], name) is None]


def claim_names(pod: Object) -> list[str]:
    """Names of the claims that the pod mounts; a generic ephemeral volume's claim has the pod's name in it."""
    names = []
    for volume in pod["spec"].get("volumes") or ():
        if "persistentVolumeClaim" in volume:
            names.append(volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume and pod.get("metadata", {}).get("name"):
            names.append(f"{pod['metadata']['name']}-{volume['name']}")
    return names


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
            todo="restore the volume, or recreate the claim, which starts empty.",
            objects=[ref],
        )
    name = _class_of(claim)
    if name is None:
        name = effective_class(situation.facts) or None
        if name is None:
            return finding(
                "NoDefaultClass",
                f"{ref} names no StorageClass, and none is the default.",
                needed="a StorageClass for the claim, or a default one.",
                todo="name a class in the claim, or mark a class as default.",
                objects=[ref],
            )
    storage_class = situation.facts.get(_CLASSES, "", name) if name else None
    if name and storage_class is None:
        known = ", ".join(sorted(item["metadata"]["name"] for item in situation.facts.all(_CLASSES)))
        return finding(
            "ClassMissing",
            f"{ref} names the StorageClass {name}, which does not exist.",
            needed=f"an existing StorageClass; there are {known or 'none'}.",
            todo="create the class or a PersistentVolume of that class, or recreate the claim with an existing one.",
            objects=[ref],
        )
    message = next((item.message.rstrip(".") for item in reversed(situation.events) if item.ref == ref), "")
    if storage_class and storage_class.get("volumeBindingMode") == _BOUND_LATE and not message:
        return _without_node(ref, storage_class, situation)  # else it is bound when its pod is placed
    return finding(
        "ClaimUnbound",
        f"{ref} is {phase or 'not bound'}{': ' + message if message else ''}.",
        needed="a volume for the claim before its pod can be placed.",
        todo=f"check the provisioner of class {name}." if name else "create a PersistentVolume that matches the claim.",
        objects=[ref],
        commands=[f"kubectl -n {ref.namespace} describe pvc {ref.name}"],
    )


def _without_node(ref: Ref, storage_class: Object, situation: Situation) -> Finding | None:
    """That no node is in the topologies of the claim's class; terms are alternatives, their expressions are not.

    Rule: checkVolumeProvisions of pkg/scheduler/framework/plugins/volumebinding, MatchTopologySelectorTerms; it is for
    claims that no volume matches which exists already.
    """
    terms = [
        {"matchExpressions": [{**item, "operator": "In"} for item in term.get("matchLabelExpressions") or ()]}
        for term in storage_class.get("allowedTopologies") or ()
    ]
    if not terms or any(terms_match(terms, node) for node in situation.facts.all("nodes")):
        return None
    name = storage_class["metadata"]["name"]
    for volume in situation.facts.all("persistentvolumes"):
        if volume["spec"].get("storageClassName") == name and volume.get("status", {}).get("phase") == "Available":
            return None
    return finding(
        "NoNodeOfTopology",
        f"StorageClass {name} of {ref} makes volumes for nodes with {terms_text(terms)} only, and no node has them.",
        needed="a node in one of allowedTopologies.",
        todo="correct allowedTopologies by recreating the class, label the nodes, or use another class.",
        objects=[ref, Ref("storage.k8s.io/v1", "StorageClass", "", name)],
        commands=["kubectl get nodes --show-labels"],
    )
