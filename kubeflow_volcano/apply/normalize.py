"""An object's text as it is declared to the API server: without what others write, and in the server's own form."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from kubeflow_volcano.cluster.admission.intercepts import WEBHOOK_KINDS
from kubeflow_volcano.cluster.objects import Object

__all__ = ["declared"]

_CRD = "CustomResourceDefinition"
_INJECTED = tuple(f"cert-manager.io/inject-{source}" for source in ("apiserver-ca", "ca-from", "ca-from-secret"))
"""Annotations that ask cert-manager's CA injector to write the caBundle."""


def declared(obj: Object) -> Object:
    """What the roll-out wants to own of `obj`; shares with it what stays the same.

    Left out: the status of built-in kinds and CRDs, which their controllers write; times of creation; the rules of an
    aggregated ClusterRole, which are its controller's; and a caBundle that is a placeholder or that an injector writes.
    A Secret's plain values become data, which is how the server stores them.
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
    if kind == _CRD and (webhook := (obj["spec"].get("conversion") or {}).get("webhook")):
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
