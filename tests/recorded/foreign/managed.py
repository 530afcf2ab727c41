"""Clusters of managed services, written from what the services document: add-ons, drivers, webhooks, node pools."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from kubeflow_volcano.catalog.images.probes import PAUSE
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import amounts, pod_requests, total
from tests.recorded.foreign.making import Making, Recipe
from tests.recorded.foreign.objects import (
    container,
    daemon_set,
    deployment,
    hook,
    namespace,
    node,
    obj,
    service,
    storage_class,
)

_LOCAL_PATH = Ref("storage.k8s.io/v1", "StorageClass", "", "local-path")
_PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_NOT_DEFAULT = {"metadata": {"annotations": {"storageclass.kubernetes.io/is-default-class": None}}}


def _csi(name: str, driver: str, image: str, where: dict[str, str], on: str = "") -> Iterator[Object]:
    """A CSI driver: its object, its DaemonSet, and its controller where the cluster has one."""
    yield obj("storage.k8s.io/v1", "CSIDriver", driver, spec={"attachRequired": True, "podInfoOnMount": False})
    registrar = container(
        "registrar",
        "csi-node-driver-registrar:v2.12.0",
        args=[f"--kubelet-registration-path=/var/lib/kubelet/plugins/{driver}/csi.sock"],
    )
    plugin = container("plugin", image, args=["--endpoint=unix:/csi/csi.sock"])
    yield daemon_set(f"kube-system/{name}-node", plugin, registrar, where=where)
    if on:
        provisioner = container("csi-provisioner", "csi-provisioner:v5.1.0", args=["--leader-election=true"])
        own = container("plugin", image, args=["controller", f"--driver-name={driver}"])
        yield deployment(f"kube-system/{name}-controller", own, provisioner, on=on, replicas=2)


def _busy(make: Making, where: str) -> None:
    """A team's pods request all CPU that the nodes have left, but for less than one small pod."""
    make.apply(namespace(where))
    pods = make.cluster.list("v1", "Pod").items
    for number, item in enumerate(make.cluster.list("v1", "Node").items):
        name = item["metadata"]["name"]
        used = total(pod_requests(pod["spec"]) for pod in pods if pod["spec"].get("nodeName") == name)
        left = amounts(item["status"]["allocatable"])["cpu"] - used.get("cpu", Decimal(0))
        asks = {"requests": {"cpu": f"{int(left * 1000) - 5}m", "memory": "16Mi"}}
        make.apply(deployment(f"{where}/etl-{number}", container("worker", PAUSE, resources=asks), on=name))


def eks(make: Making) -> None:
    """Amazon EKS with two defaults among the StorageClasses, and every CPU requested."""
    where = {"eks.amazonaws.com/nodegroup": "workers"}
    names = [f"ip-10-0-{number}-17.ec2.internal" for number in (1, 2, 3)]
    zones = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
    for name, zone in zip(names, zones, strict=True):
        labels = where | {"topology.kubernetes.io/zone": zone, "node.kubernetes.io/instance-type": "m5.2xlarge"}
        make.apply(node(name, labels=labels))
    make.change(_LOCAL_PATH, _NOT_DEFAULT)
    make.apply(
        storage_class("gp2", "kubernetes.io/aws-ebs", default=True, parameters={"type": "gp2", "fsType": "ext4"}),
        *_csi("ebs-csi", "ebs.csi.aws.com", "aws-ebs-csi-driver:v1.38.1", where, names[0]),
        *_csi("efs-csi", "efs.csi.aws.com", "aws-efs-csi-driver:v2.1.3", where, names[1]),
        daemon_set(
            "kube-system/aws-node",
            container("aws-node", "amazon-k8s-cni:v1.19.2"),
            container("aws-eks-nodeagent", "amazon/aws-network-policy-agent:v1.1.6"),
            where=where,
        ),
        daemon_set(
            "kube-system/eks-pod-identity-agent", container("agent", "eks-pod-identity-agent:0.1.17"), where=where
        ),
        hook("Mutating", "pod-identity-webhook", url="https://127.0.0.1:23443/mutate", rules=[_PODS]),
        hook("Mutating", "vpc-resource-mutating-webhook", url="https://127.0.0.1:23443/vpc", rules=[_PODS]),
        obj("v1", "ConfigMap", "kube-system/aws-auth", data={"mapRoles": "[]"}),
    )
    make.ready()
    make.apply(storage_class("gp3", "ebs.csi.aws.com", default=True, parameters={"type": "gp3"}))
    _busy(make, "team-etl")
    make.ready()


