"""Archives become trees that are known by the sum of what they hold; nothing else is ever kept."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.manifests.trees import Trees, content_sum, keep_plain

TEXT = b"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"


def archive(path: Path, members: dict[str, bytes], mode: str = "gz") -> Path:
    with tarfile.open(path, f"w:{mode}") as tar:  # type: ignore[call-overload]
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    return path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_the_content_sum_is_over_sorted_lines_of_sums_and_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "x").write_bytes(b"1")
    (tmp_path / "a").symlink_to("b/x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_bytes(b"not counted")
    lines = f"{hashlib.sha256(b'b/x').hexdigest()}  a\n{hashlib.sha256(b'1').hexdigest()}  b/x\n"
    assert content_sum(tmp_path) == hashlib.sha256(lines.encode()).hexdigest()


def test_compression_order_and_top_directory_do_not_count(tmp_path: Path) -> None:
    trees = Trees(tmp_path / "trees")
    first = trees.unpacked(archive(tmp_path / "1.tar.gz", {"v-1/a": b"1", "v-1/b/c": b"2"}))
    second = trees.unpacked(archive(tmp_path / "2.tar", {"other/b/c": b"2", "other/a": b"1"}, ""))
    assert first == second
    assert (first / "b" / "c").read_bytes() == b"2"
    assert first.name == content_sum(first)


def test_an_archive_is_unpacked_once(tmp_path: Path) -> None:
    trees, path = Trees(tmp_path / "trees"), archive(tmp_path / "a.tar.gz", {"v/m.yaml": TEXT})
    file = trees.unpacked(path) / "m.yaml"
    changed = file.stat().st_mtime_ns
    assert (trees.unpacked(path) / "m.yaml").stat().st_mtime_ns == changed


@pytest.mark.parametrize("damage", ["changed", "removed"])
def test_a_tree_that_was_damaged_is_made_anew(tmp_path: Path, damage: str) -> None:
    trees, path = Trees(tmp_path / "trees"), archive(tmp_path / "a.tar.gz", {"v/m.yaml": TEXT, "v/n": b"n"})
    file = trees.unpacked(path) / "m.yaml"
    file.unlink() if damage == "removed" else file.write_bytes(b"other")
    assert trees.of_content(file.parent.name) is None
    assert (trees.unpacked(path) / "m.yaml").read_bytes() == TEXT


def test_runs_at_the_same_time_get_the_same_whole_tree(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", {f"v/{number}": bytes([number]) * 1000 for number in range(100)})
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: Trees(tmp_path / "trees").unpacked(path), range(16)))
    (tree,) = found
    assert content_sum(tree) == tree.name
    assert left(tmp_path / "trees") == sorted([tree.name, "index"])


def test_what_a_killed_run_left_goes_after_a_day(tmp_path: Path) -> None:
    trees = tmp_path / "trees"
    for name, age in (("new-old", 100_000), ("new-young", 100)):
        (trees / name / "content").mkdir(parents=True)
        os.utime(trees / name, (time.time() - age,) * 2)
    tree = Trees(trees).unpacked(archive(tmp_path / "a.tar.gz", {"v/m.yaml": TEXT}))
    assert left(trees) == sorted([tree.name, "index", "new-young"])


def test_another_content_is_refused_and_not_kept(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", {"v/m.yaml": TEXT})
    with pytest.raises(InvalidInput, match="the-origin has the content sum"):
        Trees(tmp_path / "trees").unpacked(path, "0" * 64, "the-origin")
    assert left(tmp_path / "trees") == []


def test_an_archive_that_reaches_outside_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        Trees(tmp_path / "x" / "trees").unpacked(archive(tmp_path / "a.tar.gz", {"../../../outside": TEXT}))
    assert not list(tmp_path.rglob("outside"))
    assert left(tmp_path / "x" / "trees") == []


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.SYMTYPE, "../../outside"),
        (tarfile.LNKTYPE, "x"),
        (tarfile.FIFOTYPE, ""),
    ],
    ids=["absolute link", "link upwards", "hard link", "pipe"],
)
def test_an_archive_with_links_out_or_with_special_files_is_refused(tmp_path: Path, kind: bytes, target: str) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo("x/odd")
        member.type, member.linkname = kind, target
        tar.addfile(member)
    with pytest.raises(InvalidInput, match="x/odd"):
        Trees(tmp_path / "trees").unpacked(path)
    assert left(tmp_path / "trees") == []


def test_a_link_inside_an_archive_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        file, link = tarfile.TarInfo("v/real.yaml"), tarfile.TarInfo("v/installer/volcano-development.yaml")
        file.size = len(TEXT)
        link.type, link.linkname = tarfile.SYMTYPE, "../real.yaml"
        tar.addfile(file, io.BytesIO(TEXT))
        tar.addfile(link)
    tree = Trees(tmp_path / "trees").unpacked(path)
    assert (tree / "installer" / "volcano-development.yaml").read_bytes() == TEXT


def test_a_truncated_archive_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", {"x/big": bytes(range(256)) * 4000})
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        Trees(tmp_path / "trees").unpacked(path)
    assert left(tmp_path / "trees") == []


def test_a_compressed_file_is_kept_without_its_compression(tmp_path: Path) -> None:
    packed = tmp_path / "m.yaml.gz"
    packed.write_bytes(gzip.compress(TEXT))
    kept = keep_plain(packed, tmp_path / "cache")
    assert (kept.name, kept.read_bytes()) == ("m.yaml", TEXT)
    kept.write_bytes(b"damaged")
    assert keep_plain(packed, tmp_path / "cache").read_bytes() == TEXT
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        keep_plain(packed, tmp_path / "other")
    assert left(tmp_path / "other") == []
