"""The ResourceClaims of a job's pods: do they, their templates and their DeviceClasses exist, and can they be used.

Rules: podResourceClaims and PreFilter of pkg/scheduler/framework/plugins/dynamicresources, and
pkg/controller/resourceclaim of Kubernetes, 1.32 to 1.37. A claim that has devices needs neither its template nor its
classes any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import did_you_mean, few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.dynamic_resources import (
    API,
    TEMPLATES,
    Entry,
    classes_of,
    entries,
    is_allocated,
    ref_of,
    template_spec,
)
from kubeflow_volcano.validators.explain.placement.pod_sets import pod_sets
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES
from kubeflow_volcano.validators.subjects.issues import age

_FAILED = "FailedResourceClaimCreation"
_PATIENCE_SECONDS = 10.0
_MOST_USERS = 256
"""ResourceClaimReservedForMaxSize."""


def names_claims(situation: Situation) -> bool:
    """Whether a pod or a pod template of the job names ResourceClaims."""
    specs = (*(pod["spec"] for pod in situation.pods), *(role.template["spec"] for role in situation.job.roles))
    return any(spec.get("resourceClaims") for spec in specs)


def to_place(situation: Situation) -> tuple[Object, ...]:
    """The pods without a node, and the templates of those that are still to be created."""
    return (*situation.unplaced, *(item.wish.pod for item in pod_sets(situation) if item.example is None))


def device_claims(situation: Situation) -> Iterator[Finding]:
    """Claims, templates and classes that are missing, and claims that no further pod can use."""
    pods = to_place(situation) if names_claims(situation) else ()
    if not any(True for pod in pods for _ in entries(pod)):
        return
    facts, space = situation.facts, situation.job.ref.namespace
    if not facts.read(API):
        yield _not_served(situation)
        return
    found: dict[Ref, Finding] = {}
    for pod in pods:
        for item in entries(pod):
            for each in _troubles(item, pod, situation):
                found.setdefault(each.objects[0], each)
    specs = [spec for pod in pods for item in entries(pod) if (spec := spec_to_allocate(item, space, facts))]
    for name in dict.fromkeys(name for spec in specs for name in classes_of(spec)):
        if facts.get(CLASSES, "", name) is None:
            known = sorted(item["metadata"]["name"] for item in facts.all(CLASSES))
            ref = ref_of("DeviceClass", "", name, facts)
            found[ref] = finding(
                "DeviceClassMissing",
                f"the pods' claims request devices of {ref}, which does not exist.{did_you_mean(name, known)}"
                f"{_words(situation.unplaced)}",
                needed=f"an existing DeviceClass; there are {few(known) if known else 'none'}.",
                todo="install the driver that brings the class, or correct deviceClassName: a claim cannot be changed, "
                "so recreate it.",
                objects=[ref],
                commands=["kubectl get deviceclasses"],
            )
    yield from found.values()


def spec_to_allocate(item: Entry, namespace: str, facts: Facts) -> Object | None:
    """The spec of a claim that still needs devices: its own, or else its template's; None where there is neither."""
    claim = facts.get(CLAIMS, namespace, item.claim) if item.claim else None
    if claim:
        return None if is_allocated(claim) else claim["spec"]
    template = facts.get(TEMPLATES, namespace, item.template) if item.template and not item.claim else None
    return template_spec(template) if template else None


def said_of_claims(pods: Iterable[Object]) -> list[str]:
    """What schedulers say of the claims of these pods, each text once."""
    texts = (
        str(item.get("message") or "")
        for pod in pods
        for item in (pod.get("status") or {}).get("conditions") or ()
        if item.get("type") == "PodScheduled" and item.get("status") != "True"
    )
    return list(dict.fromkeys(text for text in texts if _is_of_claims(text)))


def _is_of_claims(text: str) -> bool:
    low = text.lower().replace(" ", "")
    return any(word in low for word in ("resourceclaim", "deviceclass", "allocateallclaims", "allocatedevices"))


def _words(pods: Iterable[Object]) -> str:
    said = said_of_claims(pods)
    return f" The scheduler says: {few(said, 1)}" if said else ""


