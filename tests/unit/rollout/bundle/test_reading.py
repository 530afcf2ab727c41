"""What is read of a bundle is what was written, or is refused by its name."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.rollout.bundle.contents import CONTENTS, SUMS, load
from kubeflow_volcano.rollout.bundle.reading import Bundle

VOLCANO = "https://a.example/volcano.yaml#sha256=1"


def refused(directory: Path) -> list[str]:
    """Why a bundle is not used: opened, then verified whole."""
    with pytest.raises(InvalidInput) as caught:
        Bundle.open(directory).verify()
    assert all(problem.needed and problem.todo for problem in caught.value.problems)
    return [str(problem) for problem in caught.value.problems]


def listed(directory: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the list, and give it the sum of its new content, as someone who means harm would."""
    place = directory / CONTENTS
    data = json.loads(place.read_text("utf-8"))
    data.pop("sha256")
    change(data)
    spelled = json.dumps(data, indent=1) + "\n"
    whole = {**data, "sha256": hashlib.sha256(spelled.encode()).hexdigest()}
    place.write_text(json.dumps(whole, indent=1) + "\n", "utf-8")


def test_each_file_is_found_by_its_source(bundle: Path) -> None:
    opened = Bundle.open(bundle)
    opened.verify()
    assert opened.file(VOLCANO) == bundle / "manifests/volcano.yaml"
    assert opened.file("https://a.example/volcano.yaml") is None
    assert (opened.contents.complete, opened.contents.release, len(opened.contents.files)) == (True, "1.9.1", 6)


@pytest.mark.programs
def test_sha256sum_verifies_a_bundle_without_this_project(bundle: Path) -> None:
    verify = ["sha256sum", "--check", "--quiet", "--strict", SUMS]
    assert subprocess.run(verify, cwd=bundle, check=False, capture_output=True).returncode == 0
    (bundle / CONTENTS).write_bytes((bundle / CONTENTS).read_bytes() + b" ")
    done = subprocess.run(verify, cwd=bundle, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, f"{CONTENTS}: FAILED\n")


def test_every_file_with_one_other_bit_is_refused_by_its_name(bundle: Path) -> None:
    files = sorted(path for path in bundle.rglob("*") if path.is_file() and path.name != SUMS)
    assert len(files) == 7
    for file in files:
        content = file.read_bytes()
        near = file.relative_to(bundle).as_posix()
        for bit in random.Random(7).sample(range(8 * len(content)), min(8 * len(content), 24)):  # noqa: S311  any will do
            broken = bytearray(content)
            broken[bit // 8] ^= 1 << bit % 8
            file.write_bytes(broken)
            assert any(near in text for text in refused(bundle)), (near, bit)
        if not content:
            file.write_bytes(b"\0")
            assert [near in text for text in refused(bundle)] == [True]
        file.write_bytes(content)
    Bundle.open(bundle).verify()


@pytest.mark.parametrize(
    "change",
    [
        lambda place: place.unlink(),
        lambda place: place.write_bytes(b"short"),
        lambda place: (place.unlink(), place.symlink_to("/etc/hostname")),
        lambda place: (place.unlink(), place.mkdir()),
    ],
    ids=["missing", "truncated", "a link", "a directory"],
)
def test_a_file_that_is_none_is_refused_by_its_name(bundle: Path, change: Callable[[Path], object]) -> None:
    change(bundle / "wheels/amd64/pack-1.0-py3-none-any.whl")
    (text,) = refused(bundle)
    assert "wheels/amd64/pack-1.0-py3-none-any.whl" in text
    assert "missing or wrong" in text


def test_all_damaged_files_are_named_at_once(bundle: Path) -> None:
    for name in ("kustomize/kustomize.tar.gz", "images/q.io/a/1.0/manifest.json"):
        (bundle / name).write_bytes(b"other")
    assert [name in text for name, text in zip(("images/", "kustomize/"), refused(bundle), strict=True)] == [True] * 2
    opened = Bundle.open(bundle)
    assert opened.file(VOLCANO)
    opened.verify("images/registry.lan:5000/b/2.0")
    with pytest.raises(InvalidInput, match=r"images/q.io/a/1.0/manifest.json"):
        opened.verify("images/q.io/a/1.0")


def test_files_that_the_list_does_not_know_are_refused_and_notes_beside_them_are_not(bundle: Path) -> None:
    (bundle / "README").write_text("carried by hand")
    (bundle / "lost+found").mkdir()
    Bundle.open(bundle).verify()
    (bundle / "wheels/amd64/evil-1.0-py3-none-any.whl").write_text("")
    (bundle / "manifests/more").symlink_to("/etc")
    (text,) = refused(bundle)
    assert "manifests/more, wheels/amd64/evil-1.0-py3-none-any.whl" in text


@pytest.mark.parametrize(
    "path",
    [
        "../outside",
        "manifests/../../outside",
        "/etc/passwd",
        "manifests//etc",
        "manifests",
        "manifests/",
        "manifests/./a",
        "manifests/.hidden",
        "manifests/a\nb",
        "manifests/a\\b",
        "scripts/a",
        "",
    ],
)
def test_a_path_that_no_file_of_a_bundle_has_is_refused(bundle: Path, path: str) -> None:
    (bundle.parent / "outside").write_bytes(b"kind: A\n")
    listed(bundle, lambda data: data["files"][-1].update(path=path))
    (text,) = refused(bundle)
    assert CONTENTS in text
    assert repr(path) in text


def test_a_file_that_is_listed_twice_or_without_a_sum_is_refused(bundle: Path) -> None:
    listed(bundle, lambda data: data["files"].append(data["files"][0]))
    assert "listed twice" in refused(bundle)[0]
    listed(bundle, lambda data: (data["files"].pop(), data["files"][0].update(sha256="")))
    assert "no size" in refused(bundle)[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: data.update(format="kfv.bundle/v2"), "has the format kfv.bundle/v2"),
        (lambda data: data.update(format="other"), "its format is not kfv.bundle/v1"),
        (lambda data: data.update(files="all"), "files is str, not list"),
        (lambda data: data.pop("release"), "lacks release"),
        (lambda data: data.update(unknown=1), "does not have the sum"),
        (lambda data: data.update(complete=False), "is not complete"),
    ],
)
def test_another_format_and_an_incomplete_bundle_are_refused(
    bundle: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    listed(bundle, change)
    (text,) = refused(bundle)
    assert words in text


def test_a_directory_that_is_no_bundle_is_refused(bundle: Path, tmp_path: Path) -> None:
    for directory in (tmp_path / "absent", tmp_path):
        assert re.search(f"{directory} .*{CONTENTS}: No such file", refused(directory)[0])
    (bundle / CONTENTS).write_text("{")
    assert "is not JSON" in refused(bundle)[0]
    shutil.rmtree(bundle)
    bundle.write_text("")
    assert "is no bundle" in refused(bundle)[0]


def test_the_order_of_files_is_that_of_their_paths(bundle: Path) -> None:
    paths = [entry.path for entry in load(bundle).files]
    assert paths == sorted(paths)
