"""What is on a cluster after a test that was not there before: by UID, without what controllers replace."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref
from tests.waiting import at_last

_KINDS = (
    ("v1", "Namespace"),
    ("v1", "Node"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "ServiceAccount"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ResourceQuota"),
    ("v1", "LimitRange"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "PersistentVolume"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("scheduling.volcano.sh/v1beta1", "Queue"),
    ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ("kubeflow.org/v1", "TFJob"),
)
_PATIENCE_SECONDS = 30.0


def inventory(cluster: Cluster) -> Mapping[str, Object]:
    """Everything of the kinds that are looked at, by UID."""
    return {
        item["metadata"]["uid"]: item
        for version, kind in _KINDS
        if kind in cluster.kinds(version)
        for item in cluster.list(version, kind).items
    }


def appeared(cluster: Cluster, before: Mapping[str, Object]) -> list[str]:
    """Address and UID of what is new half a minute later, still.

    An object under an old name was made again on purpose, and one whose owner was there is a controller's.
    """
    names = {Ref.of(item) for item in before.values()}
    return at_last(lambda: _new(inventory(cluster), before, names), [], _PATIENCE_SECONDS)


def _new(now: Mapping[str, Object], before: Mapping[str, Object], names: set[Ref]) -> list[str]:
    def excused(item: Object) -> bool:
        owners = [owner["uid"] for owner in item["metadata"].get("ownerReferences") or ()]
        return Ref.of(item) in names or any(uid in before or (uid in now and excused(now[uid])) for uid in owners)

    return [f"{Ref.of(item)} {uid}" for uid, item in now.items() if uid not in before and not excused(item)]
