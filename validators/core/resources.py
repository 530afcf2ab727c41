"""The kinds of objects that a snapshot may hold."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

from kubeflow_volcano.cluster.objects import group_of
from kubeflow_volcano.validators.core.rights import VOLCANO_HOME, Rule


class Resource(str):
    """A kind of objects, named as kubectl names it: plural and group, such as `deployments.apps`.

    `api_version` and `kind` are the API server's names for it. Only objects in `namespace` are read, where one is
    named. A `steady` kind is changed by people and installers only, so that it may be read while pods are watched.
    """

    __slots__ = ("api_version", "kind", "namespace", "needs", "steady")

    api_version: str
    kind: str
    namespace: str
    steady: bool
    needs: tuple[Rule, ...]
    """What the caller must be allowed to do to read it."""

    def __new__(cls, api_version: str, kind: str, plural: str, *, namespace: str = "", steady: bool = False) -> Self:
        """One kind of the API version `api_version`."""
        rule = Rule("list", group_of(api_version), plural, namespace)
        resource = super().__new__(cls, rule.plural_group)
        resource.api_version, resource.kind, resource.namespace, resource.steady = api_version, kind, namespace, steady
        resource.needs = (rule,)
        return resource


APISERVICES = Resource("apiregistration.k8s.io/v1", "APIService", "apiservices", steady=True)
AUTHORIZATION_POLICIES = Resource(
    "security.istio.io/v1beta1", "AuthorizationPolicy", "authorizationpolicies", steady=True
)
CERTIFICATES = Resource("cert-manager.io/v1", "Certificate", "certificates")
CLUSTER_ISSUERS = Resource("cert-manager.io/v1", "ClusterIssuer", "clusterissuers", steady=True)
ISSUERS = Resource("cert-manager.io/v1", "Issuer", "issuers", steady=True)
CLUSTER_RUNTIMES = Resource(
    "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", steady=True
)
# Only Volcano's own configuration is read.
CONFIGMAPS = Resource("v1", "ConfigMap", "configmaps", namespace=VOLCANO_HOME, steady=True)
CRDS = Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", steady=True)
DAEMON_SETS = Resource("apps/v1", "DaemonSet", "daemonsets")
DEPLOYMENTS = Resource("apps/v1", "Deployment", "deployments")
ENDPOINT_SLICES = Resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
ENVOY_FILTERS = Resource("networking.istio.io/v1alpha3", "EnvoyFilter", "envoyfilters", steady=True)
GATEWAYS = Resource("networking.istio.io/v1beta1", "Gateway", "gateways", steady=True)
JOBS = Resource("batch/v1", "Job", "jobs")
KFDEFS = Resource("kfdef.apps.kubeflow.org/v1", "KfDef", "kfdefs", steady=True)
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", steady=True
)
NAMESPACES = Resource("v1", "Namespace", "namespaces")
NODES = Resource("v1", "Node", "nodes")
CLAIMS = Resource("v1", "PersistentVolumeClaim", "persistentvolumeclaims")
VOLUMES = Resource("v1", "PersistentVolume", "persistentvolumes")
PODGROUPS = Resource("scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups")
PODS = Resource("v1", "Pod", "pods")
PROFILES = Resource("kubeflow.org/v1", "Profile", "profiles")
QUEUES = Resource("scheduling.volcano.sh/v1beta1", "Queue", "queues")
REQUEST_AUTHENTICATIONS = Resource(
    "security.istio.io/v1beta1", "RequestAuthentication", "requestauthentications", steady=True
)
SERVICES = Resource("v1", "Service", "services")
STATEFUL_SETS = Resource("apps/v1", "StatefulSet", "statefulsets")
STORAGE_CLASSES = Resource("storage.k8s.io/v1", "StorageClass", "storageclasses", steady=True)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", steady=True
)

RESOURCES: Mapping[str, Resource] = MappingProxyType(
    {item: item for item in tuple(globals().values()) if isinstance(item, Resource)}
)
"""All of them, by their names."""
