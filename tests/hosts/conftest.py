"""Hosts for the tests that reach some over SSH."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hosts.lab import Host, Lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A lab of this run's own; see `Lab`."""
    lab = Lab()
    yield lab
    lab.remove()


@pytest.fixture
def host(lab: Lab) -> Iterator[Host]:
    """A fresh openEuler 24.03 host without containerd."""
    host = lab.start()
    yield host
    host.remove()
