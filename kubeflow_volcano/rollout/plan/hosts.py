"""What the plan tells about the machines below the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["hosts_of"]

_WITHOUT = (
    "The group nodes is empty: nothing is done on hosts. Images are renamed in manifests only; kernel settings, "
    "container runtimes and directories of volumes are left to whoever runs the hosts."
)


def hosts_of(nodes: Sequence[str]) -> dict[str, Any]:
    """The hosts of the inventory's group `nodes`, and what it means that there are none."""
    return {"nodes": list(nodes), "note": "" if nodes else _WITHOUT}
