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
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.manifests import archives
from kubeflow_volcano.rollout.manifests.archives import is_archive
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
    with pytest.raises(InvalidInput, match="the-origin has"):
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


Entry = tuple[str, bytes, str]
"""Name, type and, of a link, its target."""


def linked(path: Path, *entries: Entry) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, kind, target in entries:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            tar.addfile(member)
    return path


@pytest.mark.parametrize(
    "entries",
    [
        [("v/l", tarfile.SYMTYPE, "d/e/up/../.."), ("v/d/e", tarfile.DIRTYPE, ""), ("v/d/e/up", tarfile.SYMTYPE, "..")],
        [("v/l", tarfile.SYMTYPE, "../other/x")],
        [("v/d", tarfile.DIRTYPE, ""), ("v/l", tarfile.SYMTYPE, "d"), ("v/l/x", tarfile.REGTYPE, "")],
        [("v/l", tarfile.SYMTYPE, "x"), ("v/l", tarfile.REGTYPE, "")],
    ],
    ids=["out by way of another", "out of the top directory", "a file below a link", "a file in place of a link"],
)
def test_links_that_lead_out_in_two_steps_are_refused(tmp_path: Path, entries: list[Entry]) -> None:
    with pytest.raises(InvalidInput, match="v/l"):
        Trees(tmp_path / "trees").unpacked(linked(tmp_path / "a.tar.gz", *entries))
    assert left(tmp_path / "trees") == []


def test_what_is_larger_than_any_release_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 20_000)
    monkeypatch.setattr(archives, "_MOST_MEMBERS", 3)
    large = archive(tmp_path / "large.tar.gz", {"v/zeros": bytes(30_000)})
    many = archive(tmp_path / "many.tar.gz", {f"v/{number}": b"" for number in range(4)})
    bomb = tmp_path / "m.yaml.gz"
    bomb.write_bytes(gzip.compress(bytes(30_000)))
    for path in (large, many):
        with pytest.raises(InvalidInput, match="more than 3"):
            Trees(tmp_path / "trees").unpacked(path)
    with pytest.raises(InvalidInput, match="more than"):
        keep_plain(bomb, tmp_path / "cache")
    assert left(tmp_path / "trees") == left(tmp_path / "cache") == []


def test_no_single_flipped_bit_passes_unnoticed(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", {"v/a.yaml": TEXT, "v/b.yaml": TEXT * 2})
    whole, content = path.read_bytes(), Trees(tmp_path / "whole").unpacked(path).name
    refused = 0
    tried = range(0, 8 * len(whole), 7)  # every place of a bit in its byte, and every part of the file
    for bit in tried:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            assert Trees(tmp_path / "trees").unpacked(path).name == content, bit
        except InvalidInput:
            refused += 1
    assert refused > 0.9 * (len(tried) - 8 * 20 / 7)  # flags, time and name of the header change nothing


def test_a_damaged_header_does_not_end_an_archive_without_compression(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar", {"v/a.yaml": TEXT, "v/b.yaml": TEXT}, "")
    whole = path.read_bytes()
    second = 2 * tarfile.BLOCKSIZE
    for bit in range(8 * second, 8 * (second + tarfile.BLOCKSIZE), 41):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(InvalidInput, match="damaged header"):
            Trees(tmp_path / "trees").unpacked(path)
    path.write_bytes(whole[: 4 * tarfile.BLOCKSIZE])
    with pytest.raises(InvalidInput, match="without the mark"):
        Trees(tmp_path / "trees").unpacked(path)


def test_a_tree_that_an_earlier_version_kept_of_a_damaged_archive_is_not_used(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar.gz", {"v/m.yaml": TEXT})
    trees = Trees(tmp_path / "trees")
    tree = trees.unpacked(path)
    damaged = bytearray(path.read_bytes())
    damaged[-8] ^= 1
    path.write_bytes(damaged)
    (tmp_path / "trees" / "index" / hashlib.sha256(damaged).hexdigest()).write_text(tree.name)
    with pytest.raises(InvalidInput, match="CRC check failed"):
        trees.unpacked(path)


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


def header(path: Path, **fields: Any) -> tarfile.TarInfo:
    """A member of that path, with these fields."""
    entry = tarfile.TarInfo(str(path))
    for name, value in fields.items():
        setattr(entry, name, value)
    return entry


def sparse_by_pax(version: str, **more: str) -> tarfile.TarInfo:
    major, _, minor = version.partition(".")
    records = {"GNU.sparse.major": major, "GNU.sparse.minor": minor, "GNU.sparse.name": "v/a", "GNU.sparse.size": "9"}
    return header(Path("v/a"), size=512, pax_headers={**records, **more})


def old_sparse(text: bytes) -> bytes:
    """A member of GNU's own kind for sparse files, with this in the place of its map."""
    entry = bytearray(header(Path("v/a"), size=512).tobuf(tarfile.GNU_FORMAT))
    entry[156:157] = b"S"
    entry[386 : 386 + len(text)] = text
    entry[148:156] = b"%06o\0 " % (sum(entry[:148]) + 8 * 32 + sum(entry[156:512]))
    return bytes(entry) + bytes(512)


OLD_MAP = b"00000000001\0" * 2 + bytes(72) + b"\1" + b"77777777777\0"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (header(Path("v", *["a"] * 3000)), "more than 100 levels"),
        (header(Path("v", *["a"] * 101)), "more than 100 levels"),
        (header(Path("v", "a" * 300)), "too long"),
        (header(Path("v/a\0b"), pax_headers={"path": "v/a\0b"}), "cannot be used"),
        (sparse_by_pax("1.0"), "v/a is a sparse file|is a sparse file"),
        (sparse_by_pax("0.1", **{"GNU.sparse.map": "0,9223372036854775807"}), "is a sparse file"),
        (sparse_by_pax("0.0", **{"GNU.sparse.numblocks": "1", "GNU.sparse.offset": "-1"}), "is a sparse file"),
        (old_sparse(OLD_MAP), "is a sparse file"),
        (old_sparse(b""), "is a sparse file"),
    ],
    ids=lambda item: item if isinstance(item, str) else "",
)
@pytest.mark.parametrize("name", ["a.tar", "a.bin"])
def test_an_odd_header_is_damage_and_no_traceback(
    tmp_path: Path, content: tarfile.TarInfo | bytes, why: str, name: str
) -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as tar:
        if isinstance(content, tarfile.TarInfo):
            tar.addfile(content, io.BytesIO(bytes(content.size)))
        else:
            whole.write(content)
            tar.offset += len(content)
    (tmp_path / name).write_bytes(whole.getvalue())
    assert is_archive(tmp_path / name)
    with pytest.raises(InvalidInput, match=f"cannot be unpacked.*{why}"):
        Trees(tmp_path / "trees").unpacked(tmp_path / name)


def test_a_size_below_zero_ends_the_reading(tmp_path: Path) -> None:
    entry = bytearray(header(Path("v/a")).tobuf(tarfile.GNU_FORMAT))
    entry[124:136] = b"\xff" * 10 + b"\xfe\x00"  # -512 in base 256
    entry[148:156] = b"%06o\0 " % (sum(entry[:148]) + 8 * 32 + sum(entry[156:512]))
    (tmp_path / "a.tar").write_bytes(bytes(entry) * 2 + bytes(1024))
    with pytest.raises(InvalidInput, match="cannot be unpacked"):
        Trees(tmp_path / "trees").unpacked(tmp_path / "a.tar")
