"""The user's directory."""

from __future__ import annotations

import grp
import os
import pwd
from pathlib import Path

import pytest

from kubeflow_volcano.directories import cache_directory, require_private
from kubeflow_volcano.problems import InvalidInput


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


@pytest.mark.parametrize(
    ("mode", "owner", "who"),
    [
        (0o755, (0, 0), ""),
        (0o775, (0, 0), ""),
        (0o1777, (0, 0), ""),
        (0o775, (1000, 1000), ""),  # a group that has nobody but its user
        (0o775, (1000, 1001), "the group team"),
        (0o775, (1000, 1002), "the group 1002"),
        (0o777, (0, 0), "everybody"),
        (0o700, (1003, 0), "the user 1003"),
    ],
)
def test_who_may_change_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, owner: tuple[int, int], who: str
) -> None:
    users = {1000: "ops", 0: "root"}
    groups = {1000: ("ops", []), 1001: ("team", ["ops", "eve"]), 0: ("root", [])}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: pwd.struct_passwd((users[uid], "", uid, 0, "", "", "")))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group((groups[gid][0], "", gid, groups[gid][1])))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    place = tmp_path / "cache"
    place.mkdir()
    os.chown(place, *owner)
    place.chmod(mode)
    if who:
        with pytest.raises(InvalidInput, match=f"{who} .*{place} "):
            require_private(place / "absent")
    else:
        require_private(place / "absent")


def test_a_user_without_a_home_may_have_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", unknown)
    require_private(tmp_path)
    tmp_path.chmod(0o777)
    with pytest.raises(InvalidInput, match="everybody"):
        require_private(tmp_path)


def test_what_is_above_the_home_directory_is_not_this_user_s_affair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "shared/home")
    (tmp_path / "shared/home").mkdir(parents=True)
    (tmp_path / "shared").chmod(0o777)
    require_private(tmp_path / "shared/home/.cache")
    with pytest.raises(InvalidInput, match="everybody"):
        require_private(tmp_path / "shared/.cache")
