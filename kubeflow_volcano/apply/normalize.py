"""Objects as they are applied: without fields that others write, in the API server's own form, with a namespace."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from kubeflow_volcano.apply.graph import CRD_KIND
from kubeflow_volcano.cluster.admission.webhooks import CA_FROM, WEBHOOK_KINDS
from kubeflow_volcano.cluster.api.discovery import Kinds
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.progress import Progress

_DEFAULT = "default"
_INJECTED = (CA_FROM, f"{CA_FROM}-secret", "cert-manager.io/inject-apiserver-ca")
"""Annotations by which cert-manager's CA injector writes the caBundle."""


def normalize(obj: Object) -> Object:
    """The fields of `obj` that this project is to own; shares unchanged values with it.

    Left out are the status of built-in kinds and CRDs (their controllers write it), creation times, the rules of an
    aggregated ClusterRole (its controller writes them), and a caBundle that is a placeholder or that an injector
    writes. The plain values of a Secret become data, as the API server stores them.
    """
    meta = {key: value for key, value in obj["metadata"].items() if key != "creationTimestamp"}
    text = {**obj, "metadata": meta}
    kind = obj["kind"]
    if "." not in obj["apiVersion"].partition("/")[0] or obj["apiVersion"].partition("/")[0].endswith(".k8s.io"):
        text.pop("status", None)
    if kind == "ClusterRole" and obj.get("aggregationRule"):
        text.pop("rules", None)
    if kind == "Secret":
        _secret(text)
    injected = any(name in (meta.get("annotations") or {}) for name in _INJECTED)
    if kind in WEBHOOK_KINDS and obj.get("webhooks"):
        text["webhooks"] = [_without_placeholder(hook, injected=injected) for hook in obj["webhooks"]]
    if kind == CRD_KIND and (webhook := (obj["spec"].get("conversion") or {}).get("webhook")):
        conversion = {**obj["spec"]["conversion"], "webhook": _without_placeholder(webhook, injected=injected)}
        text["spec"] = {**obj["spec"], "conversion": conversion}
    return text


def _without_placeholder(hook: Mapping[str, Any], *, injected: bool) -> dict[str, Any]:
    config = hook.get("clientConfig") or {}
    bundle = config.get("caBundle", "")
    if "caBundle" not in config or (not injected and _decoded(bundle).strip()):
        return dict(hook)
    return {**hook, "clientConfig": {key: value for key, value in config.items() if key != "caBundle"}}


def _decoded(text: Any) -> bytes:
    try:
        return base64.b64decode(str(text or ""))
    except binascii.Error:
        return str(text).encode()


def _secret(text: Object) -> None:
    data = dict(text.get("data") or {})
    for key, value in (text.pop("stringData", None) or {}).items():
        data[key] = base64.b64encode(str(value).encode()).decode()
    for key, value in data.items():
        if isinstance(value, str):
            data[key] = "".join(value.split())  # line breaks in base64 do not come back
    if data or "data" in text:
        text["data"] = data


def with_default_namespaces(
    kinds: Kinds, parts: Mapping[str, Sequence[Object]], progress: Progress
) -> Mapping[str, tuple[Object, ...]]:
    """`parts` in which every object of a namespaced kind names its namespace; a few of upstream do not."""
    scopes = {
        (obj["spec"]["group"], obj["spec"]["names"]["kind"]): obj["spec"]["scope"] == "Namespaced"
        for objects in parts.values()
        for obj in objects
        if obj["kind"] == CRD_KIND
    }

    def place(obj: Object) -> Object:
        ref = Ref.of(obj)
        if ref.namespace:
            return obj
        known = kinds[ref.api_version].get(ref.kind)
        if not (known.namespaced if known else scopes.get((ref.group, ref.kind), False)):
            return obj
        progress(f"{ref} names no namespace and is applied to {_DEFAULT}, as kubectl does")
        return {**obj, "metadata": {**obj["metadata"], "namespace": _DEFAULT}}

    return {name: tuple(map(place, objects)) for name, objects in parts.items()}
