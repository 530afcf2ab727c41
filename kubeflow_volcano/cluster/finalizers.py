"""Finalizers: which controller has to remove one, by its name alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

CRD_CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The API server's own finalizer on a CRD: it deletes the objects of that kind first (apiextensions-apiserver)."""

# Finalizers by their beginning or end. Sources: kubernetes.io, "Finalizers" and "Well-Known Labels, Annotations and
# Taints"; kubeflow/kubeflow, components/profile-controller; kserve, pkg/controller; Argo CD, Flux and Rancher, docs.
_KNOWN: Mapping[str, str] = {
    "foregroundDeletion": "the garbage collector of kube-controller-manager",
    "orphan": "the garbage collector of kube-controller-manager",
    "kubernetes": "the namespace controller of kube-controller-manager",
    "kubernetes.io/pvc-protection": "kube-controller-manager, as long as a pod uses the claim",
    "kubernetes.io/pv-protection": "kube-controller-manager, as long as a claim is bound to the volume",
    "service.kubernetes.io/load-balancer-cleanup": "the cloud-controller-manager",
    "batch.kubernetes.io/job-tracking": "the Job controller of kube-controller-manager",
    "external-provisioner.volume.kubernetes.io/finalizer": "the provisioner of the volume's CSI driver",
    "external-attacher/": "the attacher of the volume's CSI driver",
    "profile-finalizer": "the profile controller",
    "inferenceservice.finalizers": "the controller of KServe",
    "trainedmodel.finalizer": "the controller of KServe",
    "resources-finalizer.argocd.argoproj.io": "Argo CD",
    "finalizers.fluxcd.io": "Flux",
    "controller.cattle.io/": "Rancher",
}
_SHARED_DOMAINS = frozenset({"k8s.io", "kubernetes.io"})
"""Of many projects: the last two labels of such a domain name none of them."""
_DOMAIN_LABELS = 2


def known_controller(finalizer: str) -> str:
    """The controller that removes a well-known finalizer; empty if it is none."""
    exact = (text for key, text in _KNOWN.items() if finalizer == key or (key[-1] == "/" and finalizer.startswith(key)))
    return next(exact, "")


def domain_of(finalizer: str) -> str:
    """The domain in its name; the whole name of one without."""
    return finalizer.partition("/")[0]


def nearest_group(domain: str, groups: Iterable[str]) -> str:
    """The API group that the domain belongs to, else one of the same registered domain; empty if there is none."""
    ordered = sorted(groups)
    inside = (group for group in ordered if f".{domain}".endswith(f".{group}") or f".{group}".endswith(f".{domain}"))
    registered = _registered(domain)
    beside = (group for group in ordered if registered and _registered(group) == registered)
    return next(inside, "") or next(beside, "")


def _registered(domain: str) -> str:
    labels = domain.split(".")
    name = ".".join(labels[-_DOMAIN_LABELS:])
    return "" if len(labels) < _DOMAIN_LABELS or name in _SHARED_DOMAINS or "x-k8s" in labels else name
