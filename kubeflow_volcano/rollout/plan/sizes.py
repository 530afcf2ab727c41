"""Which objects client-side `kubectl apply` could not keep, because it writes the whole object into an annotation."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object, Ref

__all__ = ["LIMIT", "Sized", "oversized"]

LIMIT = 262_144
"""Bytes that all annotations of an object may have together (apimachinery, TotalAnnotationSizeLimitB)."""


@dataclass(frozen=True, slots=True)
class Sized:
    """An object and its bytes as compact JSON, which is what the annotation would hold."""

    ref: Ref
    size: int


def oversized(objects: Iterable[Object]) -> tuple[Sized, ...]:
    """The objects beyond the limit, largest first."""
    sizes = (
        Sized(Ref.of(obj), len(json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode())) for obj in objects
    )
    return tuple(sorted((item for item in sizes if item.size > LIMIT), key=lambda item: -item.size))
