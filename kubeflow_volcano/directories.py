"""The user's directories for this project, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_directory", "config_directory"]

_NAME = "kubeflow-volcano"


def cache_directory() -> Path:
    """For what can be downloaded or built again: `$XDG_CACHE_HOME/kubeflow-volcano`, or below ~/.cache."""
    return _base("XDG_CACHE_HOME", ".cache") / _NAME


def config_directory() -> Path:
    """For configuration: `$XDG_CONFIG_HOME/kubeflow-volcano`, or below ~/.config."""
    return _base("XDG_CONFIG_HOME", ".config") / _NAME


def _base(variable: str, default: str) -> Path:
    """The directory in a variable. Relative paths are ignored, as the specification requires."""
    named = Path(os.environ.get(variable) or ".").expanduser()
    return named if named.is_absolute() else Path.home() / default
