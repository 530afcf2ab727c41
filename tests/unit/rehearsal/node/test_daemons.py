"""Programs of the node."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kubeflow_volcano.rehearsal.node.daemons import interpreter


def test_the_python_of_the_node_is_the_one_that_an_environment_was_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment may have a copy of it, of which the node knows nothing."""
    base = Path(sys.base_prefix).resolve()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "environment/bin/python"))
    assert Path(interpreter()).is_relative_to(base)
