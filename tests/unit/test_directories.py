"""The user's directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.directories import cache_directory


def test_it_lies_where_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    assert cache_directory() == Path("/var/caches/kubeflow-volcano")


@pytest.mark.parametrize("value", [None, "", "relative/path"])
def test_else_it_lies_in_the_home_directory(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.setenv("HOME", "/home/ops")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if value is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", value)
    assert cache_directory() == Path("/home/ops/.cache/kubeflow-volcano")