def _troubles(item: Entry, pod: Object, situation: Situation) -> Iterator[Finding]:
    """What keeps one claim of a pod from being used, its classes aside."""
    facts, space = situation.facts, situation.job.ref.namespace
    claim = facts.get(CLAIMS, space, item.claim) if item.claim else None
    if item.claim and claim is None:
        ref = ref_of("ResourceClaim", space, item.claim, facts)
        made = f" It was made for the pod from template {item.template}." if item.template else ""
        yield finding(
            "DeviceClaimMissing",
            f"{ref} does not exist.{made}{_words([pod])}",
            needed="every ResourceClaim that the pods name.",
            todo="delete the pod: its job makes another one, with a claim of its own."
            if item.template
            else "create the claim, or correct resourceClaimName in the pod template.",
            objects=[ref],
            commands=[f"kubectl -n {space} get resourceclaims"],
        )
    elif claim:
        yield from _unusable(claim, pod)
    elif facts.get(TEMPLATES, space, item.template) is None:
        known = sorted(each["metadata"]["name"] for each in facts.all(TEMPLATES))
        ref = ref_of("ResourceClaimTemplate", space, item.template, facts)
        yield finding(
            "DeviceTemplateMissing",
            f"{ref} does not exist.{did_you_mean(item.template, known)}{_words([pod])}",
            needed="the template in the namespace of the pods, from which each pod's claim is made.",
            todo="create the template, or correct resourceClaimTemplateName in the pod template.",
            objects=[ref],
            commands=[f"kubectl -n {space} get resourceclaimtemplates"],
        )
    elif found := _not_made(item, pod, situation):
        yield found


def _unusable(claim: Object, pod: Object) -> Iterator[Finding]:
    ref, users = Ref.of(claim), (claim.get("status") or {}).get("reservedFor") or ()
    if "deletionTimestamp" in claim["metadata"]:
        yield finding(
            "DeviceClaimDeleted",
            f"{ref} is being deleted: {len(users)} pods still have it, and no other pod gets it.{_words([pod])}",
            needed="a claim that is not being deleted.",
            todo="wait until the pods that have it end, then create it again.",
            objects=[ref],
        )
    elif len(users) >= _MOST_USERS and pod["metadata"].get("uid") not in {item.get("uid") for item in users}:
        yield finding(
            "DeviceClaimFull",
            f"{ref} is reserved for {len(users)} pods, the most that a claim can have.",
            needed=f"a claim that fewer than {_MOST_USERS} pods use.",
            todo="give the job a claim of its own, by resourceClaimTemplateName for instance.",
            objects=[ref],
        )


def _not_made(item: Entry, pod: Object, situation: Situation) -> Finding | None:
    """That nothing makes the claim of an existing pod from its template."""
    # The claims of a group are made for that. A pod that a dry run returned has a UID, too.
    exists = any(pod["metadata"].get("uid") == each["metadata"]["uid"] for each in situation.unplaced)
    if not exists or "schedulingGroup" in pod["spec"]:
        return None
    ref = Ref.of(pod)
    events = [each.message for each in situation.events if each.ref == ref and each.reason == _FAILED]
    if not events and age(pod, situation.facts) < _PATIENCE_SECONDS:
        return None
    why = f": {events[-1]}" if events else f" for {age(pod, situation.facts):.0f} s."
    return finding(
        "DeviceClaimNotMade",
        f"no ResourceClaim was made from template {item.template} for {ref}{why}",
        needed="a claim for the pod, which the controller manager makes.",
        todo="correct what the message names, such as a quota or the template."
        if events
        else "see whether kube-controller-manager runs, with the feature gate DynamicResourceAllocation.",
        objects=[ref],
        commands=[f"kubectl -n {ref.namespace} describe pod {ref.name}"],
    )


def _not_served(situation: Situation) -> Finding:
    """Without the API the server drops the field from pods, and with it the devices."""
    return finding(
        "DevicesNotServed",
        "the pods name resourceClaims, and the API server serves resource.k8s.io in no version from v1beta1 on: it "
        "leaves the field out of pods that it creates, or has an alpha version, which is not judged here.",
        needed="Kubernetes 1.34, or 1.32 with the API and the feature gate DynamicResourceAllocation switched on.",
        todo="request the devices as resources of a device plugin (nvidia.com/gpu), or upgrade the cluster.",
        objects=[situation.job.ref],
        commands=["kubectl api-versions"],
        blocks=bool([pod for pod in situation.unplaced if pod["spec"].get("resourceClaims")]),
    )
