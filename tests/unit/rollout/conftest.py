"""What several tests of the roll-out use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kustomize_tool import kustomize_of
from tests.places import UPSTREAM


@pytest.fixture(scope="session")
def upstream_dir() -> Path:
    """Real upstream manifests beside the checkout; skipped where they are not."""
    folder = UPSTREAM
    if not folder.is_dir():
        pytest.skip("no upstream manifests beside the checkout")
    return folder


@pytest.fixture(scope="session")
def kustomize() -> Path:
    """Kustomize 5, as the rehearsal cluster uses it: from the cache of its tools, or built now."""
    return kustomize_of("1.30")


@pytest.fixture(scope="session")
def kustomize_3() -> Path:
    """Kustomize 3.2.0, likewise."""
    return kustomize_of("1.22")