def gke(make: Making) -> None:
    """Google GKE: the controllers of its driver run outside, GPU nodes are tainted, a policy controller listens."""
    where = {"cloud.google.com/gke-nodepool": "default-pool"}
    gpus = {"cloud.google.com/gke-nodepool": "gpu-pool", "cloud.google.com/gke-accelerator": "nvidia-l4"}
    names = [f"gke-prod-default-pool-4d1c2b6e-{end}" for end in ("0xk9", "7vmr")]
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    make.apply(
        *(node(name, labels=where) for name in names),
        node("gke-prod-gpu-pool-91ab03fe-q2wd", labels=gpus, taints=[taint], nvidia_com__gpu="1"),
    )
    make.change(_LOCAL_PATH, _NOT_DEFAULT)
    every = {"kubernetes.io/os": "linux", **where}
    make.apply(
        storage_class("standard", "kubernetes.io/gce-pd", late=False, parameters={"type": "pd-standard"}),
        storage_class("standard-rwo", "pd.csi.storage.gke.io", default=True, parameters={"type": "pd-balanced"}),
        storage_class("premium-rwo", "pd.csi.storage.gke.io", parameters={"type": "pd-ssd"}),
        storage_class("standard-rwx", "filestore.csi.storage.gke.io", parameters={"tier": "standard"}),
        *_csi("pdcsi", "pd.csi.storage.gke.io", "gcp-compute-persistent-disk-csi-driver:v1.15.3-gke.2", every),
        *_csi("filestore", "filestore.csi.storage.gke.io", "gcp-filestore-csi-driver:v1.6.15-gke.5", every),
        daemon_set("kube-system/netd", container("netd", "netd:v0.6.2-gke.0"), where=every),
        daemon_set("kube-system/fluentbit-gke", container("fluentbit", "fluent-bit:v1.8.12-gke.40"), where=every),
        daemon_set(
            "kube-system/gke-metadata-server",
            container("server", "gke-metadata-server:gke_metadata_server"),
            where=every,
        ),
        deployment(
            "kube-system/konnectivity-agent", container("agent", "proxy-agent:v0.31.1-gke.0"), on=names[0], replicas=2
        ),
        deployment(
            "kube-system/l7-default-backend", container("backend", "ingress-gce-404-server:v1.23.1"), on=names[1]
        ),
        service("kube-system/default-http-backend", {"app": "l7-default-backend"}, 80),
        namespace("gmp-system"),
        daemon_set(
            "gmp-system/collector", container("prometheus", "prometheus-engine/prometheus:v2.45.3-gmp.9"), where=every
        ),
        deployment("gmp-system/gmp-operator", container("operator", "prometheus-engine/operator:v0.15.0"), on=names[0]),
        hook(
            "Validating",
            "warden-validating.common-webhooks.networking.gke.io",
            url="https://localhost:5443/warden",
            rules=[_PODS],
            timeoutSeconds=5,
        ),
        # An alertmanager that is not configured: its StatefulSet stays at zero.
        obj(
            "apps/v1",
            "StatefulSet",
            "gmp-system/alertmanager",
            spec={
                "replicas": 0,
                "serviceName": "alertmanager",
                "selector": {"matchLabels": {"app": "alertmanager"}},
                "template": {
                    "metadata": {"labels": {"app": "alertmanager"}},
                    "spec": {"containers": [container("alertmanager", "prometheus-engine/alertmanager:v0.27.0")]},
                },
            },
        ),
        service("gmp-system/alertmanager", {"app": "alertmanager"}, 9093),
    )
    make.ready()


