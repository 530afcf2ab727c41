"""Wheels of the lock file, for other architectures too, from an index that is a directory; this project's own."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import kubeflow_volcano
from kubeflow_volcano.problems import InvalidInput
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rollout.bundle.contents import Contents
from kubeflow_volcano.rollout.bundle.writing import Writer
from kubeflow_volcano.rollout.packing.wheels import Wheels, python_version
from tests.places import ROOT

pytestmark = pytest.mark.programs

TAG = f"cp{python_version().replace('.', '')}"
OFFERED = (
    ("plain_one", "1.0", "py3-none-any"),
    ("Compiled", "2.5", f"{TAG}-{TAG}-manylinux_2_17_x86_64.manylinux2014_x86_64"),
    ("Compiled", "2.5", f"{TAG}-{TAG}-manylinux_2_28_aarch64"),
    ("of_old", "1.0", "py3-none-any"),
    ("of_old", "2.0", "py3-none-any"),
)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of wheels, the only place that pip looks at."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name, version, tags in OFFERED:
        with zipfile.ZipFile(folder / f"{name}-{version}-{tags}.whl", "w") as wheel:
            home = f"{name}-{version}.dist-info"
            wheel.writestr(f"{home}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
            lines = "".join(f"Tag: {tag}\n" for tag in tags.split("."))
            wheel.writestr(f"{home}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\n{lines}")
            wheel.writestr(f"{home}/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def checkout(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout whose lock file has the packages of the index."""
    home = tmp_path / "checkout"
    (home / "kubeflow_volcano").mkdir(parents=True)
    (home / "requirements").mkdir()
    (home / "pyproject.toml").write_text("")
    now = "python_full_version >= '3.8'"
    (home / "requirements/run.txt").write_text(
        f"{locked(index, 'compiled', '2.5')}    # via something\n"
        f"{locked(index, 'of-old', '1.0', before='3.8')}"
        f"{locked(index, 'of-old', '2.0').replace('2.0 ', f'2.0 ; {now} ', 1)}"
        f"{locked(index, 'plain-one', '1.0')}"
    )
    monkeypatch.setattr(kubeflow_volcano, "__file__", str(home / "kubeflow_volcano/__init__.py"))
    return home


def locked(index: Path, name: str, version: str, before: str = "") -> str:
    """The lines of a package in the lock file."""
    files = [file for file in index.iterdir() if file.name.lower().replace("_", "-").startswith(f"{name}-{version}-")]
    sums = sorted(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
    marker = f"; python_full_version < '{before}' " if before else ""
    return f"{name}=={version} {marker}" + "".join(f"\\\n    --hash=sha256:{total} " for total in sums) + "\n"


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    header = Contents("0.1.0", "1.9.1", ("amd64",), python_version(), complete=False, files=())
    with Writer.open(tmp_path / "bundle", header, silent) as writer:
        yield writer


@pytest.fixture
def wheels(checkout: Path, writer: Writer, tmp_path: Path) -> Wheels:
    assert checkout.is_dir()
    return Wheels(writer, silent, tmp_path)


def test_each_architecture_gets_its_own_and_those_for_all(wheels: Wheels) -> None:
    assert wheels.missing(wheels.present("amd64")) == ["compiled", "of-old", "plain-one"]
    for architecture, machine in (("amd64", "x86_64"), ("arm64", "aarch64")):
        paths = list(wheels.fetch(architecture, wheels.missing(wheels.present(architecture))))
        assert [Path(path).name.split("-")[1] for path in paths] == ["2.5", "2.0", "1.0"]
        assert Path(paths[0]).name.endswith(f"{machine}.whl")
        assert wheels.missing(wheels.present(architecture)) == []
        assert sorted(wheels.present(architecture).values()) == sorted(paths)


def test_only_what_is_damaged_is_fetched_again(wheels: Wheels, writer: Writer, index: Path) -> None:
    paths = list(wheels.fetch("amd64", wheels.missing(wheels.present("amd64"))))
    (writer.directory / paths[2]).write_bytes(b"")
    for file in index.iterdir():
        if not file.name.startswith("plain_one"):
            file.unlink()
    assert wheels.missing(wheels.present("amd64")) == ["plain-one"]
    assert list(wheels.fetch("amd64", ["plain-one"])) == paths[2:]
    assert wheels.missing(wheels.present("amd64")) == []


def test_a_wheel_with_another_sum_than_the_lock_s_is_not_taken(wheels: Wheels, writer: Writer, index: Path) -> None:
    (file,) = index.glob("plain_one*")
    with zipfile.ZipFile(file, "a") as wheel:
        wheel.writestr("more.py", "")
    with pytest.raises(InvalidInput, match="HASHES"):
        list(wheels.fetch("amd64", ["plain-one"]))
    assert writer.entries("wheels") == {}


def test_an_index_without_the_package_is_refused(wheels: Wheels, index: Path) -> None:
    for file in index.iterdir():
        file.unlink()
    with pytest.raises(InvalidInput, match=r"compiled==2\.5") as caught:
        list(wheels.fetch("amd64", ["compiled"]))
    assert "PIP_INDEX_URL" in caught.value.problems[0].todo


def test_without_a_checkout_there_is_no_lock_file(
    writer: Writer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubeflow_volcano, "__file__", str(tmp_path / "kubeflow_volcano/__init__.py"))
    with pytest.raises(InvalidInput, match=r"docs/collection\.md"):
        Wheels(writer, silent, tmp_path)


def test_the_project_s_own_wheel_is_always_the_same(writer: Writer, tmp_path: Path) -> None:
    wheels = Wheels(writer, silent, tmp_path)
    first, second = wheels.own(), wheels.own()
    assert first.name.startswith("kubeflow_volcano-0.1.0-py3")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as wheel:
        assert {"kubeflow_volcano/rollout/run.py", "kubeflow_volcano/validators/__main__.py"} <= {*wheel.namelist()}


def test_every_package_of_the_real_lock_file_is_read(writer: Writer, tmp_path: Path) -> None:
    lines = (ROOT / "requirements/run.txt").read_text("utf-8").splitlines()
    names = {line.partition("==")[0] for line in lines if "==" in line and not line.startswith((" ", "#"))}
    assert len(names) > 40
    assert {*Wheels(writer, silent, tmp_path).missing({})} == names
