"""Claims that Volcano counts as a resource of queues which no node offers, so that it never places their pods.

Rules, of v1.8.2 to v1.15.1: getPodCSIVolumes of pkg/scheduler/cache/event_handlers.go adds to what a pod requests one
`attachable-volumes-csi-DRIVER` for each claim; the driver of a claim without a volume is the provisioner of its class,
whatever that is. Nodes offer it by their CSINode only. AllocatableFn of the plugins proportion and capacity compares
what a pod requests with what all nodes offer. The flag --ignored-provisioners leaves provisioners out.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.explain.model import VOLCANO, Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.claims import claim_names
from kubeflow_volcano.validators.explain.scheduling.volcano import older, plugins
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import flags, version
from kubeflow_volcano.validators.subjects.storage_classes import effective_class

CSI_NODES = "csinodes.storage.k8s.io"
_CLASSES = "storageclasses.storage.k8s.io"
_DRIVER = "csi.storage.k8s.io/csi-driver-name"
_FLAG = "--ignored-provisioners"
_ALWAYS_IGNORED = frozenset({"rancher.io/local-path", "hostpath.csi.k8s.io"})
_SINCE = "1.8.2"


def attachments(situation: Situation) -> Iterator[Finding]:
    """Claims of a driver that no CSINode names, where a plugin of queues counts them."""
    facts, place = situation.facts, situation.facts.expectations.scheduler
    pods = [pod for pod in situation.unplaced if pod["spec"].get("schedulerName") == VOLCANO]
    if not pods or not plugins(facts).keys() & {"proportion", "capacity"} or older(version(facts), _SINCE):
        return
    ignored = {*_ALWAYS_IGNORED, *flags(facts).get(_FLAG, "").split(",")}
    offered = {item["name"] for node in facts.all(CSI_NODES) for item in node.get("spec", {}).get("drivers") or ()}
    namespace = situation.job.ref.namespace
    counted = {
        name: driver
        for pod in pods
        for name in claim_names(pod)
        if (claim := facts.get("persistentvolumeclaims", namespace, name))
        and (driver := _driver(claim, situation))
        and driver not in ignored | offered
    }
    if counted:
        drivers = ",".join(sorted({*counted.values()}))
        yield finding(
            "ClaimCounted",
            f"Volcano counts claim {', '.join(counted)} as attachable-volumes-csi-{drivers}, which no node offers: no "
            f"CSINode names the driver {drivers}, so the queue has none to give, and the pods never get a node.",
            needed="a driver that registers at the nodes, or a scheduler that does not count its claims.",
            todo=f"start the scheduler with {_FLAG}={drivers}, where the driver works without registering at nodes; or "
            "install its node part; or have the claims bound before, to a volume that is not of CSI.",
            objects=[Ref("v1", "PersistentVolumeClaim", namespace, name) for name in counted],
            commands=[
                "kubectl get csinodes -o custom-columns='NODE:.metadata.name,DRIVERS:.spec.drivers[*].name'",
                f"kubectl -n {place.namespace} get deployment {place.name} -o yaml",
            ],
        )


def _driver(claim: Object, situation: Situation) -> str:
    """The driver that Volcano counts the claim for; empty where it counts none."""
    facts = situation.facts
    volume = facts.get("persistentvolumes", "", claim["spec"].get("volumeName") or "")
    if volume:
        return str((volume["spec"].get("csi") or {}).get("driver") or "")
    name = claim["spec"].get("storageClassName")
    chosen = facts.get(_CLASSES, "", effective_class(facts) if name is None else name) or {}
    return str((chosen.get("parameters") or {}).get(_DRIVER) or chosen.get("provisioner") or "")
