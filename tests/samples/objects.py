"""Objects as manifests have them."""

from __future__ import annotations

from typing import Any

from kubeflow_volcano.cluster.objects import Object


def made(
    api_version: str, kind: str, name: str, namespace: str = "", *, meta: Object | None = None, **fields: Any
) -> Object:
    """An object with these fields; `meta` is further metadata."""
    where = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **where, **(meta or {})}, **fields}
