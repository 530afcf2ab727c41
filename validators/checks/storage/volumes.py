"""Family D, what is there already: claims, their volumes, and whether those who use them may write."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Object, Ref, has_ended
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status
from kubeflow_volcano.validators.core.resources import CLAIMS, NAMESPACES, PODS, STORAGE_CLASSES, VOLUMES
from kubeflow_volcano.validators.subjects import pods
from kubeflow_volcano.validators.subjects.issues import Issue, age, judged, verdict
from kubeflow_volcano.validators.subjects.ownership import as_owned

_SELECTED_NODE = "volume.kubernetes.io/selected-node"


@check(
    "D3",
    "claims-bound",
    severity=Severity.MAJOR,
    requires=("D2",),
    reads=(STORAGE_CLASSES, CLAIMS, VOLUMES, PODS, NAMESPACES),
)
def claims_bound(facts: Facts) -> Outcome:
    """Every claim is bound to a volume that is bound to it.

    A claim whose class uses WaitForFirstConsumer may be Pending while no pod uses it. Otherwise see the provisioner
    (D2) and the claim's events.
    """
    claims = [item for item in judged(facts, CLAIMS) if "deletionTimestamp" not in item["metadata"]]
    issues = [as_owned(issue, item, facts) for item in claims if (issue := _claim(item, facts))]
    refs = [Ref.of(item) for item in claims]
    bound = sum(item.get("status", {}).get("phase") == "Bound" for item in claims)
    young = " The others are too young to tell." if bound < len(refs) else ""
    return verdict(issues, refs, claim=f"{bound} of {len(refs)} claims are bound.{young}", expected="phase Bound")


@check("D4", "volumes-sound", severity=Severity.MAJOR, reads=(VOLUMES, NAMESPACES))
def volumes_sound(facts: Facts) -> Outcome:
    """No volume has failed, and no volume of the release is Released.

    The message of a failed volume says why it could not be deleted or recycled. A Released volume holds the data of an
    earlier installation: no new claim is bound to it. Save its data, then delete it, or remove `spec.claimRef.uid` so
    that the next claim of that name is bound to it.
    """
    volumes = list(judged(facts, VOLUMES))
    issues = [issue for item in volumes if (issue := _volume(item, facts))]
    refs = [Ref.of(item) for item in volumes]
    return verdict(issues, refs, claim=f"none of {len(refs)} volumes has failed.", expected="Bound or Available")


def _volume(item: Object, facts: Facts) -> Issue | None:
    ref, status = Ref.of(item), item.get("status", {})
    claim = item["spec"].get("claimRef") or {}
    whose = f"{claim.get('namespace', '')}/{claim.get('name', '')}"
    if status.get("phase") == "Failed":
        text = f"{ref} of claim {whose} has failed: {status.get('message') or status.get('reason') or 'no message'}."
        todo = "correct what its message names, then delete the volume."
        issue = Issue("D4", Status.FAIL, ref, "Failed", text, todo)
        meta = {"namespace": claim.get("namespace", ""), "name": claim.get("name", "")}
        return as_owned(issue, {"apiVersion": CLAIMS.api_version, "kind": CLAIMS.kind, "metadata": meta}, facts)
    kept = status.get("phase") == "Released" and item["spec"].get("persistentVolumeReclaimPolicy") == "Retain"
    if kept and claim.get("namespace") in facts.expectations.homes:
        text = f"{ref} is kept with what the former claim {whose} wrote."
        todo = "save what is in it, then delete it, or give it to the next claim by removing its spec.claimRef.uid."
        return Issue("D4", Status.WARN, ref, "Kept", text, todo)
    return None


def _claim(item: Object, facts: Facts) -> Issue | None:
    ref, phase = Ref.of(item), item.get("status", {}).get("phase", "Pending")
    if phase == "Bound":
        return _bound_back(item, ref, facts)
    if phase == "Lost":
        text = f"{ref} has lost its volume {item['spec'].get('volumeName', '')}."
        return Issue("D3", Status.FAIL, ref, "Lost", text, "restore the volume, or recreate the claim.")
    name = item["spec"].get("storageClassName") or ""
    storage_class = facts.get(STORAGE_CLASSES, "", name) if name else None
    users = [pod for pod in judged(facts, PODS) if _mounts(pod, ref)]
    if storage_class and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
        return _waits_for_consumer(item, ref, users)
    if age(item, facts) <= facts.timing.grace_seconds:
        return None
    text = (
        f"{ref} is {phase} for {age(item, facts):.0f} s, class {name or 'none'}{'' if storage_class else ' (missing)'}."
    )
    return Issue("D3", Status.FAIL, ref, "NotBound", text, "see the claim's events.")


def _waits_for_consumer(item: Object, ref: Ref, users: Iterable[Object]) -> Issue | None:
    placed = (item["metadata"].get("annotations") or {}).get(_SELECTED_NODE)
    waiting = [pod["metadata"]["name"] for pod in users if not pods.waits_for_gang(pod)]
    if not waiting:
        text = f"{ref} waits for its first consumer, and no pod uses it."
        return Issue("D3", Status.WARN, ref, "Unused", text, "delete the claim if it is not needed.")
    where = f"node {placed} is chosen" if placed else "no node is chosen"
    text = f"{ref} is not bound although pod {waiting[0]} waits for it; {where}."
    # Without a node the scheduler is at work, and the pod's own check has its reasons.
    because = () if placed else ("C8",)
    return Issue("D3", Status.FAIL, ref, "NotBound", text, "see the claim's events.", because)


def _bound_back(item: Object, ref: Ref, facts: Facts) -> Issue | None:
    name = item["spec"].get("volumeName", "")
    volume = facts.get(VOLUMES, "", name)
    if volume and (volume["spec"].get("claimRef") or {}).get("uid") == item["metadata"]["uid"]:
        return None
    text = f"{ref} says that it is bound to volume {name}, which {'is bound to another' if volume else 'is missing'}."
    return Issue("D3", Status.FAIL, ref, "NotBoundBack", text, "restore the volume, or recreate the claim.")


def _mounts(pod: Object, claim: Ref) -> bool:
    if pod["metadata"]["namespace"] != claim.namespace or has_ended(pod):
        return False
    sources = (item.get("persistentVolumeClaim") or {} for item in pod["spec"].get("volumes") or ())
    return any(source.get("claimName") == claim.name for source in sources)
