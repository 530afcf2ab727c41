"""Tools are built by a real Go from tiny modules: once per content, once for two callers, and killed at any moment."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kubeflow_volcano.problems import InvalidInput, Problem, ProblemsError
from kubeflow_volcano.rehearsal.build import kept
from kubeflow_volcano.rehearsal.build import tools as tools_module
from kubeflow_volcano.rehearsal.build.kept import kept_tools, tool_digest
from kubeflow_volcano.rehearsal.build.recipes import Download, Generated, Generation, GoPin, Tool
from kubeflow_volcano.rehearsal.build.toolchain import Go, go_architecture
from kubeflow_volcano.rehearsal.build.tools import ensure_tools, main, tools_to_build
from tests.places import ROOT

pytestmark = pytest.mark.programs

HELLO = 'package main\n\nvar word = "unset"\n\nfunc main() { print(word) }\n'
ENSURE = """
import sys
from pathlib import Path
from kubeflow_volcano.progress import to_stderr
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.tools import ensure_tools
ensure_tools(load_generation("tiny", Path(sys.argv[1])), Path(sys.argv[2]), to_stderr())
"""
Make = Callable[..., Generation]


def test_programs_links_and_stamps_are_there_and_the_progress_counts(make_generation: Make, tmp_path: Path) -> None:
    told: list[str] = []
    tools = ensure_tools(make_generation(one=HELLO, two=HELLO), tmp_path / "cache", told.append)
    done = subprocess.run([tools.programs["two-too"]], capture_output=True, check=True, timeout=10)
    assert done.stderr == b"hello"
    assert any(line.startswith("two, 2 of 2") for line in told)
    assert "2 tools" in told[-1]
    assert not list((tmp_path / "cache").glob(".*"))


def test_programs_of_packages_with_one_last_name_are_all_built(make_generation: Make, tmp_path: Path) -> None:
    generation = make_generation(one=HELLO)
    (tool,) = generation.tools
    programs = {"one": ".", "two": "./two/v1beta1", "three": "./three/v1beta1", "four": "./four/v2"}
    for name, package in programs.items():
        (tool.directory / package).mkdir(parents=True, exist_ok=True)
        (tool.directory / package / "main.go").write_text(HELLO.replace("unset", name))
    tool = dataclasses.replace(tool, programs=programs, links={}, stamps={})
    tools = ensure_tools(dataclasses.replace(generation, tools=(tool,)), tmp_path / "cache")
    said = {name: subprocess.run([tools.programs[name]], capture_output=True, check=True).stderr for name in programs}
    assert said == {name: name.encode() for name in programs}


def test_the_users_go_settings_do_not_reach_the_build(
    make_generation: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"GOFLAGS": "-mod=vendor", "GOOS": "windows", "GOWORK": "/nowhere/go.work"}.items():
        monkeypatch.setenv(name, value)
    tools = ensure_tools(make_generation(one=HELLO), tmp_path / "cache")
    assert tools.programs["one"].read_bytes().startswith(b"\x7fELF")


def test_a_whole_cache_runs_no_program(make_generation: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generation = make_generation(one=HELLO)
    built = ensure_tools(generation, tmp_path / "cache")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    told: list[str] = []
    assert ensure_tools(generation, tmp_path / "cache", told.append) == built
    assert told == []


def test_a_program_that_is_gone_is_built_again(make_generation: Make, tmp_path: Path) -> None:
    generation = make_generation(one=HELLO)
    program = ensure_tools(generation, tmp_path / "cache").programs["one"]
    program.unlink()
    assert ensure_tools(generation, tmp_path / "cache").programs["one"] == program
    assert program.is_file()


def another_go(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    """Make this machine one with another Go, or with none that the generation could use."""

    def choose(_: GoPin, cache: Path) -> Go:
        if version is None:
            raise ProblemsError(Problem("no Go.", "a Go.", "install it."))
        return Go(version, cache / "no/such/go")

    for module in (kept, tools_module):
        monkeypatch.setattr(module, "choose_go", choose)


@pytest.mark.parametrize("version", [None, "1.99.0"])
def test_a_cache_from_another_machine_is_used_without_its_go(
    make_generation: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str | None
) -> None:
    generation = make_generation(one=HELLO, two=HELLO)
    built = ensure_tools(generation, tmp_path / "cache")
    another_go(monkeypatch, version)

    assert tools_to_build(generation, tmp_path / "cache") == ()
    assert ensure_tools(generation, tmp_path / "cache") == built


def test_a_tool_of_another_recipe_or_of_an_old_go_is_not_used(
    make_generation: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    generation = make_generation(one=HELLO)
    home = ensure_tools(generation, cache).homes["one"]
    another_go(monkeypatch, "1.99.0")
    for label in ("", "[]", '{"go": "1.26.8", "inputs": "0"}', (home / "made.json").read_text().replace("1.", "0.")):
        (home / "made.json").write_text(label)
        assert tools_to_build(generation, cache) == ("one",)


def test_without_any_go_a_missing_tool_is_an_error(
    make_generation: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = make_generation(one=HELLO)
    another_go(monkeypatch, None)
    with pytest.raises(ProblemsError, match="no Go"):
        tools_to_build(generation, tmp_path / "cache")


def test_what_can_be_downloaded_needs_no_compiler(
    make_generation: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation = make_generation(one=HELLO, two=HELLO)
    offer = Download("https://example.invalid/one", {go_architecture(): "0" * 64}, {"one": ""})
    offered = dataclasses.replace(
        generation, tools=(dataclasses.replace(generation.tools[0], download=offer), generation.tools[1])
    )
    for reachable, needed in ((frozenset({"https://example.invalid"}), ("two",)), (frozenset[str](), ("one", "two"))):
        monkeypatch.setattr(tools_module, "reachable_origins", lambda _, answer=reachable: answer)
        assert tools_to_build(offered, tmp_path / "cache") == needed


def test_the_digest_changes_with_every_input(make_generation: Make) -> None:
    tool = make_generation(one=HELLO).tools[0]
    go = Go("1.26.0", Path("/nowhere/go"))

    def file_added(name: str, text: str) -> str:
        (tool.directory / name).write_text(text)
        return tool_digest(tool, go)

    def data_changed(**changes: object) -> str:
        return tool_digest(dataclasses.replace(tool, **changes), go)  # type: ignore[arg-type]

    digests = [
        tool_digest(tool, go),
        tool_digest(tool, Go("1.26.1", go.program)),
        data_changed(tags=("netgo",)),
        data_changed(cgo=True),
        data_changed(ldflags=("-linkmode",)),
        data_changed(stamps={"main.word": "bye"}),
        data_changed(links={}),
        data_changed(sources={"example.org/x": ("deploy",)}),
        data_changed(programs={"other": "."}),
        file_added("go.sum", "sum\n"),
        file_added("main.go", f"{HELLO}\n"),
        file_added("more.go", "package main\n"),
        file_added("go.mod", "module example.invalid/one\n"),
    ]
    assert len(set(digests)) == len(digests)
    assert digests[-1] == file_added("README.md", "not an input")


def test_a_failed_build_gives_the_reason_and_the_log_and_keeps_what_was_built(
    make_generation: Make, tmp_path: Path
) -> None:
    broken = "package main\n\nfunc main() { nonsense() }\n"
    with pytest.raises(ProblemsError, match="undefined: nonsense") as caught:
        ensure_tools(make_generation(one=HELLO, two=broken), tmp_path / "cache")
    assert str(tmp_path / "cache/logs/two.log") in str(caught.value)
    assert [path.name.split("-")[0] for path in (tmp_path / "cache").iterdir() if path.name != "logs"] == ["one"]


def test_two_callers_share_one_build_after_a_killed_one(make_generation: Make, tmp_path: Path) -> None:
    make_generation(one=HELLO)
    cache = tmp_path / "cache"
    (tmp_path / "tmp").mkdir()
    environment = {
        **os.environ,
        "GOCACHE": str(tmp_path / "empty"),
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    command = [sys.executable, "-c", ENSURE, str(tmp_path / "generations"), str(cache)]

    killed = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    _wait_for(lambda: any(cache.glob(".unfinished-*/bin")), "the build begins")
    killed.send_signal(signal.SIGKILL)
    killed.wait(60)
    _wait_for(lambda: not _working_in(tmp_path / "generations"), "go ends with its caller")
    assert not list(cache.glob("one-*"))

    leftover = set(cache.glob(".unfinished-*"))
    environment["GOCACHE"] = str(tmp_path / "empty too")  # so that the build outlasts the second caller's start
    builder = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    _wait_for(lambda: bool(set(cache.glob(".unfinished-*")) - leftover), "the build begins again")
    waiter = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    told = [caller.communicate(timeout=400)[1] for caller in (builder, waiter)]
    assert [builder.returncode, waiter.returncode] == [0, 0], told
    assert "making 1 tool with" in told[0]
    assert f"waiting for process {builder.pid}, " in told[1]
    assert "making 1 tool" not in told[1]
    assert not list(cache.glob(".*"))
    assert not list((tmp_path / "tmp").iterdir())
    assert len(list(cache.glob("one-*/bin/one"))) == 1


def test_an_interrupt_ends_go_and_leaves_nothing_unfinished(make_generation: Make, tmp_path: Path) -> None:
    make_generation(one=HELLO)
    cache = tmp_path / "cache"
    environment = {**os.environ, "GOCACHE": str(tmp_path / "empty"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", ENSURE, str(tmp_path / "generations"), str(cache)]
    caller = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    _wait_for(lambda: any(cache.glob(".unfinished-*/bin")), "the build begins")
    caller.send_signal(signal.SIGINT)
    assert caller.wait(60) != 0
    # A killed compiler is listed until the kernel has taken it down.
    _wait_for(lambda: not _working_in(tmp_path / "generations"), "nothing is left at work", seconds=2)
    assert [path.name for path in cache.iterdir()] == ["logs"]


def test_the_command_says_what_an_unknown_generation_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--generation", "9.99", "--cache", str(tmp_path)]) == 2
    assert "Needed: one of: 1.22, 1.30" in capsys.readouterr().err


def test_sources_are_kept_with_the_module_they_come_from(make_generation: Make, tmp_path: Path) -> None:
    generation = make_generation(one=HELLO)
    tool = generation.tools[0]
    (tool.directory / "deploy").mkdir()
    (tool.directory / "deploy/a.yaml").write_text("kind: A\n")
    kept: Tool = dataclasses.replace(tool, sources={"example.invalid/one": ("deploy",)})
    tools = ensure_tools(dataclasses.replace(generation, tools=(kept,)), tmp_path / "cache")
    assert (tools.source("example.invalid/one", "deploy/a.yaml")).read_text() == "kind: A\n"
    with pytest.raises(KeyError):
        tools.source("example.invalid/other")


def _working_in(directory: Path) -> bool:
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink().is_relative_to(directory):
                return True
    return False


def _wait_for(condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


MAKER = """package main

