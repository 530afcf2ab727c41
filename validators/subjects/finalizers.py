"""Finalizers: what keeps an object that is being deleted, and which controller has to remove it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import few
from validators.core.facts import Facts
from validators.core.resources import CRDS

__all__ = ["CLEANUP", "Held", "describe", "todo"]

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
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


@dataclass(frozen=True, slots=True)
class Held:
    """An object that is not gone yet, and its finalizers."""

    ref: Ref
    finalizers: tuple[str, ...] = ()

    @classmethod
    def of(cls, obj: Object) -> Held:
        """What holds this object, without what every object of its kind has."""
        own = {CLEANUP} if obj["kind"] == "CustomResourceDefinition" else {"kubernetes"}
        found = [*(obj["metadata"].get("finalizers") or ()), *((obj.get("spec") or {}).get("finalizers") or ())]
        return cls(Ref.of(obj), tuple(item for item in found if item not in own))

    def __str__(self) -> str:
        return f"{self.ref}" + (f" (finalizers {', '.join(self.finalizers)})" if self.finalizers else "")


def describe(finalizers: Iterable[str], facts: Facts) -> str:
    """Each finalizer with its controller: `a/b of Rancher, example.com/c of an unknown controller`."""
    return ", ".join(
        f"{item} of {_owner(item, facts) or f'a controller of {_domain(item)} that is not part of the release'}"
        for item in dict.fromkeys(finalizers)
    )


def todo(finalizers: Iterable[str], facts: Facts) -> str:
    """How an object with these finalizers comes to its end."""
    owners = {item: _owner(item, facts) for item in finalizers}
    known = dict.fromkeys(owner for owner in owners.values() if owner)
    unknown = dict.fromkeys(item for item, owner in owners.items() if not owner)
    steps = []
    if known:
        steps.append(f"start {few(list(known), 3)}, and see its log: it removes its finalizer.")
    if unknown:
        steps.append(
            f"start the controller that sets {', '.join(unknown)}. If it is uninstalled for good, clean up what it "
            "managed, then remove this finalizer, and no other, from the object."
        )
    return " ".join(steps)


def _owner(finalizer: str, facts: Facts) -> str:
    """The controller that removes the finalizer; empty if it is not known."""
    exact = (text for key, text in _KNOWN.items() if finalizer == key or (key[-1] == "/" and finalizer.startswith(key)))
    return next(exact, "") or _component(_domain(finalizer), facts) or _kinds(_domain(finalizer), facts)


def _domain(finalizer: str) -> str:
    return finalizer.partition("/")[0]


def _component(domain: str, facts: Facts) -> str:
    """The component of the release with kinds of this domain, and its workloads."""
    groups = {name.partition(".")[2]: component for name, component in facts.expectations.crds.items()}
    group = _nearest(domain, groups)
    if not group:
        return ""
    component = groups[group]
    workloads = [str(ref) for ref, owner in facts.expectations.workloads.items() if owner == component]
    return f"component {component}" + (f" ({few(workloads, 3)})" if workloads else "")


def _kinds(domain: str, facts: Facts) -> str:
    """The controller of kinds of this domain that others have brought."""
    group = _nearest(domain, {item["spec"]["group"]: "" for item in facts.objects.get(CRDS, ())})
    return f"the controller of {group}" if group else ""


def _nearest(domain: str, groups: Iterable[str]) -> str:
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
