"""Which kinds an explanation lists, the permission for each list, and the remedy where it is denied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from types import MappingProxyType

from kubeflow_volcano.catalog.gangs import KUBERNETES, SCHEDULER_PLUGINS
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError, NotServed
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Unread
from kubeflow_volcano.validators.core.resources import CLUSTER_RUNTIMES, RESOURCES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.explain.kinds import JOBSETS, RUNTIMES
from kubeflow_volcano.validators.explain.placement.dynamic_resources import TEMPLATES
from kubeflow_volcano.validators.explain.scheduling import kueue
from kubeflow_volcano.validators.explain.scheduling.attachments import CSI_NODES
from kubeflow_volcano.validators.explain.scheduling.topology import API as HYPERNODE_API
from kubeflow_volcano.validators.explain.scheduling.topology import HYPERNODES
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES, SLICES, VERSIONS
from kubeflow_volcano.validators.reading.permissions import as_yaml
from kubeflow_volcano.validators.subjects import webhooks

_OWN = {
    JOBSETS: ("jobset.x-k8s.io/v1alpha2", "JobSet"),
    RUNTIMES: ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"),
    CSI_NODES: ("storage.k8s.io/v1", "CSINode"),
    CLAIMS: (VERSIONS[0], "ResourceClaim"),
    TEMPLATES: (VERSIONS[0], "ResourceClaimTemplate"),
    CLASSES: (VERSIONS[0], "DeviceClass"),
    SLICES: (VERSIONS[0], "ResourceSlice"),
    HYPERNODES: (HYPERNODE_API, "HyperNode"),
    "events": ("v1", "Event"),
    "limitranges": ("v1", "LimitRange"),
    "priorityclasses.scheduling.k8s.io": ("scheduling.k8s.io/v1", "PriorityClass"),
    "resourcequotas": ("v1", "ResourceQuota"),
    "serviceaccounts": ("v1", "ServiceAccount"),
    SCHEDULER_PLUGINS.podgroups: SCHEDULER_PLUGINS.podgroup,
    KUBERNETES.podgroups: KUBERNETES.podgroup,
    **kueue.KINDS,
}
"""Kinds that only explanations read."""
_LISTED = (
    *("configmaps", "deployments.apps", "jobs.batch", "nodes", "persistentvolumeclaims", "persistentvolumes"),
    *("podgroups.scheduling.volcano.sh", "pods", "queues.scheduling.volcano.sh", "storageclasses.storage.k8s.io"),
    *("namespaces", "services", "endpointslices.discovery.k8s.io", *webhooks.RESOURCES.values()),
    CLUSTER_RUNTIMES,
)
KINDS_READ: Mapping[str, tuple[str, str]] = MappingProxyType(
    {**_OWN, **{name: (RESOURCES[name].api_version, RESOURCES[name].kind) for name in _LISTED}}
)
"""Every kind that is listed, as `plural.group`, to its apiVersion and kind."""


@dataclass(frozen=True, slots=True)
class Query:
    """One list: of a kind, in one namespace or all of them, optionally by labels."""

    resource: str
    namespace: str = ""
    labels: str = ""
    version: str = ""
    """The apiVersion, where it is another one than that of `KINDS_READ`."""

    @property
    def rule(self) -> Rule:
        """The permission that it needs."""
        plural, _, group = self.resource.partition(".")
        return Rule("list", group, plural, self.namespace)

    @property
    def kind(self) -> tuple[str, str]:
        """Its apiVersion and kind."""
        version, kind = KINDS_READ[self.resource]
        return self.version or version, kind


def newest_served(cluster: Cluster, versions: Sequence[str], kind: str) -> tuple[str, frozenset[str]]:
    """The first of these API versions with the kind, and all kinds that it serves; empty where none has it."""
    served = ((version, frozenset(cluster.kinds(version))) for version in versions)
    return next((found for found in served if kind in found[1]), ("", frozenset()))


def list_objects(cluster: Cluster, query: Query) -> tuple[Object, ...] | Unread:
    """The objects, none of a kind that is not served; or why they could not be read."""
    try:
        return cluster.list(*query.kind, namespace=query.namespace, labels=query.labels).items
    except NotServed:
        return ()
    except ApiError as error:
        return refusal(error, query.rule, query.resource)


def read_one(cluster: Cluster, ref: Ref, rule: Rule) -> tuple[Object, ...] | Unread:
    """The object, or nothing where it does not exist; or why it could not be read."""
    try:
        live = cluster.get(ref)
    except ApiError as error:
        return refusal(error, rule, str(ref))
    return (live,) if live else ()


def refusal(error: ApiError, rule: Rule, what: str) -> Unread:
    """Why `what` could not be read, and the permission to grant where it was denied."""
    if error.status in {HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED}:
        where = f"in namespace {rule.namespace}" if rule.namespace else "in all namespaces"
        todo = f"grant this permission {where}:\n{as_yaml((replace(rule, namespace=''),))}"
        return Unread("Forbidden", f"you may not {rule}.", todo)
    return Unread("Unreachable", f"{what} could not be read: {error}", "run the command again.")
