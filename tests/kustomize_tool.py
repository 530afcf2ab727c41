"""The kustomize that a generation of the rehearsal cluster uses: from the cache of its tools, or built now."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.tools import ensure_tools


def kustomize_of(generation: str) -> Path:
    """The program: 3.2.0 for "1.22", a later one for others."""
    whole = load_generation(generation)
    alone = replace(whole, tools=tuple(tool for tool in whole.tools if tool.name == "kustomize"))
    return ensure_tools(alone).programs["kustomize"]
