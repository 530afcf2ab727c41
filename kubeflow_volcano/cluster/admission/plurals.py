"""The resource names of kinds, as discovery and CRDs tell them: no rule of English forms `endpoints` or `gateways`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from kubeflow_volcano.cluster.api.discovery import Kinds
from kubeflow_volcano.cluster.objects import Object, group_of

_CRD_KIND = "CustomResourceDefinition"

_BUILT_IN: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        (group, pair.partition("/")[0]): pair.partition("/")[2]
        for group, kinds in {
            "": (
                "ConfigMap/configmaps Endpoints/endpoints Event/events LimitRange/limitranges Namespace/namespaces "
                "Node/nodes PersistentVolume/persistentvolumes PersistentVolumeClaim/persistentvolumeclaims Pod/pods "
                "PodTemplate/podtemplates ReplicationController/replicationcontrollers ResourceQuota/resourcequotas "
                "Secret/secrets Service/services ServiceAccount/serviceaccounts"
            ),
            "admissionregistration.k8s.io": (
                "MutatingAdmissionPolicy/mutatingadmissionpolicies "
                "MutatingAdmissionPolicyBinding/mutatingadmissionpolicybindings "
                "MutatingWebhookConfiguration/mutatingwebhookconfigurations "
                "ValidatingAdmissionPolicy/validatingadmissionpolicies "
                "ValidatingAdmissionPolicyBinding/validatingadmissionpolicybindings "
                "ValidatingWebhookConfiguration/validatingwebhookconfigurations"
            ),
            "apiextensions.k8s.io": "CustomResourceDefinition/customresourcedefinitions",
            "apiregistration.k8s.io": "APIService/apiservices",
            "apps": (
                "ControllerRevision/controllerrevisions DaemonSet/daemonsets Deployment/deployments "
                "ReplicaSet/replicasets StatefulSet/statefulsets"
            ),
            "autoscaling": "HorizontalPodAutoscaler/horizontalpodautoscalers",
            "batch": "CronJob/cronjobs Job/jobs",
            "certificates.k8s.io": "CertificateSigningRequest/certificatesigningrequests",
            "coordination.k8s.io": "Lease/leases",
            "discovery.k8s.io": "EndpointSlice/endpointslices",
            "events.k8s.io": "Event/events",
            "flowcontrol.apiserver.k8s.io": (
                "FlowSchema/flowschemas PriorityLevelConfiguration/prioritylevelconfigurations"
            ),
            "networking.k8s.io": (
                "Ingress/ingresses IngressClass/ingressclasses IPAddress/ipaddresses "
                "NetworkPolicy/networkpolicies ServiceCIDR/servicecidrs"
            ),
            "node.k8s.io": "RuntimeClass/runtimeclasses",
            "policy": "PodDisruptionBudget/poddisruptionbudgets PodSecurityPolicy/podsecuritypolicies",
            "rbac.authorization.k8s.io": (
                "ClusterRole/clusterroles ClusterRoleBinding/clusterrolebindings Role/roles RoleBinding/rolebindings"
            ),
            "resource.k8s.io": (
                "DeviceClass/deviceclasses ResourceClaim/resourceclaims "
                "ResourceClaimTemplate/resourceclaimtemplates ResourceSlice/resourceslices"
            ),
            "scheduling.k8s.io": "PriorityClass/priorityclasses",
            "storage.k8s.io": (
                "CSIDriver/csidrivers CSINode/csinodes CSIStorageCapacity/csistoragecapacities "
                "StorageClass/storageclasses VolumeAttachment/volumeattachments"
            ),
        }.items()
        for pair in kinds.split()
    }
)
"""Resource names of Kubernetes' own kinds, by group and kind; needed where no API server is asked."""


class Plurals:
    """Resource names by what an API server serves (`kinds`), the CRDs among `objects`, and Kubernetes' own kinds."""

    def __init__(self, objects: Iterable[Object] = (), kinds: Kinds | None = None) -> None:
        self._known = dict(_BUILT_IN)
        for obj in objects:
            if obj["kind"] == _CRD_KIND:
                spec = obj["spec"]
                self._known[spec["group"], spec["names"]["kind"]] = spec["names"].get("plural", "")
        for version, served in (kinds or {}).items():
            self._known |= {(group_of(version), kind): resource.plural for kind, resource in served.items()}

    def plural(self, obj: Object) -> str:
        """The resource name of the object's kind; empty for an unknown kind, which only `*` matches."""
        return self._known.get((group_of(obj["apiVersion"]), obj["kind"]), "")