def aks(make: Making) -> None:
    """Azure AKS: a tainted pool of system nodes, an autoscaler at work: cordoned nodes, a lost one."""
    system = {"kubernetes.azure.com/mode": "system", "agentpool": "system"}
    users = {"kubernetes.azure.com/mode": "user", "agentpool": "work"}
    only = {"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}
    leaving = {"key": "ToBeDeletedByClusterAutoscaler", "value": "1764030000", "effect": "NoSchedule"}
    names = [f"aks-work-31415926-vmss00000{end}" for end in "012"]
    first = "aks-system-27182818-vmss000000"
    make.apply(
        node(first, labels=system, taints=[only]),
        node(names[0], labels=users),
        node(names[1], labels=users, cordoned=True, taints=[leaving]),
        node(names[2], labels=users | {"kubernetes.azure.com/scalesetpriority": "spot"}, lost=True),
    )
    make.change(_LOCAL_PATH, _NOT_DEFAULT)
    make.apply(
        storage_class("default", "disk.csi.azure.com", default=True, parameters={"skuname": "StandardSSD_LRS"}),
        storage_class("managed-csi-premium", "disk.csi.azure.com", parameters={"skuname": "Premium_LRS"}),
        storage_class("azurefile-csi", "file.csi.azure.com", late=False, parameters={"skuName": "Standard_LRS"}),
        *_csi("csi-azuredisk", "disk.csi.azure.com", "azuredisk-csi:v1.30.7", users),
        *_csi("csi-azurefile", "file.csi.azure.com", "azurefile-csi:v1.31.5", users),
        daemon_set("kube-system/azure-cns", container("cns", "azure-cns:v1.6.21"), where=users),
        daemon_set(
            "kube-system/cloud-node-manager", container("manager", "azure-cloud-node-manager:v1.30.12"), where=users
        ),
        deployment(
            "kube-system/konnectivity-agent",
            container("agent", "apiserver-network-proxy/agent:v0.30.3"),
            on=first,
            replicas=2,
        ),
        deployment(
            "kube-system/coredns-autoscaler",
            container("autoscaler", "cluster-proportional-autoscaler:v1.9.0"),
            on=first,
        ),
        hook(
            "Validating",
            "aks-node-validating-webhook",
            url="https://localhost:8443/node",
            rules=[{**_PODS, "resources": ["nodes"]}],
        ),
    )
    make.ready(lost=1)


RECIPES = {
    "eks-two-defaults": Recipe(
        "Amazon EKS: add-ons of AWS, EBS and EFS drivers, gp2 and gp3 both the default, a team that requests all CPU.",
        "Written from the EKS user guide (add-ons, EBS CSI driver, pod identity) and applied;",
        eks,
        {"profile": "training", "storage_mode": "existing"},
    ),
    "gke-drivers-outside": Recipe(
        "Google GKE: storage drivers whose controllers run outside the cluster, a tainted pool of GPU nodes, managed "
        "Prometheus with an alertmanager at zero, a webhook on the control plane.",
        "Written from GKE's documentation (persistent disk CSI driver, GPU node pools, managed Prometheus) and "
        "applied;",
        gke,
        {"profile": "training", "storage_mode": "existing"},
    ),
    "aks-lost-nodes": Recipe(
        "Azure AKS: a tainted pool of system nodes, one node cordoned by the autoscaler, one spot node lost.",
        "Written from the AKS documentation (system node pools, spot pools, CSI drivers) and applied; the lost node "
        "never had a kubelet;",
        aks,
        {"profile": "training", "storage_mode": "existing"},
    ),
}
