"""The data of the rehearsal cluster's generations: `generations/<name>/` on top of `generations/common/`, validated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

from kubeflow_volcano.decode import decode
from kubeflow_volcano.foreign import read_json, read_yaml
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rehearsal.build.recipes import Generation, GoPin, Tool

HOME = Path(__file__).parents[1] / "generations"


def extras_of(name: str, home: Path = HOME) -> tuple[str, ...]:
    """Names of the optional parts of that generation; raises InvalidInput where its file is not YAML."""
    return tuple(_read(home / name / "generation.yaml").get("extras", {}))


def load_generation(name: str, home: Path = HOME, *, extras: Sequence[str] = ()) -> Generation:
    """The generation in `home`/`name`/generation.yaml on top of `home`/common/parts.yaml, if that exists.

    A tool or layer of the generation replaces the common one of its name; images are added. The same goes for the
    optional parts `extras`, whose names become part of the generation's name. A tool `of` another generation is that
    one's, and built once for both.

    Raises:
        InvalidInput: there is no such generation or extra, or its data is invalid; the message has every fault.
    """
    path = home / name / "generation.yaml"
    if not path.is_file():
        known = ", ".join(sorted(entry.parent.name for entry in home.glob("*/generation.yaml")))
        raise InvalidInput.problem(f"the generation {name!r} does not exist.", f"one of: {known}.", "correct its name.")
    own, common = _read(path), _read(home / "common/parts.yaml")
    data = _together(own, common)
    _refuse(path, _schema_faults(data))
    for extra in extras:
        data, own = _with_extra(data, extra), _with_extra(own, extra)
    _refuse(path, _take_tools(data["tools"], home))
    generation = _generation(name, "+".join((name, *extras)), home, data, own)
    _refuse(path, [*_tool_faults(generation), *_layer_faults(generation), *_image_faults(generation)])
    return generation


def _read(path: Path) -> Any:
    try:
        return read_yaml(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except yaml.YAMLError as error:
        raise InvalidInput.problem(f"{path} is not YAML: {error}.", "a readable file.", "correct it.") from error


def _together(own: Any, common: Any) -> Any:
    if not common or not isinstance(own, dict):
        return own
    merged = {key: {**common[key], **own.get(key, {})} for key in ("layers", "tools")}
    return {**common, **own, **merged, "images": [*common["images"], *own.get("images", ())]}


def _with_extra(data: Any, extra: str) -> Any:
    known = data.get("extras", {})
    if extra not in known:
        raise InvalidInput.problem(
            f"the extra {extra!r}.", f"one of: {', '.join(known) or 'none here'}.", "correct its name."
        )
    chosen = known[extra]
    merged = {key: {**data.get(key, {}), **chosen[key]} for key in ("layers", "tools")}
    return {**data, **merged, "images": [*data.get("images", ()), *chosen["images"]]}


def _refuse(path: Path, faults: Iterable[str]) -> None:
    problems = [
        Problem(f"{path}: {fault}.", "data that fits generation.schema.json and is consistent.", "correct the file.")
        for fault in faults
    ]
    if problems:
        raise InvalidInput(problems)


def _schema_faults(data: object) -> Iterable[str]:
    schema = read_json((HOME / "generation.schema.json").read_text())
    for error in sorted(Draft202012Validator(schema).iter_errors(data), key=lambda error: error.json_path):
        yield f"{error.json_path}: {error.message}"


def _take_tools(tools: dict[str, Any], home: Path) -> Iterable[str]:
    """Replace each tool `of` another generation by that one's; yields what is not there."""
    for name, generation in [(name, recipe["of"]) for name, recipe in tools.items() if "of" in recipe]:
        found = (_read(home / generation / "generation.yaml").get("tools") or {}).get(name, {"of": ""})
        if "of" in found:
            yield f"tools.{name}: generation {generation} has no such tool of its own"
        else:
            tools[name] = {"module": f"{generation}/tools/{name}", **found}


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
                yield f"images: {image.names[0]} has the layer {layer}, which does not exist"
        for name in image.names:
            if name in seen:
                yield f"images: {name} is defined twice"
            seen.add(name)


def _generation(name: str, title: str, home: Path, data: Mapping[str, Any], own: Mapping[str, Any]) -> Generation:
    def directory(tool: str) -> Path:
        owner = name if tool in own.get("tools", {}) else "common"
        return home / str(data["tools"][tool].get("module", f"{owner}/tools/{tool}"))

    go, tools = data["go"], data["tools"]
    return decode(
        Generation,
        data,
        name=title,
        go=decode(GoPin, go["wheel"], "go.wheel", minimum=go["minimum"]),
        tools=tuple(decode(Tool, tools[tool], f"tools.{tool}", name=tool, directory=directory(tool)) for tool in tools),
    )
