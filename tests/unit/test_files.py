"""Files that hold the old content or the new one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kubeflow_volcano.files import replacing, write_file


def test_content_and_mode_are_there_in_one_step(tmp_path: Path) -> None:
    place = tmp_path / "a" / "b.txt"

    assert write_file(place, "grün", 0o600)
    assert (place.read_text(), place.stat().st_mode & 0o777) == ("grün", 0o600)
    assert [item.name for item in place.parent.iterdir()] == ["b.txt"]


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "f"
    write_file(place, b"x", 0o644)
    before = place.stat().st_ino

    assert not write_file(place, "x", 0o644)
    assert place.stat().st_ino == before
    assert write_file(place, "x", 0o600)


def test_without_a_mode_the_umask_decides(tmp_path: Path) -> None:
    former = os.umask(0o027)
    try:
        write_file(tmp_path / "f", "x")
    finally:
        os.umask(former)

    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


def test_a_secret_is_never_readable_by_others(tmp_path: Path) -> None:
    with replacing(tmp_path / "f", 0o600) as stream:
        stream.write(b"secret")
        assert [item.stat().st_mode & 0o777 for item in tmp_path.iterdir()] == [0o600]


def test_what_breaks_off_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "f"
    write_file(place, "old")

    def break_off() -> None:
        with replacing(place) as stream:
            stream.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        break_off()

    assert place.read_text() == "old"
    assert [item.name for item in tmp_path.iterdir()] == ["f"]


def test_a_name_as_long_as_the_file_system_allows_works(tmp_path: Path) -> None:
    write_file(tmp_path / ("n" * 255), "x")

    assert (tmp_path / ("n" * 255)).read_text() == "x"
