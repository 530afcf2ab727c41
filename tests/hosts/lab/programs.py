"""The programs of containerd by version, as directories that lie over a host's root.

Each is built from upstream's module, as the rehearsal cluster's tools are, and kept in the same cache. 2.2 is the one
of the rehearsal cluster.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rehearsal.generation import load_generation
from kubeflow_volcano.rehearsal.recipes import Generation, Tool
from kubeflow_volcano.rehearsal.tools import ensure_tools

__all__ = ["CONTAINERD", "add_containerd"]

_MODULES = Path(__file__).with_name("modules")
_COMMANDS = "github.com/containerd/containerd/cmd"
_STAMP = "github.com/containerd/containerd/version.Version"
_OLDER = {"1.6": "v1.6.36", "1.7": "v1.7.28"}  # the last ones of their lines that the module proxy lists for everybody
CONTAINERD = (*_OLDER, "2.2")
"""Versions that a host can have."""


def add_containerd(version: str, layer: Path, progress: Progress = silent) -> None:
    """Put containerd, its shims and ctr of that version into `layer`/usr/bin.

    Raises:
        KeyError: there is no such version here.
        ProblemsError: it can't be built.
    """
    common = load_generation("1.30")
    tool = _older(version) if version in _OLDER else next(tool for tool in common.tools if tool.name == "containerd")
    tools = ensure_tools(Generation(common.name, common.go, (tool,), {}, ()), progress=progress)
    target = layer / "usr/bin"
    target.mkdir(parents=True)
    for name, program in tools.programs.items():
        _link_or_copy(program, target / name)


def _older(version: str) -> Tool:
    names = ("containerd", "containerd-shim-runc-v2", "ctr")
    return Tool(
        name=f"containerd-{version}",
        directory=_MODULES / f"containerd-{version}",
        programs={name: f"{_COMMANDS}/{name}" for name in names},
        tags=("no_aufs", "no_btrfs", "no_devmapper", "no_zfs"),
        stamps={_STAMP: _OLDER[version]},
    )


def _link_or_copy(source: Path, target: Path) -> None:
    """The same file under another name, or a copy of it where that is on another disk."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)
