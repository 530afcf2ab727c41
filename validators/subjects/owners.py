"""Software of others that Kubeflow brings along, and the marks by which those who installed it are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.cluster.objects import Object, Ref
from validators.core.facts import Facts
from validators.subjects import crds, webhooks, workloads

__all__ = ["foreign_mark", "is_shared", "own_parts", "shared_objects", "shared_workloads"]

_SHARED = ("cert-manager", "istio", "knative", "cluster-local-gateway")

_ANNOTATIONS: Mapping[str, str] = {
    "meta.helm.sh/release-name": "Helm release",
    "argocd.argoproj.io/tracking-id": "Argo CD application",
}
_LABELS: Mapping[str, str] = {
    "argocd.argoproj.io/instance": "Argo CD application",
    "helm.toolkit.fluxcd.io/name": "Flux HelmRelease",
    "kustomize.toolkit.fluxcd.io/name": "Flux Kustomization",
    "olm.owner": "Operator Lifecycle Manager's",
    "addonmanager.kubernetes.io/mode": "add-on manager, mode",
    "install.operator.istio.io/owning-resource": "Istio operator's",
}
"""Helm writes its annotations only into what it installs itself (helm/helm, pkg/action/validate.go); the label
managed-by stands in rendered charts too. Manifests that istioctl rendered name the owner 'unknown'."""

_NOBODY = frozenset({"", "unknown"})


def is_shared(component: str) -> bool:
    """Whether the component is other people's software, which may serve others in the cluster as well."""
    return component.startswith(_SHARED)


def own_parts(facts: Facts) -> bool:
    """Whether something of Kubeflow itself is there, that is: whether the install is behind us."""
    return any(
        facts.get(workloads.RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name)
        for ref, component in facts.expectations.workloads.items()
        if not is_shared(component)
    )


def shared_workloads(facts: Facts) -> Iterator[Ref]:
    """The workloads of shared components that are there."""
    for ref, component in facts.expectations.workloads.items():
        if is_shared(component) and facts.get(workloads.RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name):
            yield ref


def shared_objects(facts: Facts) -> Iterator[Object]:
    """CRDs, webhook configurations and workloads of shared components that are there."""
    expected = facts.expectations
    for name, component in expected.crds.items():
        if is_shared(component) and (found := facts.get(crds.RESOURCE, "", name)):
            yield found
    for ref, component in expected.webhooks.items():
        if is_shared(component) and (found := facts.get(webhooks.RESOURCES[ref.kind], "", ref.name)):
            yield found
    for ref in shared_workloads(facts):
        if found := facts.get(workloads.RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name):
            yield found


def foreign_mark(obj: Object) -> str:
    """Who says of himself that the object is his; empty where nobody does."""
    meta = obj["metadata"]
    for marks, known in ((meta.get("annotations"), _ANNOTATIONS), (meta.get("labels"), _LABELS)):
        for key, words in known.items():
            value = (marks or {}).get(key, "")
            if value not in _NOBODY:
                return f"{words} {value}"
    owner = next((item for item in meta.get("ownerReferences") or () if item.get("controller")), None)
    return f"{owner['kind']} {owner['name']}" if owner else ""
