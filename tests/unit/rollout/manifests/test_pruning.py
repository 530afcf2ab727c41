"""Old entries of the cache are removed, never one that is in use."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.manifests import pruning
from kubeflow_volcano.rollout.manifests.pruning import Uses, mark_used, prune
from kubeflow_volcano.rollout.manifests.trees import Trees

DAY = 86_400
KEY = "1" * 64


def name(number: int) -> str:
    return f"{number:064x}"


def entry(cache: Path, folder: str, number: int, days: float) -> Path:
    """An entry of the cache that was last used so many days ago."""
    place = cache / folder / (f"{name(number)}.json" if folder == "renders" else name(number))
    if folder == "renders":
        place.parent.mkdir(exist_ok=True)
        place.write_text("[]")
    else:
        place.mkdir(parents=True)
        (place / "file").write_text("text")
    os.utime(place, (0, time.time() - days * DAY))
    return place


@pytest.mark.parametrize("folder", ["renders", "trees", "downloads"])
def test_what_was_not_used_for_a_month_is_removed(tmp_path: Path, folder: str) -> None:
    old, young = entry(tmp_path, folder, 1, 31), entry(tmp_path, folder, 2, 29)
    lines: list[str] = []
    prune(tmp_path, lines.append)
    assert (old.exists(), young.exists()) == (False, True)
    (line,) = lines
    assert re.match(f"removed 1 .*{tmp_path}", line)
    assert [path.name for path in (tmp_path / folder).iterdir()] == [young.name]


@pytest.mark.parametrize("folder", ["renders", "trees", "downloads"])
def test_the_least_recently_used_of_too_many_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    few = tuple(pruning._Folder(item.name, item.entries, 2) for item in pruning._FOLDERS)  # noqa: SLF001
    monkeypatch.setattr(pruning, "_FOLDERS", few)
    places = [entry(tmp_path, folder, number, days) for number, days in enumerate((5, 3, 9, 0.5))]
    prune(tmp_path, silent)
    assert [place.exists() for place in places] == [False, True, False, True]


def test_what_was_used_today_stays_however_many_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = tuple(pruning._Folder(item.name, item.entries, 0) for item in pruning._FOLDERS)  # noqa: SLF001
    monkeypatch.setattr(pruning, "_FOLDERS", none)
    place = entry(tmp_path, "trees", 1, 40)
    mark_used(place)
    prune(tmp_path, silent)
    assert place.exists()


@pytest.mark.programs
def test_what_another_process_holds_stays(tmp_path: Path) -> None:
    place = entry(tmp_path, "trees", 1, 40)
    text = "import sys; from pathlib import Path; from kubeflow_volcano.rollout.manifests.pruning import Uses\n"
    text += "uses = Uses(); print(uses.hold(Path(sys.argv[1])), flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", text, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "True\n"
        os.utime(place, (0, 0))
        prune(tmp_path, silent)
        assert place.exists()
        other.communicate()
    prune(tmp_path, silent)
    assert not place.exists()


def test_what_is_released_can_be_removed(tmp_path: Path) -> None:
    place, uses = entry(tmp_path, "trees", 1, 40), Uses()
    assert uses.hold(place)
    os.utime(place, (0, 0))
    prune(tmp_path, silent)
    assert place.exists()
    del uses
    prune(tmp_path, silent)
    assert not place.exists()


def test_an_absent_entry_cannot_be_held(tmp_path: Path) -> None:
    assert not Uses().hold(tmp_path / "absent")


def test_nothing_else_in_the_cache_is_touched(tmp_path: Path) -> None:
    for place in (tmp_path / "trees/notes", tmp_path / "tools" / name(1), tmp_path / "rehearsal/one"):
        place.mkdir(parents=True)
        os.utime(place, (0, 0))
    prune(tmp_path, silent)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.name not in {"trees", "tools", "rehearsal"}) == [
        name(1),
        "notes",
        "one",
    ]
    prune(tmp_path / "absent", silent)


def test_a_tree_that_is_used_again_counts_as_used_and_its_record_goes_with_it(tmp_path: Path) -> None:
    def fill(folder: Path) -> Path:
        (folder / "a").write_text("a")
        return folder

    trees = Trees(tmp_path / "trees")
    tree = trees.make(KEY, fill)
    os.utime(tree, (0, 0))
    assert Trees(tmp_path / "trees").made_from(KEY) == tree
    assert time.time() - tree.stat().st_mtime < DAY
    del trees
    os.utime(tree, (0, 0))
    prune(tmp_path, silent)
    assert not tree.exists()
    assert not (tmp_path / "trees/index" / KEY).exists()


@pytest.mark.parametrize("linked", ["renders", "trees", "trees/index", "downloads"])
def test_nothing_is_removed_through_a_link(tmp_path: Path, linked: str) -> None:
    home = tmp_path / "home"
    for name in (f"{'1' * 64}.json", "2" * 64, f"{'2' * 64}-whole", "notes"):
        home.mkdir(exist_ok=True)
        (home / name).write_text("of a person")
        os.utime(home / name, (0, 0))
    (tmp_path / "cache/trees").mkdir(parents=True)
    place = tmp_path / "cache" / linked
    if place.is_dir():
        place.rmdir()
    place.symlink_to(home)
    prune(tmp_path / "cache", silent)
    assert len([*home.iterdir()]) == 4


def test_only_records_of_sources_go_with_their_trees(tmp_path: Path) -> None:
    index = tmp_path / "trees/index"
    index.mkdir(parents=True)
    for name in ("2" * 64, f"{'3' * 64}-whole", "notes"):
        (index / name).write_text("4" * 64)
    prune(tmp_path, silent)
    assert [path.name for path in index.iterdir()] == ["notes"]
