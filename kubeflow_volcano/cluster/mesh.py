"""Istio's rules of selection: which pods a policy, a Gateway or an EnvoyFilter applies to, and which get a sidecar.

Sources: istio.io/docs/reference/config/type/workload-selector and .../networking/gateway; pilot/pkg/model/
policyattachment.go and pkg/kube/inject/inject.go of istio/istio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import yaml

from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace, selects, webhooks
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.foreign import read_yaml

SELECTING = frozenset({"AuthorizationPolicy", "EnvoyFilter", "Gateway", "RequestAuthentication"})
"""Kinds of Istio that choose pods by labels, and in which an unmatched label means that nothing is protected or served.
"""

INJECTION = "istio-injection"
"""Label of a namespace: `enabled` requests sidecars."""

PROXY = "istio-proxy"
"""The container of a sidecar and of a gateway."""

_INJECT = "sidecar.istio.io/inject"
_INJECTOR = "sidecar-injector.istio.io"
"""How the names of all webhooks of injectors end, also those of revisions and of their tags."""
_YES = frozenset({"", "y", "yes", "true", "on"})
_ROOT = "istio-system"
_REVISION = "istio.io/rev"
_SCOPE = "PILOT_SCOPE_GATEWAY_TO_NAMESPACE"


@dataclass(frozen=True, slots=True)
class Mesh:
    """How a mesh selects: policies in namespace `root` choose pods of all namespaces, and so do Gateways.

    With `scoped` (istiod's PILOT_SCOPE_GATEWAY_TO_NAMESPACE) a Gateway chooses pods of its own namespace alone.
    """

    root: str = _ROOT
    scoped: bool = False


def mesh_refs(control_planes: Iterable[Object]) -> Iterator[Ref]:
    """The ConfigMaps with the mesh configuration of these Deployments of istiod, most likely first."""
    for item in control_planes:
        if _is_istiod(item):
            revision = (item["metadata"].get("labels") or {}).get(_REVISION, "default")
            name = "istio" if revision == "default" else f"istio-{revision}"
            yield Ref("v1", "ConfigMap", item["metadata"]["namespace"], name)
    yield Ref("v1", "ConfigMap", _ROOT, "istio")


def mesh_of(control_planes: Iterable[Object], get: Callable[[Ref], Object | None]) -> Mesh:
    """The mesh of these Deployments, with the configuration that `get` finds; where it says nothing, Istio's defaults.

    Istiod may be outside the cluster, and its configuration elsewhere: then the defaults are all that is known.
    """
    planes = [item for item in control_planes if _is_istiod(item)]
    scoped = any(
        entry.get("name") == _SCOPE and str(entry.get("value", "")).lower() == "true"
        for item in planes
        for container in item["spec"]["template"]["spec"]["containers"]
        for entry in container.get("env") or ()
    )
    for ref in mesh_refs(planes):
        if live := get(ref):
            try:
                parsed = read_yaml((live.get("data") or {}).get("mesh") or "")
            except yaml.YAMLError:
                continue
            if isinstance(parsed, dict) and isinstance(parsed.get("rootNamespace"), str):
                return Mesh(parsed["rootNamespace"], scoped)
    return Mesh(scoped=scoped)


def _is_istiod(item: Object) -> bool:
    meta = item["spec"]["template"].get("metadata") or {}
    return bool((meta.get("labels") or {}).get("app") == "istiod")


def names_targets(obj: Object) -> bool:
    """Whether it names what it is for, in place of choosing pods by labels."""
    spec = obj.get("spec") or {}
    return bool(spec.get("targetRef") or spec.get("targetRefs"))


def selector_of(obj: Object) -> Mapping[str, str]:
    """The labels by which it chooses pods; empty where it chooses all of its scope, or names its targets instead."""
    spec = obj.get("spec") or {}
    if names_targets(obj):
        return {}
    match obj["kind"]:
        case "Gateway":
            selector = spec.get("selector")
        case "EnvoyFilter":
            selector = (spec.get("workloadSelector") or {}).get("labels")
        case _:
            selector = (spec.get("selector") or {}).get("matchLabels")
    return dict(selector or {})


def is_selected(obj: Object, namespace: str, labels: Mapping[str, str], mesh: Mesh) -> bool:
    """Whether `obj`, which has a selector, applies to pods with these labels in that namespace."""
    own: str = obj["metadata"].get("namespace", "")
    everywhere = not mesh.scoped if obj["kind"] == "Gateway" else own == mesh.root
    return (everywhere or own == namespace) and selector_of(obj).items() <= labels.items()


def injectors(configurations: Iterable[Object]) -> tuple[Webhook, ...]:
    """The webhooks among these configurations that add sidecars."""
    return tuple(hook for hook in webhooks(configurations) if hook.name.endswith(_INJECTOR))


def opts_out(meta: Mapping[str, Mapping[str, str] | None], spec: Mapping[str, object]) -> bool:
    """Whether a pod, or a pod template, opts out of a sidecar; its label counts before its annotation."""
    given = {**(meta.get("annotations") or {}), **(meta.get("labels") or {})}.get(_INJECT, "")
    return bool(spec.get("hostNetwork")) or given.lower() not in _YES


def is_injected(labels: Mapping[str, str], namespace: Object, hooks: Iterable[Webhook]) -> bool:
    """Whether an injector is called for a pod with these labels in that namespace."""
    where = labelled_namespace(namespace, namespace["metadata"]["name"])
    return any(hook.matches_namespace(where) and selects(hook.text.get("objectSelector"), labels) for hook in hooks)


def has_sidecar(spec: Mapping[str, list[Mapping[str, object]] | None]) -> bool:
    """Whether a pod has Istio's proxy, as a container or as a native sidecar."""
    return any(item["name"] == PROXY for key in ("containers", "initContainers") for item in spec.get(key) or ())
