"""One file of containerd's configuration, changed in its registries and nowhere else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from kubeflow_volcano.foreign import read_toml
from kubeflow_volcano.hosts.containerd.config import ConfigFile
from kubeflow_volcano.hosts.containerd.sections import Section, sections
from kubeflow_volcano.problems import InvalidInput, Problem

Path = tuple[str, ...]


def edited(file: ConfigFile, config_path: str | None, *, without_legacy: bool) -> str:
    """The file's text with `config_path` (None: unchanged) and, if requested, without tables that hosts.toml replaces.

    Credentials in `configs` stay, as hosts.toml has none. Everything else stays byte for byte.

    Raises:
        InvalidInput: the file is written in a way that cannot be edited in place.
    """
    registry: Path = ("plugins", file.plugin, "registry")
    wanted = _expected(file.values, registry, config_path, without_legacy=without_legacy)
    if _pruned(wanted) == _pruned(file.values):
        return file.text
    try:
        parts = sections(file.text)
        if without_legacy:
            parts = _without_legacy(parts, registry)
        if config_path is not None:
            parts = _with_config_path(parts, registry, config_path, "\r\n" if "\r\n" in file.text else "\n")
        text = "".join(map(str, parts))
        outcome = read_toml(text)
    except (TOMLKitError, ValueError) as error:
        raise InvalidInput(_by_hand(file, config_path, str(error))) from error
    if _pruned(outcome) != _pruned(wanted):
        raise InvalidInput(_by_hand(file, config_path, "the result would have another meaning"))
    return text


def _by_hand(file: ConfigFile, config_path: str | None, why: str) -> Problem:
    table = f'[plugins."{file.plugin}".registry]'
    what = "no mirrors and no configs.*.tls" if config_path is None else f"config_path = {json.dumps(config_path)}"
    return Problem(
        f"{file.path} cannot be edited without changing other parts of it ({why}).",
        f"{what} in {table}.",
        f"edit {table} by hand, and run this again.",
    )


def _expected(
    values: Mapping[str, Any], registry: Path, config_path: str | None, *, without_legacy: bool
) -> dict[str, Any]:
    wanted = deepcopy(dict(values))
    table: Any = wanted
    for name in registry:
        table = table.setdefault(name, {})
    if config_path is not None:
        table["config_path"] = config_path
    if without_legacy:
        _drop(table, ("mirrors",))
        _drop(table, ("configs", "*", "tls"))
    return wanted


def _pruned(value: Any) -> Any:
    """Without empty tables, which have no effect."""
    if not isinstance(value, dict):
        return value
    inner = {name: _pruned(item) for name, item in value.items()}
    return {name: item for name, item in inner.items() if item != {}}


def _drop(table: Any, path: Path) -> bool:
    """Remove a key by its path, in which * is any name; returns whether there was one."""
    if not isinstance(table, dict):
        return False
    if path[0] == "*":
        dropped = [_drop(inner, path[1:]) for inner in table.values()]
        return any(dropped)
    if path[0] not in table:
        return False
    if len(path) > 1:
        return _drop(table[path[0]], path[1:])
    del table[path[0]]
    return True


def _without_legacy(parts: list[Section], registry: Path) -> list[Section]:
    dropped = ((*registry, "mirrors"), (*registry, "configs", "*", "tls"))
    done: list[Section] = []
    for part in parts:
        if any(_fits(part.path, path) for path in dropped):
            # Comments right above the next header belong to it.
            done.append(Section(part.path, "", _comments_at_the_end(part.body)))
            continue
        document: Any = tomlkit.parse(part.body)
        found = [
            _drop(document, path[len(part.path) :]) for path in dropped if _fits(path, part.path, wildcard_first=True)
        ]
        done.append(Section(part.path, part.header, tomlkit.dumps(document)) if any(found) else part)
    return done


def _fits(path: Path, beginning: Path, *, wildcard_first: bool = False) -> bool:
    """Whether `path` begins so; * is any name, in `beginning` or, if `wildcard_first`, in `path`."""
    if len(path) < len(beginning):
        return False
    return all(
        one == other or (one if wildcard_first else other) == "*" for one, other in zip(path, beginning, strict=False)
    )


def _comments_at_the_end(body: str) -> str:
    lines = body.splitlines(keepends=True)
    kept = len(lines)
    while kept and lines[kept - 1].lstrip().startswith("#"):
        kept -= 1
    return "".join(lines[kept:])


def _with_config_path(parts: list[Section], registry: Path, config_path: str, newline: str) -> list[Section]:
    for number, part in enumerate(parts):
        below = registry[len(part.path) :] if registry[: len(part.path)] == part.path else None
        if below is None:
            continue
        document: Any = tomlkit.parse(part.body)
        table = document
        for name in below:
            table = table.get(name) if isinstance(table, dict) else None
        if isinstance(table, dict) and (below or "config_path" in table):
            table["config_path"] = config_path
            return [*parts[:number], Section(part.path, part.header, tomlkit.dumps(document)), *parts[number + 1 :]]
        if not below:
            indent = part.header[: len(part.header) - len(part.header.lstrip())] + "  "
            line = f"{indent}config_path = {json.dumps(config_path)}{newline}"
            header = part.header if part.header.endswith("\n") else part.header + newline
            return [*parts[:number], Section(part.path, header + line, part.body), *parts[number + 1 :]]
    name = registry[1] if registry[1] == "cri" else json.dumps(registry[1])
    end = "" if not (text := str(parts[-1])) or text.endswith("\n") else newline
    header = f"{end}{newline}[plugins.{name}.registry]{newline}"
    return [*parts, Section(registry, header, f"  config_path = {json.dumps(config_path)}{newline}")]
