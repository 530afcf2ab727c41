"""Hosts for the tests that reach some over SSH."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.lab import Host, Lab
from tests.places import ROOT


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A lab of this run's own; see `Lab`. testinfra finds Ansible and its configuration."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        patch.setenv("ANSIBLE_CONFIG", str(ROOT / "ansible.cfg"))
        lab = Lab()
        yield lab
        lab.remove()


@pytest.fixture
def host(lab: Lab) -> Iterator[Host]:
    """A fresh openEuler 24.03 host without containerd."""
    host = lab.start()
    yield host
    host.remove()
