"""The images of the component local-path, what its plan is made from; for tests that pull and copy them."""

from __future__ import annotations

import pytest

from kubeflow_volcano.directories import cache_directory
from tests.places import ROOT, UPSTREAM

__all__ = ["CACHE", "IMAGES", "MANIFEST", "NEEDED", "ROOT"]

MANIFEST = UPSTREAM / "local-path-storage-0.0.37.yaml"
CACHE = cache_directory()
IMAGES = (
    ("docker.io/library/busybox", "1.36"),
    ("docker.io/library/busybox", "latest"),
    ("docker.io/rancher/local-path-provisioner", "v0.0.37"),
    ("registry.k8s.io/pause", "3.10"),
)
"""What the component local-path and the validation bring; the last is the nodes' sandbox image as well."""
NEEDED = [
    pytest.mark.upstream,
    pytest.mark.skipif(not MANIFEST.is_file(), reason="no upstream manifests"),
]
"""Marks of tests that plan with them."""
