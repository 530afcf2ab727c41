"""containerd's config.toml and the files that it imports: read, and changed in as few places as can be.

Which table holds the registries depends on the file's `version` (containerd's RELEASES.md, docs/hosts.md), and that is
never changed, as an older containerd could no longer read the file.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from posixpath import dirname, isabs, join, normpath
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["ConfigFile", "Registry", "changed", "loaded", "read", "registry_of"]

_PLUGINS = {0: "cri", 1: "cri", 2: "io.containerd.grpc.v1.cri"}
_NEWER = "io.containerd.cri.v1.images"


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file: its text, byte for byte, and what it says. `version` is 0 where it says none."""

    path: str
    text: str
    values: Mapping[str, Any]

    @property
    def version(self) -> int:
        """The form of the file, not of containerd."""
        found = self.values.get("version", 0)
        return found if isinstance(found, int) else 0

    @property
    def plugin(self) -> str:
        """The plugin whose table holds the registries in a file of this version."""
        return _PLUGINS.get(self.version, _NEWER)

    @property
    def table(self) -> Mapping[str, Any] | None:
        """That plugin's table, or None."""
        found = _mapping(self.values.get("plugins")).get(self.plugin)
        return found if isinstance(found, dict) else None

    @property
    def registry(self) -> Mapping[str, Any]:
        """What that table says about registries."""
        return _mapping(_mapping(self.table).get("registry"))

    @property
    def strange_tables(self) -> tuple[str, ...]:
        """Tables of the plugin by the name that files of another version give it, which containerd does not read."""
        names = {*_PLUGINS.values(), _NEWER} - {self.plugin}
        if self.version == 2:  # noqa: PLR2004  containerd 2 reads the newer names in such a file too
            names -= {_NEWER}
        return tuple(sorted(names & set(_mapping(self.values.get("plugins")))))

    @property
    def imports(self) -> tuple[str, ...]:
        """Paths and patterns that it imports, made absolute."""
        found = self.values.get("imports", ())
        return tuple(
            normpath(item if isabs(item) else join(dirname(self.path), item)) for item in found if isinstance(item, str)
        )


@dataclass(frozen=True, slots=True)
class Registry:
    """What a configuration says about registries: `mirrors` and `configs` are the deprecated tables."""

    config_path: str
    mirrors: Mapping[str, Any]
    configs: Mapping[str, Any]

    @property
    def with_tls(self) -> Mapping[str, Mapping[str, Any]]:
        """The TLS settings by host, those that say something."""
        return {host: tls for host, item in self.configs.items() if (tls := _mapping(_mapping(item).get("tls")))}


def read(path: str, content: bytes) -> ConfigFile:
    """A file's content as it is to be understood.

    Raises:
        InvalidInput: not UTF-8, or no TOML.
    """
    try:
        text = content.decode("utf-8")
        # tomllib takes no bare carriage return, and neither does containerd.
        return ConfigFile(path, text, tomllib.loads(text))
    except ValueError as error:
        raise InvalidInput(
            Problem(
                f"{path} is no TOML: {error}.",
                "a configuration that containerd can read; with this one it would not start again.",
                f"correct {path}; containerd --config {path} config dump tells whether it is right.",
            )
        ) from error


def loaded(
    main: ConfigFile, others: Mapping[str, ConfigFile], matching: Mapping[str, Sequence[str]]
) -> tuple[ConfigFile, ...]:
    """The files that containerd loads, in its order: each one's imports after those that wait already.

    `matching` has the paths that each pattern of `imports` fits.
    """
    done: dict[str, ConfigFile] = {}
    waiting = [main.path]
    files = {**others, main.path: main}
    while waiting:
        path = waiting.pop(0)
        if path in done or path not in files:
            continue
        done[path] = files[path]
        waiting += [found for pattern in files[path].imports for found in matching.get(pattern, ())]
    return tuple(done.values())


def registry_of(dump: Mapping[str, Any]) -> Registry:
    """What a dump, which is of containerd's newest version, says about registries."""
    plugins = _mapping(dump.get("plugins"))
    name = _NEWER if _NEWER in plugins else _PLUGINS[2]
    found = _mapping(_mapping(plugins.get(name)).get("registry"))
    return Registry(str(found.get("config_path", "")), _mapping(found.get("mirrors")), _mapping(found.get("configs")))


def changed(file: ConfigFile, config_path: str | None, *, moved: bool) -> str:
    """The file's text with `config_path` (None: as it is) and, if `moved`, without the tables that hosts.toml replaces.

    Credentials in `configs` stay, as hosts.toml has none. Everything else stays byte for byte.

    Raises:
        InvalidInput: the file is written in a way that cannot be changed in place.
    """
    wanted = _expected(file, config_path, moved=moved)
    if wanted == file.values:
        return file.text
    try:
        text = _edited(file, config_path, moved=moved)
        outcome = tomllib.loads(text)
    except (TOMLKitError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(_by_hand(file, config_path, str(error))) from error
    if outcome != wanted:
        raise InvalidInput(_by_hand(file, config_path, "the outcome says something else"))
    return text


def _by_hand(file: ConfigFile, config_path: str | None, why: str) -> Problem:
    table = f'[plugins."{file.plugin}".registry]'
    what = "no mirrors and no configs.*.tls" if config_path is None else f"config_path = {json.dumps(config_path)}"
    return Problem(
        f"{file.path} is written in a way that cannot be changed without touching more of it ({why}).",
        f"{what} in {table}.",
        f"change it by hand, in {table}, and run this again.",
    )


def _expected(file: ConfigFile, config_path: str | None, *, moved: bool) -> dict[str, Any]:
    values = deepcopy(dict(file.values))
    if config_path is None and _registry_in(values, file.plugin) is None:
        return values
    plugins = values.setdefault("plugins", {})
    registry = plugins.setdefault(file.plugin, {}).setdefault("registry", {})
    if config_path is not None:
        registry["config_path"] = config_path
    if moved:
        _without_legacy(registry)
    return values


def _registry_in(values: Any, plugin: str) -> Any:
    return _mapping(_mapping(values.get("plugins")).get(plugin)).get("registry")


def _without_legacy(registry: Any) -> None:
    registry.pop("mirrors", None)
    configs = registry.get("configs", {})
    for host in list(configs):
        configs[host].pop("tls", None)
        if not configs[host]:
            del configs[host]
    if "configs" in registry and not configs:
        del registry["configs"]


def _edited(file: ConfigFile, config_path: str | None, *, moved: bool) -> str:
    if _registry_in(file.values, file.plugin) is None:
        return _appended(file, str(config_path))
    document = tomlkit.parse(file.text)
    if tomlkit.dumps(document) != file.text:
        raise ValueError("it does not come out of the parser as it went in")
    registry: Any = document["plugins"][file.plugin]["registry"]
    if config_path is not None:
        registry["config_path"] = config_path
    if moved:
        _without_legacy(registry)
    return tomlkit.dumps(document)


def _appended(file: ConfigFile, config_path: str) -> str:
    newline = "\r\n" if "\r\n" in file.text else "\n"
    table = f"[plugins.{file.plugin if file.plugin == 'cri' else json.dumps(file.plugin)}.registry]"
    start = file.text if not file.text or file.text.endswith("\n") else file.text + newline
    return start + newline.join(["", table, f"  config_path = {json.dumps(config_path)}", ""])


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