import "os"

func main() {
	made := "package dep\\n\\nconst Made = `" + os.Args[1] + "`\\n"
	if err := os.WriteFile("vendor/example.invalid/dep/made.go", []byte(made), 0o644); err != nil {
		panic(err)
	}
}
"""
LACKING = {
    "generated": ({"generated": Generated("./make", "// +to-be-made", ("{marked}",))}, b"example.invalid/dep"),
    "added": ({"added": {"example.invalid/dep/made.go": "package dep\n\nconst Made = `few lines`\n"}}, b"few lines"),
}


@pytest.mark.parametrize(("how", "says"), LACKING.values(), ids=LACKING)
def test_sources_that_a_module_is_published_without_are_made_in_a_copy(
    how: dict[str, Any], says: bytes, make_generation: Make, tmp_path: Path
) -> None:
    published = tmp_path / "published"
    published.mkdir()
    (published / "go.mod").write_text("module example.invalid/dep\n\ngo 1.21\n")
    (published / "doc.go").write_text("// +to-be-made\n\npackage dep\n")
    use = 'package main\n\nimport "example.invalid/dep"\n\nfunc main() { print(dep.Made) }\n'
    generation = make_generation(one=use)
    tool = generation.tools[0]
    required = f"\nrequire example.invalid/dep v0.0.0\n\nreplace example.invalid/dep => {published}\n"
    (tool.directory / "go.mod").write_text((tool.directory / "go.mod").read_text() + required)
    (tool.directory / "make").mkdir()
    (tool.directory / "make/main.go").write_text(MAKER)
    before = sorted(tool.directory.rglob("*"))

    changed = dataclasses.replace(generation, tools=(dataclasses.replace(tool, **how),))
    tools = ensure_tools(changed, tmp_path / "cache")

    done = subprocess.run([tools.programs["one"]], capture_output=True, check=True, timeout=10)
    assert done.stderr == says
    assert sorted(tool.directory.rglob("*")) == before
    assert [path.name for path in published.iterdir() if path.name == "made.go"] == []
    assert sorted(path.name for path in tools.homes["one"].iterdir()) == ["bin", "made.json"]
    assert tools.homes != kept_tools(generation, tmp_path / "cache").homes


def test_a_cache_that_others_may_change_is_not_used(make_generation: Make, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    cache.chmod(0o777)
    with pytest.raises(InvalidInput, match=f"everybody .*{cache} "):
        ensure_tools(make_generation(one=HELLO), cache)
    assert not [*cache.iterdir()]
