"""Files that hold the old content or the new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kubeflow_volcano.files import links_in, remove_file_below, remove_tree_below, replacing, write_file


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


def test_a_file_goes_with_the_directories_that_had_nothing_else(tmp_path: Path) -> None:
    write_file(tmp_path / "a/b/c", "x")
    write_file(tmp_path / "a/d", "x")
    remove_file_below(tmp_path, "a/b/c")
    remove_file_below(tmp_path, "a/b/c")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "d"]


@pytest.mark.parametrize("remove", [remove_file_below, remove_tree_below])
@pytest.mark.parametrize("path", ["link/a/f", "link/a"])
def test_nothing_is_removed_through_a_link(tmp_path: Path, remove: Callable[..., None], path: str) -> None:
    write_file(tmp_path / "home/a/f", "x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root/link").symlink_to(tmp_path / "home")
    with pytest.raises(NotADirectoryError):
        remove(tmp_path / "root", path)
    assert (tmp_path / "home/a/f").exists()


def test_a_link_goes_as_a_file_and_is_no_tree(tmp_path: Path) -> None:
    write_file(tmp_path / "home/f", "x")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    assert [*links_in(tmp_path)] == [*links_in(tmp_path / "link")] == [tmp_path / "link"]
    with pytest.raises(NotADirectoryError):
        remove_tree_below(tmp_path, "link")
    remove_file_below(tmp_path, "link")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    remove_tree_below(tmp_path, "home")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("path", ["../f", "a/../../f", "/f"])
def test_what_is_not_below_the_directory_is_no_path_to_remove(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="is not below"):
        remove_file_below(tmp_path, path)
