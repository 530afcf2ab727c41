"""The user's directory for this project, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_directory"]


def cache_directory() -> Path:
    """For what can be downloaded or built again: `$XDG_CACHE_HOME/kubeflow-volcano`, or below ~/.cache.

    A relative path in the variable is ignored, as the specification requires.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME") or ".").expanduser()
    return (named if named.is_absolute() else Path.home() / ".cache") / "kubeflow-volcano"
