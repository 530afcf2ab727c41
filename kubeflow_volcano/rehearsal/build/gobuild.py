"""Go commands with progress, a time limit and a log, which end together with the process that started them."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from kubeflow_volcano.problems import Problem, ProblemsError
from kubeflow_volcano.rehearsal.build.recipes import Tool
from kubeflow_volcano.rehearsal.build.toolchain import Go

FLAGS = (
    "-trimpath",  # no path of this machine in the programs
    "-buildvcs=false",
    "-gcflags=all=-dwarf=false",  # 14 % less time and 24 % less cache than making debug data that -s drops
)
_VENDORED = ("-mod=vendor",)
BEAT_SECONDS = 10.0
_LOOK_SECONDS = 0.5
_LIMIT_SECONDS = 3600.0
_TAIL_LINES = 12
_PACKAGE = re.compile(r"[\w.~+/-]+")

Beat = Callable[[int, str], None]
"""Called every ten seconds with the number of lines that a command has printed, and the last one."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """Runs one Go for all tools, with logs in `logs`. Setting `closed`, from any thread, ends the command it runs."""

    go: Go
    logs: Path
    closed: threading.Event = field(default_factory=threading.Event)

    def fetch(self, tool: Tool) -> int:
        """Download what the programs of `tool` are compiled from, and no other module of its go.mod.

        Returns:
            How many packages that is.
        """
        log = self.fetch_log(tool)
        arguments = ["list", "-deps", *_tags(tool), "-f", "package {{.ImportPath}}", *tool.programs.values()]
        self._run(tool, arguments, log, _ignore)
        return sum(line.startswith("package ") for line in log.read_text().splitlines())

    def fetch_log(self, tool: Tool) -> Path:
        """The log of `fetch`, one line per download."""
        return self.logs / f"{tool.name}.modules.log"

    def complete(self, tool: Tool, target: Path, beat: Beat) -> Tool:
        """Copy the tool's module to the new directory `target`, with its dependencies and the sources that they lack.

        Modules in Go's cache cannot be extended, neither by writing nor by `go build -overlay`.

        Returns:
            The tool with `target` as its module.
        """
        shutil.copytree(tool.directory, target)
        copied, log, vendored = (
            replace(tool, directory=target),
            self.logs / f"{tool.name}.completed.log",
            target / "vendor",
        )
        self._run(copied, ["mod", "vendor"], log, beat)
        for path, text in tool.added.items():
            (vendored / path).write_text(text, encoding="utf-8")
        if made := tool.generated:
            marked = sorted({file.parent for file in vendored.rglob("*.go") if _has_line(file, made.marker)})
            packages = ",".join(str(directory.relative_to(vendored)) for directory in marked)
            arguments = [argument.replace("{marked}", packages) for argument in made.arguments]
            self._run(copied, ["run", *_VENDORED, made.generator, *arguments], log, beat)
        return copied

    def build(self, tool: Tool, target: Path, beat: Beat) -> None:
        """Compile and link the programs of `tool` into the new directory `target`, as many as can be in one command."""
        target.mkdir()
        stamps = [part for name, value in sorted(tool.stamps.items()) for part in ("-X", f"{name}={value}")]
        ldflags = " ".join(["-s", "-w", *tool.ldflags, *stamps])
        flags = [*FLAGS, *(_VENDORED if tool.completed else ()), *_tags(tool), f"-ldflags={ldflags}"]
        work = target.with_name("work")  # not /tmp: that may be small, and nothing removes what a killed build leaves
        work.mkdir()
        for number, programs in enumerate(_rounds(tool), 1):
            log = self.logs / (f"{tool.name}.log" if number == 1 else f"{tool.name}.{number}.log")
            packages = sorted(tool.programs[program] for program in programs.values())
            self._run(tool, ["build", "-v", *flags, "-o", f"{target}/", *packages], log, beat, GOTMPDIR=str(work))
            for name, program in programs.items():
                (target / name).rename(target / program)
        shutil.rmtree(work)

    def copy_sources(self, tool: Tool, target: Path) -> None:
        """Copy the sources that `tool` keeps of its modules to `target`/<module>/<path>; the copies are writable."""
        log = self.logs / f"{tool.name}.sources.log"
        for module, paths in tool.sources.items():
            self._run(tool, ["mod", "download", module], log, _ignore)
            self._run(tool, ["list", "-m", "-f", "{{.Dir}}", module], log, _ignore)
            home = Path(log.read_text().splitlines()[-1])
            for file in (file for path in paths for file in _files(home / path)):
                copy = target / module / file.relative_to(home)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)

    def _run(self, tool: Tool, arguments: list[str], log: Path, beat: Beat, **variables: str) -> None:
        """Run `go` in the module of `tool`, with all that it prints in `log`.

        Raises:
            ProblemsError: it failed, or took more than an hour.
        """
        with log.open("wb") as stream:
            process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", self.go.program, *arguments],
                cwd=tool.directory,
                env=self.go.environment(cgo=tool.cgo) | variables,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                self._watch(process, log, beat)
            finally:
                with contextlib.suppress(ProcessLookupError):  # compilers survive a `go` that was killed
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.returncode:
            raise ProblemsError(_failure(tool, arguments[0], log, process.returncode))

    def _watch(self, process: subprocess.Popen[bytes], log: Path, beat: Beat) -> None:
        started = told = time.monotonic()
        while time.monotonic() - started < _LIMIT_SECONDS and not self.closed.is_set():
            try:
                process.wait(_LOOK_SECONDS)
            except subprocess.TimeoutExpired:
                if time.monotonic() - told >= BEAT_SECONDS:
                    told = time.monotonic()
                    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
                    beat(len(lines), lines[-1] if lines else "")
            else:
                return


def _has_line(file: Path, text: str) -> bool:
    return any(line.strip() == text for line in file.read_text(encoding="utf-8", errors="replace").splitlines())


def _ignore(_lines: int, _last: str) -> None:
    """Report nothing: the command is short, or its log is read otherwise."""


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(entry for entry in path.rglob("*") if entry.is_file())


def _failure(tool: Tool, verb: str, log: Path, code: int) -> Problem:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    reasons = [line for line in lines if not _PACKAGE.fullmatch(line) and not line.startswith("go: downloading")]
    ended = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
    return Problem(
        f"`go {verb}` of {tool.name} failed ({ended}): {' | '.join(reasons[-_TAIL_LINES:]) or 'it printed no reason'} "
        f"(full log: {log}).",
        "modules that can be downloaded, memory and disk for the compiler, and for runc gcc with libseccomp.",
        "fix the reason above and run the same command again, which keeps built tools; GOPROXY sets the module proxy.",
    )


def _tags(tool: Tool) -> list[str]:
    return [f"-tags={','.join(sorted(tool.tags))}"]


def _rounds(tool: Tool) -> list[dict[str, str]]:
    """Programs by the names that Go gives them, split so that no command writes two of one name."""
    rounds: list[dict[str, str]] = []
    for program, package in tool.programs.items():
        name = _name_by_go(tool, package)
        if all(name in earlier for earlier in rounds):
            rounds.append({})
        next(earlier for earlier in rounds if name not in earlier)[name] = program
    return rounds


def _name_by_go(tool: Tool, package: str) -> str:
    """The name that `go build` gives a program: the last part of its package's path that is no major version."""
    parts = package.split("/") if package != "." else [tool.directory.name]
    return parts[-2] if len(parts) > 1 and re.fullmatch(r"v[0-9]+", parts[-1]) else parts[-1]
