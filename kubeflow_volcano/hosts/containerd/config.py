"""containerd's config.toml and the files that it imports: their settings of registries.

Which table has the registries depends on the file's `version` (containerd's RELEASES.md, docs/hosts.md). The version is
never changed, as an older containerd could no longer read the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from posixpath import dirname, isabs, join, normpath
from typing import Any

from kubeflow_volcano.foreign import read_toml
from kubeflow_volcano.problems import InvalidInput

_PLUGINS = {0: "cri", 1: "cri", 2: "io.containerd.grpc.v1.cri"}
_NEWER = "io.containerd.cri.v1.images"
_MOVED_KEYS = frozenset({"containerd", "registry", "sandbox_image"})


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """One file: its text, byte for byte, and its values."""

    path: str
    text: str
    values: Mapping[str, Any]

    @property
    def version(self) -> int:
        """The version of the file's format, 0 where it has none; it is not containerd's version."""
        number = self.values.get("version", 0)
        return number if isinstance(number, int) else 0

    @property
    def plugin(self) -> str:
        """The plugin whose table has the registries in a file of this version."""
        return _PLUGINS.get(self.version, _NEWER)

    @property
    def table(self) -> Mapping[str, Any] | None:
        """That plugin's table, or None."""
        table = _mapping(self.values.get("plugins")).get(self.plugin)
        return table if isinstance(table, dict) else None

    @property
    def registry(self) -> Mapping[str, Any]:
        """The registries in that table."""
        return _mapping(_mapping(self.table).get("registry"))

    @property
    def configs(self) -> Mapping[str, Mapping[str, Any]]:
        """TLS settings and credentials by host, in that table."""
        return {host: _mapping(item) for host, item in _mapping(self.registry.get("configs")).items()}

    @property
    def ignored_tables(self) -> tuple[str, ...]:
        """Tables with the plugin's name of another version, which containerd ignores."""
        names = {*_PLUGINS.values(), _NEWER} - {self.plugin}
        if self.version == 2:  # noqa: PLR2004  containerd 2 also reads the newer names in such a file
            names -= {_NEWER}
        plugins = _mapping(self.values.get("plugins"))
        # The CRI server of newer files keeps the old name, with other keys.
        return tuple(sorted(name for name in names & set(plugins) if _MOVED_KEYS & set(_mapping(plugins[name]))))

    @property
    def imports(self) -> tuple[str, ...]:
        """Paths and patterns that it imports, made absolute."""
        patterns = self.values.get("imports", ())
        return tuple(
            normpath(item if isabs(item) else join(dirname(self.path), item))
            for item in patterns
            if isinstance(item, str)
        )


@dataclass(frozen=True, slots=True)
class Registry:
    """The registries of a configuration; `mirrors` and `configs` are the deprecated tables."""

    config_path: str
    mirrors: Mapping[str, Any]
    configs: Mapping[str, Any]

    @property
    def with_tls(self) -> Mapping[str, Mapping[str, Any]]:
        """The TLS settings by host that are not empty."""
        return {host: tls for host, item in self.configs.items() if (tls := _mapping(_mapping(item).get("tls")))}


def parse_file(path: str, content: bytes) -> ConfigFile:
    """A file with its values.

    Raises:
        InvalidInput: it is not UTF-8, or not TOML.
    """
    try:
        text = content.decode("utf-8")
        # tomllib takes no bare carriage return, and neither does containerd.
        return ConfigFile(path, text, read_toml(text))
    except ValueError as error:
        raise InvalidInput.problem(
            f"{path} is not TOML: {error}.",
            "a configuration that containerd can read; with this one it would not start again.",
            f"correct {path}; `containerd --config {path} config dump` shows whether it is right.",
        ) from error


def load_order(
    main: ConfigFile, others: Mapping[str, ConfigFile], matching: Mapping[str, Sequence[str]]
) -> tuple[ConfigFile, ...]:
    """The files that containerd loads, in its order: imports of a file come after all imports that were found before.

    `matching` has the paths that match each pattern of `imports`.
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
    """The registries of a dump, which has containerd's newest format."""
    plugins = _mapping(dump.get("plugins"))
    name = _NEWER if _NEWER in plugins else _PLUGINS[2]
    registry = _mapping(_mapping(plugins.get(name)).get("registry"))
    return Registry(
        str(registry.get("config_path", "")), _mapping(registry.get("mirrors")), _mapping(registry.get("configs"))
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
