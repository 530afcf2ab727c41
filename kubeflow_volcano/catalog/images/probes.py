"""Images of the pods with which the validators probe: pulled like any other, hence listed and mirrored."""

from __future__ import annotations

__all__ = ["BUSYBOX", "PAUSE"]

PAUSE = "registry.k8s.io/pause:3.10"
"""For scheduling: a pod that does nothing."""

BUSYBOX = "docker.io/library/busybox:1.36"
"""For storage and network: a shell."""
