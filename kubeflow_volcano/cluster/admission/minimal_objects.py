"""Minimal objects for dry runs that call an admission webhook; none is ever persisted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kubeflow_volcano.cluster.admission.webhooks import Webhook
from kubeflow_volcano.cluster.objects import Object

_CORE = frozenset({"pods", "configmaps"})


def minimal_object(
    hook: Webhook, name: str, namespace: str, labels: Mapping[str, str], definition: Callable[[str], Object | None]
) -> Object | None:
    """The smallest object whose creation the webhook's rules match; None if they match no kind with a known schema.

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
                if crd and (obj := _custom(crd, rule["apiVersions"], meta)):
                    return obj
    return None


def labels_matching(selector: Mapping[str, Any] | None) -> Mapping[str, str]:
    """Labels that a selector matches; expressions with NotIn and DoesNotExist add none."""
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
            body = minimal_value(schema.get("properties", {}).get("spec", {}))
            if spec["scope"] != "Namespaced":
                meta = {key: value for key, value in meta.items() if key != "namespace"}
            kind = spec["names"]["kind"]
            return {"apiVersion": f"{spec['group']}/{version['name']}", "kind": kind, "metadata": meta, "spec": body}
    return None


def minimal_value(schema: Mapping[str, Any]) -> Any:
    """The smallest value that a structural schema of a CRD admits, by types, enums and lengths."""
    if "default" in schema or schema.get("enum"):
        return schema.get("default", (schema.get("enum") or [None])[0])
    kind = "integer" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties") or {}
        return {name: minimal_value(properties.get(name, {})) for name in schema.get("required") or ()}
    if kind == "array":
        return [minimal_value(schema.get("items", {})) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return "x" * max(1, schema.get("minLength", 1))
    return False if kind == "boolean" else max(1, schema.get("minimum", 1))
