"""Images of the validators' probe pods; they are listed and mirrored like all others."""

from __future__ import annotations

PAUSE = "registry.k8s.io/pause:3.10"
"""For scheduling probes: a pod that does nothing."""

BUSYBOX = "docker.io/library/busybox:1.36"
"""For storage and network probes: a shell."""
