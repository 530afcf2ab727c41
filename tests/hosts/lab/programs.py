"""The programs of containerd by version, as directories that lie over a host's root.

Each is built from upstream's module, as the rehearsal cluster's tools are, and kept in the same cache.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from kubeflow_volcano.progress import Progress, silent
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.kept import Tools
from kubeflow_volcano.rehearsal.build.recipes import Generation, Tool
from kubeflow_volcano.rehearsal.build.tools import ensure_tools

_MODULES = Path(__file__).with_name("modules")
_PROGRAMS = ("containerd", "containerd-shim-runc-v2", "ctr")
CONTAINERD = {
    "1.6": "v1.6.36",
    "1.7": "v1.7.35",
    "2.0": "v2.0.14",
    "2.1": "v2.1.9",
    "2.2": "v2.2.9",
    "2.3": "v2.3.7",
}
"""Versions that a host can have, each with the release that stands for it: one that the module proxy lists."""
_SHARED = {"1.7": "1.22", "2.2": "1.30"}
"""Those that a generation of the rehearsal cluster has, too: they are built by its recipe."""


def add_containerd(version: str, layer: Path, progress: Progress = silent) -> None:
    """Put containerd of that version, its shims and ctr into `layer`/usr/bin, and crictl, which is a stand-in.

    Raises:
        KeyError: there is no such version here.
        ProblemsError: it can't be built.
    """
    tools = ensure_containerd(version, progress)
    target = layer / "usr/bin"
    target.mkdir(parents=True)
    for name, program in tools.programs.items():
        _link_or_copy(program, target / name)


def ensure_containerd(version: str, progress: Progress = silent) -> Tools:
    """The same programs, built when the cache lacks them; raises the same errors."""
    go = load_generation("1.30").go
    crictl = Tool("crictl", _MODULES / "crictl", {"crictl": "."})
    return ensure_tools(Generation("test hosts", go, (_containerd(version), crictl), {}, ()), progress=progress)


def _containerd(version: str) -> Tool:
    if generation := _SHARED.get(version):
        return next(tool for tool in load_generation(generation).tools if tool.name == "containerd")
    module = f"github.com/containerd/containerd{'' if version.startswith('1.') else '/v2'}"
    return Tool(
        name=f"containerd-{version}",
        directory=_MODULES / f"containerd-{version}",
        programs={name: f"{module}/cmd/{name}" for name in _PROGRAMS},
        tags=("no_aufs", "no_btrfs", "no_devmapper", "no_zfs"),
        stamps={f"{module}/version.Version": CONTAINERD[version]},
    )


def _link_or_copy(source: Path, target: Path) -> None:
    """The same file under another name, or a copy of it where that is on another disk."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)
