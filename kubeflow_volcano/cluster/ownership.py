"""Whose a live object is: marks of other tools, and field managers."""

from __future__ import annotations

from collections.abc import Mapping

from kubeflow_volcano.cluster.objects import Object

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
"""Helm adds its annotations only to what it installs itself (helm/helm, pkg/action/validate.go); rendered charts have
the label managed-by too. Manifests that istioctl rendered name the owner 'unknown'."""

_NO_OWNER = frozenset({"", "unknown"})


def mark_of(obj: Object) -> str:
    """The tool that marks the object as its own; empty if there is no mark."""
    meta = obj["metadata"]
    for marks, known in ((meta.get("annotations"), _ANNOTATIONS), (meta.get("labels"), _LABELS)):
        for key, words in known.items():
            value = (marks or {}).get(key, "")
            if value not in _NO_OWNER:
                return f"{words} {value}"
    owner = next((item for item in meta.get("ownerReferences") or () if item.get("controller")), None)
    return f"{owner['kind']} {owner['name']}" if owner else ""


def owner_of(obj: Object) -> str:
    """The tool that marks the object as its own, else the field managers that made it, or those that are left."""
    meta = obj["metadata"]
    entries = [entry for entry in meta.get("managedFields") or () if not entry.get("subresource")]
    first = [entry for entry in entries if entry.get("time") == meta.get("creationTimestamp")]
    managers = sorted({entry["manager"] for entry in first or entries if "manager" in entry})
    return mark_of(obj) or f"field manager {', '.join(managers) or 'unknown'}"


def writers_of(obj: Object, *path: str) -> tuple[str, ...]:
    """The field managers that wrote the field at this path, the last of them last; none where nothing tells.

    Rule: FieldsV1 of apimachinery, pkg/apis/meta/v1: a set of paths, each key `f:` and the name of a field.
    """
    entries = sorted(obj["metadata"].get("managedFields") or (), key=lambda entry: str(entry.get("time") or ""))
    return tuple(dict.fromkeys(str(item.get("manager")) for item in entries if _has(item.get("fieldsV1"), path)))


def _has(fields: object, path: tuple[str, ...]) -> bool:
    if not path:
        return fields is not None
    return isinstance(fields, Mapping) and f"f:{path[0]}" in fields and _has(fields[f"f:{path[0]}"], path[1:])
