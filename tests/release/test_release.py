"""A release from a copy of the checkout: two builds are the same, and what cannot be released is refused."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tarfile
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml

from kubeflow_volcano.problems import ProblemsError
from tests.places import ROOT
from tests.release import __main__ as release
from tests.release import cutting, promises
from tests.release.build import SUMS, build, clone, git
from tests.release.changelog import UNRELEASED, sections
from tests.release.trial import verdict_in

EPOCH = 1_700_000_000
VERSION = "12.3.4"


@pytest.fixture(autouse=True)
def author(monkeypatch: pytest.MonkeyPatch) -> None:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A. Nother")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "a@example.org")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clone of the commit that is tested."""
    clone(ROOT, tmp_path / "checkout")
    return tmp_path / "checkout"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two builds of one commit: in other places, by users with other umasks."""
    place = tmp_path_factory.mktemp("release")
    for name, mask in (("first", 0o022), ("second", 0o077)):
        before = os.umask(mask)
        try:
            clone(ROOT, place / f"source of {name}")
            (place / name).mkdir()
            build(place / f"source of {name}", place / name, EPOCH)
        finally:
            os.umask(before)
    return place / "first", place / "second"


@pytest.mark.parametrize("verdict", ["pass", "warn"])
def test_only_a_release_that_passes_on_a_cluster_is_one(verdict: str, tmp_path: Path) -> None:
    counted = {"fail": 0, "warn": 0, "error": 0, "skip": 2, "pass": 40, "coverage": 1.0}
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports/latest.json").write_text(json.dumps({"summary": {"verdict": verdict, **counted}}))
    with nullcontext() if verdict == "pass" else pytest.raises(ProblemsError):
        assert "40 passed" in verdict_in(tmp_path)


def test_two_builds_have_the_same_bytes(built: tuple[Path, Path]) -> None:
    first, second = ({path.name: path.read_bytes() for path in place.iterdir()} for place in built)
    assert len(first) == 4
    assert {name for name, content in first.items() if second.get(name) != content} == set()
    assert first.keys() == second.keys()


def test_the_sums_are_those_of_the_files(built: tuple[Path, Path]) -> None:
    done = subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=built[0], check=False, capture_output=True)
    assert done.returncode == 0
    assert done.stdout.count(b": OK") == 3


def test_the_collection_is_whole_and_has_a_changelog_for_its_tools(built: tuple[Path, Path]) -> None:
    (archive,) = built[0].glob("*.tar.gz")
    with tarfile.open(archive) as content:
        members = content.getmembers()
        read = {member.name: content.extractfile(member) for member in members if member.isfile()}
        data = {name: file.read() for name, file in read.items() if file}
    assert {(member.mtime, member.uid, member.uname) for member in members} == {(EPOCH, 0, "")}
    manifest = json.loads(data["MANIFEST.json"])
    assert manifest["file_manifest_file"]["chksum_sha256"] == hashlib.sha256(data["FILES.json"]).hexdigest()
    listed = {entry["name"]: entry["chksum_sha256"] for entry in json.loads(data["FILES.json"])["files"]}
    sums = {name: hashlib.sha256(each).hexdigest() for name, each in data.items()}
    links = {member.name for member in members if member.issym()}
    assert {name for name, found in listed.items() if found and sums.get(name) != found} <= links
    assert "releases" in yaml.safe_load(data["changelogs/changelog.yaml"])


def test_the_bill_of_materials_names_files_and_libraries_with_their_sums(built: tuple[Path, Path]) -> None:
    (path,) = built[0].glob("*.cdx.json")
    bill = json.loads(path.read_text("utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    own = bill["metadata"]["component"]
    for part in own["components"]:
        (found,) = part["hashes"]
        assert found["content"] == hashlib.sha256((built[0] / part["name"]).read_bytes()).hexdigest()
    assert {"ansible-core", "kubernetes", "pyyaml"} <= {part["name"] for part in bill["components"]}
    needed = {entry["ref"]: entry.get("dependsOn", []) for entry in bill["dependencies"]}
    (wheel,) = built[0].glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        (name,) = (each for each in content.namelist() if each.endswith(".dist-info/METADATA"))
        required = re.findall(r"(?m)^Requires-Dist: ([\w-]+)", content.read(name).decode())
    assert {ref.partition("@")[0] for ref in needed[own["bom-ref"]]} == {
        f"pkg:pypi/{each.lower()}" for each in required
    }


def test_an_unclean_tree_is_refused(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "left-over.txt").write_text("not committed", "utf-8")
    assert release.main(["--check", "--no-cluster", "--version", VERSION], checkout) == 1
    said = capsys.readouterr().out
    assert ": left-over.txt." in said
    assert "Do: commit them" in said


def test_a_version_that_is_none_or_not_new_is_refused(checkout: Path) -> None:
    git(checkout, "tag", "v1.0.0")
    for number in ("1.0", "v1.0.0", "1.0.0-rc1", "1.0.0", "0.9.9"):
        with pytest.raises(ProblemsError, match=re.escape(number)):
            cutting.refuse(checkout, number)
    cutting.refuse(checkout, "1.0.1")


def test_a_broken_promise_needs_a_major_version(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(checkout, "tag", "v1.4.0")
    monkeypatch.setattr(promises, "breaks", lambda: {"checks.D6": "use D7"})
    with pytest.raises(ProblemsError, match=r"checks\.D6"):
        cutting.refuse(checkout, "1.5.0")
    cutting.refuse(checkout, "2.0.0")


def test_a_release_is_one_commit_and_a_tag(checkout: Path, tmp_path: Path) -> None:
    place, before = tmp_path / "clone", git(checkout, "rev-parse", "HEAD")
    clone(checkout, place)
    cutting.commit_release(place, checkout, VERSION, "https://git.example.org/a/b", EPOCH)
    assert git(checkout, "rev-parse", "HEAD") == before
    cutting.publish(place, checkout, VERSION)
    assert git(checkout, "rev-parse", "HEAD~1") == before
    assert git(checkout, "describe") == f"v{VERSION}"
    assert git(checkout, "status", "--porcelain") == ""
    assert git(checkout, "log", "-1", "--format=%ct") == str(EPOCH)
    newest, released, *_ = sections((checkout / "CHANGELOG.md").read_text("utf-8"))
    assert (newest.version, newest.changes) == (UNRELEASED, {})
    assert (released.version, released.date) == (VERSION, "2023-11-14")
    assert json.loads((checkout / "tests/release/promises.json").read_text("utf-8"))["version"] == VERSION
    galaxy = yaml.safe_load((checkout / "galaxy.yml").read_text("utf-8"))
    assert (galaxy["version"], galaxy["issues"]) == (VERSION, "https://git.example.org/a/b/issues")


def test_a_checkout_that_was_changed_meanwhile_is_not_tagged(checkout: Path, tmp_path: Path) -> None:
    clone(checkout, tmp_path / "clone")
    cutting.commit_release(tmp_path / "clone", checkout, VERSION, None, EPOCH)
    (checkout / "new.txt").write_text("", "utf-8")
    with pytest.raises(ProblemsError, match="changed meanwhile"):
        cutting.publish(tmp_path / "clone", checkout, VERSION)
    assert git(checkout, "tag") == ""
