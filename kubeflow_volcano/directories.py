"""The user's directory for this project, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

__all__ = ["cache_directory", "disused"]

_DAY_SECONDS = 86_400.0
_KEPT_DAYS = 30


def cache_directory() -> Path:
    """For what can be downloaded or built again: `$XDG_CACHE_HOME/kubeflow-volcano`, or below ~/.cache.

    A relative path in the variable is ignored, as the specification requires.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME") or ".").expanduser()
    return (named if named.is_absolute() else Path.home() / ".cache") / "kubeflow-volcano"


def disused(last_uses: Mapping[Path, float], most: int) -> dict[Path, int]:
    """The entries of a cache to remove, the least recently used first, with the full days since their last use.

    `last_uses` are in seconds since the epoch. Entries go that were not used for 30 days, and the oldest where there
    are more than `most`; what was used within a day stays.
    """
    now = time.time()
    beyond = len(last_uses) - most
    found: dict[Path, int] = {}
    for place, (entry, last) in enumerate(sorted(last_uses.items(), key=lambda item: item[1])):
        days = (now - last) / _DAY_SECONDS
        if days > _KEPT_DAYS or (place < beyond and days > 1):
            found[entry] = int(days)
    return found
