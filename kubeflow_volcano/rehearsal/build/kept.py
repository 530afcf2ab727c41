"""The tools in the user's cache: which of a generation are there, and which Go made them."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import ProblemsError
from kubeflow_volcano.rehearsal.build.gobuild import FLAGS
from kubeflow_volcano.rehearsal.build.recipes import Generation, Tool
from kubeflow_volcano.rehearsal.build.toolchain import Go, choose_go, go_architecture, version_number

_LABEL = "made.json"


@dataclass(frozen=True, slots=True)
class Tools:
    """The built tools of a generation: `homes` has a directory with bin/ and src/ by each tool's name."""

    generation: Generation
    homes: Mapping[str, Path]

    @property
    def programs(self) -> dict[str, Path]:
        """Every program and every link to one, by file name. Those of one tool are in one directory."""
        return {
            name: self.homes[tool.name] / "bin" / name
            for tool in self.generation.tools
            for name in (*tool.programs, *tool.links)
        }

    def missing(self) -> list[Tool]:
        """The tools that are not in their directories."""
        return [tool for tool in self.generation.tools if not _whole(tool, self.homes[tool.name])]

    def source(self, module: str, path: str = "") -> Path:
        """A kept file or directory of an upstream module, such as ("volcano.sh/volcano", "installer").

        Raises:
            KeyError: no tool of this generation keeps anything of the module.
        """
        for tool in self.generation.tools:
            if module in tool.sources:
                return self.homes[tool.name] / "src" / module / path
        raise KeyError(module)


def tools_directory() -> Path:
    """The cache of built tools."""
    return cache_directory() / "tools"


def kept_tools(generation: Generation, cache: Path) -> Tools:
    """Where each tool is kept: what this machine's Go would build, else what a Go that is not here has built.

    A cache that comes from another machine is used as it is.

    Raises:
        ProblemsError: a tool is missing, there is no Go, and none can be installed.
    """
    made_here = _made_here(generation, cache)
    homes: dict[str, Path] = {}
    for tool in generation.tools:
        home = made_here.get(tool.name) or _made_elsewhere(tool, generation, cache)
        homes[tool.name] = home or _home(tool, choose_go(generation.go, cache), cache)
    return Tools(generation, homes)


def _made_here(generation: Generation, cache: Path) -> dict[str, Path]:
    """The whole tools that the Go of this machine has built, or would have."""
    try:
        go = choose_go(generation.go, cache)
    except ProblemsError:
        return {}
    homes = {tool.name: _home(tool, go, cache) for tool in generation.tools}
    return {tool.name: homes[tool.name] for tool in generation.tools if _whole(tool, homes[tool.name])}


def _made_elsewhere(tool: Tool, generation: Generation, cache: Path) -> Path | None:
    """A whole tool of the same recipe that another Go has built, by the label in it; the one of the newest Go."""
    by_version = {}
    for label in cache.glob(f"{tool.name}-*/{_LABEL}"):
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            made = read_json(label.read_text())
            if made["inputs"] == _inputs_digest(tool) and _whole(tool, label.parent):
                by_version[version_number(str(made["go"]))] = label.parent
    newest = max(by_version, default=())
    return by_version[newest] if newest and newest >= version_number(generation.go.minimum) else None


def _home(tool: Tool, go: Go, cache: Path) -> Path:
    return cache / f"{tool.name}-{tool_digest(tool, go)}"


def _whole(tool: Tool, home: Path) -> bool:
    return all((home / "bin" / program).is_file() for program in tool.programs)


def label_tools(tools: Tools) -> None:
    """Write into each tool what it was made from and by which Go, so that a machine without that Go can use it."""
    try:
        go = choose_go(tools.generation.go, next(iter(tools.homes.values())).parent)
    except ProblemsError:
        return
    for tool in tools.generation.tools:
        home = tools.homes[tool.name]
        if home.name == f"{tool.name}-{tool_digest(tool, go)}" and not (home / _LABEL).exists():
            write_file(home / _LABEL, json.dumps({"go": go.version, "inputs": _inputs_digest(tool)}) + "\n", 0o644)


def tool_digest(tool: Tool, go: Go) -> str:
    """Twelve digits that change with anything that determines the programs of `tool`."""
    return _digest([*_inputs(tool), go.version, go_architecture()])


def _inputs_digest(tool: Tool) -> str:
    return _digest([*_inputs(tool), go_architecture()])


def _inputs(tool: Tool) -> list[object]:
    """What a tool is made from, without the Go that makes it."""
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(tool.directory.iterdir())
        if path.name in {"go.mod", "go.sum"} or path.suffix == ".go"
    }
    return [tool.recipe(), files, FLAGS]


def _digest(inputs: list[object]) -> str:
    return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:12]
