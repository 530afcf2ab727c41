"""What several tests of the roll-out use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.generation import load_generation
from kubeflow_volcano.rehearsal.tools import ensure_tools


@pytest.fixture(scope="session")
def upstream_dir() -> Path:
    """Real upstream manifests beside the checkout; skipped where they are not."""
    folder = Path(__file__).parents[4] / "shared" / "upstream"
    if not folder.is_dir():
        pytest.skip("no upstream manifests beside the checkout")
    return folder


@pytest.fixture(scope="session")
def kustomize() -> Path:
    """Kustomize 5, as the rehearsal cluster uses it: from the cache of its tools, or built now."""
    return _built("1.30")


@pytest.fixture(scope="session")
def kustomize_3() -> Path:
    """Kustomize 3.2.0, likewise."""
    return _built("1.22")


def _built(generation: str) -> Path:
    whole = load_generation(generation)
    alone = replace(whole, tools=tuple(tool for tool in whole.tools if tool.name == "kustomize"))
    return ensure_tools(alone).programs["kustomize"]
