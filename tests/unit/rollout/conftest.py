"""What several tests of the roll-out use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def upstream_dir() -> Path:
    """Real upstream manifests beside the checkout; skipped where they are not."""
    folder = Path(__file__).parents[4] / "shared" / "upstream"
    if not folder.is_dir():
        pytest.skip("no upstream manifests beside the checkout")
    return folder


@pytest.fixture(scope="session")
def kustomize() -> Path:
    """A kustomize that somebody has put into the cache: the rehearsal cluster's or the role's."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kubeflow-volcano"
    found = [*cache.glob("rehearsal/*/bin/kustomize"), *cache.glob("kustomize/*/kustomize")]
    if not found:
        pytest.skip("no kustomize in the cache; `make rehearse` or the role kustomize puts one there")
    return found[0]
