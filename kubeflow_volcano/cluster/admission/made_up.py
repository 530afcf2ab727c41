"""Objects that are made up so that an admission webhook sees them in a dry run; nothing of them is ever kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.admission.intercepts import Webhook
from kubeflow_volcano.cluster.objects import Object

__all__ = ["labels_for", "made_up", "minimal"]

_CORE = frozenset({"pods", "configmaps"})


def made_up(
    hook: Webhook, name: str, namespace: str, labels: Mapping[str, str], definition: Callable[[str], Object | None]
) -> Object | None:
    """The smallest object whose creation the webhook's rules cover; None where they cover none of a known shape.

    `definition` finds a CustomResourceDefinition by its name, 'plural.group'.
    """
    meta = {"name": name, "namespace": namespace} | ({"labels": dict(labels)} if labels else {})
    for rule in hook.text.get("rules") or ():
        if not {"*", "CREATE"} & set(rule["operations"]):
            continue
        for resource in rule["resources"]:
            if "" in rule["apiGroups"] and resource in _CORE:
                return _pod(meta) if resource == "pods" else _config_map(meta)
            for group in rule["apiGroups"]:
                crd = definition(f"{resource}.{group}") if group and "*" not in (resource, group) else None
                if crd and (found := _custom(crd, rule["apiVersions"], meta)):
                    return found
    return None


def labels_for(selector: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Labels that a selector matches; those that it does not want are left out."""
    labels = dict((selector or {}).get("matchLabels") or {})
    for rule in (selector or {}).get("matchExpressions") or ():
        if rule["operator"] in {"In", "Exists"}:
            labels.setdefault(rule["key"], (rule.get("values") or ["true"])[0])
    return labels


def _pod(meta: Object) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {
            "containers": [
                {
                    "name": "probe",
                    "image": "none.invalid/never-pulled",
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                }
            ]
        },
    }


def _config_map(meta: Object) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {}}


def _custom(crd: Object, versions: Sequence[str], meta: Object) -> Object | None:
    spec = crd["spec"]
    for version in spec["versions"]:
        if version["served"] and {"*", version["name"]} & set(versions):
            schema = version.get("schema", {}).get("openAPIV3Schema", {})
            body = minimal(schema.get("properties", {}).get("spec", {}))
            if spec["scope"] != "Namespaced":
                meta = {key: value for key, value in meta.items() if key != "namespace"}
            kind = spec["names"]["kind"]
            return {"apiVersion": f"{spec['group']}/{version['name']}", "kind": kind, "metadata": meta, "spec": body}
    return None


def minimal(schema: Mapping[str, Any]) -> Any:
    """The smallest value that a structural schema of a CRD admits, as far as types, enums and sizes tell."""
    if "default" in schema or schema.get("enum"):
        return schema.get("default", (schema.get("enum") or [None])[0])
    kind = "integer" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties") or {}
        return {name: minimal(properties.get(name, {})) for name in schema.get("required") or ()}
    if kind == "array":
        return [minimal(schema.get("items", {})) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "x" * max(1, schema.get("minLength", 1))
    return False if kind == "boolean" else max(1, schema.get("minimum", 1))
