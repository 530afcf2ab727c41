"""Upstream's manifests of sign-in and profiles, of each release whose archive is at hand."""

from __future__ import annotations

import pytest

from kubeflow_volcano.catalog import read
from tests.unit.releases import Upstream, WholeRelease


@pytest.fixture(scope="session", params=read.releases())
def upstream(request: pytest.FixtureRequest, whole_release: WholeRelease) -> Upstream:
    """Of each release in turn."""
    names = ("dex", "oauth2-proxy", "oidc-authservice", "profiles", "user-namespace")
    return whole_release(request.param).only(names)
