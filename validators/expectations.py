"""What a cluster is expected to hold, by release, profile and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeflow_volcano.cluster.objects import Ref

__all__ = ["Expectations"]


@dataclass(frozen=True)
class Expectations:
    """The catalog's answer for one release and profile, flattened to what the checks ask."""

    release: str = ""
    kubernetes: tuple[str, str | None] = ("", None)
    """Oldest and newest Kubernetes minor that the release was tested with; no newest means that none is stated."""
    volcano_version: str = ""
    volcano_kubernetes: tuple[str, str | None] = ("", None)
    operator_version: str = ""
    """Version that the release carries; the running image may state another one."""
    gang_scheduler: str = "volcano"
    """Or 'none'."""
    workloads: Mapping[Ref, str] = field(default_factory=dict)
    """Workloads that must come up, each with the name of its component."""
    crds: Mapping[str, str] = field(default_factory=dict)
    """Names of CRDs that must be served, each with the name of its component."""
    webhooks: Mapping[Ref, str] = field(default_factory=dict)
    namespaces: frozenset[str] = frozenset()
    claims: tuple[Any, ...] = ()
    """The catalog's claims of the chosen components."""
    ignored_namespaces: frozenset[str] = frozenset()
