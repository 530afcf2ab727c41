"""The user's directories."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeflow_volcano.directories import cache_directory, config_directory


def test_they_lie_where_the_variables_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/user")

    assert cache_directory() == Path("/var/caches/kubeflow-volcano")
    assert config_directory() == Path("/etc/user/kubeflow-volcano")


@pytest.mark.parametrize("value", [None, "", "relative/path"])
def test_else_they_lie_in_the_home_directory(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.setenv("HOME", "/home/ops")
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
        if value is not None:
            monkeypatch.setenv(name, value)

    assert cache_directory() == Path("/home/ops/.cache/kubeflow-volcano")
    assert config_directory() == Path("/home/ops/.config/kubeflow-volcano")
