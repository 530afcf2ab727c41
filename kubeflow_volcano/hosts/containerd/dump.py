"""`containerd config dump`, compared and judged.

The dump has imports merged and all defaults, in containerd's newest form. containerd applies the rules of its plugins
only at its start: with a violation it runs on without CRI, and the node becomes NotReady.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from kubeflow_volcano.foreign import read_toml
from kubeflow_volcano.hosts.containerd.config import registry_of
from kubeflow_volcano.problems import InvalidInput, Problem

DEFAULT_LIST = "/etc/containerd/certs.d:/etc/docker/certs.d"
"""Default of config_path since 2.2; 2.2.0 and 2.2.1 print it."""

_CRI = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")
_RUNTIME = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri")


def parse_dump(text: str, of: str) -> Mapping[str, Any]:
    """A dump as values.

    Raises:
        InvalidInput: it is not TOML.
    """
    try:
        return read_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput.problem(
            f"containerd's dump of {of} is not TOML: {error}.",
            "a dump that can be compared before and after a change.",
            f"see what `containerd --config {of} config dump` prints on the node.",
        ) from error


def plugin_problems(dump: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Why containerd would not load its CRI plugins with this configuration."""
    disabled = [name for name in dump.get("disabled_plugins", ()) if name in _CRI]
    if disabled:
        yield Problem(
            f"{path} has disabled_plugins with {', '.join(disabled)}, as Docker's packages write it.",
            "containerd's CRI plugin: the kubelet pulls images through it.",
            f"remove it from disabled_plugins in {path} if the kubelet uses containerd; otherwise check the kubelet's "
            "containerRuntimeEndpoint.",
        )
    registry = registry_of(dump)
    deprecated = [f"mirrors.{name}" for name in registry.mirrors] + [
        f"configs.{name}.tls" for name in registry.with_tls
    ]
    if registry.config_path not in {"", DEFAULT_LIST} and deprecated:
        yield Problem(
            f"{path} has both registry.config_path ({registry.config_path}) and {', '.join(sorted(deprecated))}.",
            "only one of the two: with both, containerd does not load its CRI plugin at its next start.",
            "remove config_path, and a rerun moves the others into hosts.toml files; or remove the others.",
        )
    runtime = _containerd_table(dump)
    default, runtimes = runtime.get("default_runtime_name"), runtime.get("runtimes", {})
    if runtime and (not default or default not in runtimes):
        yield Problem(
            f"{path} has default_runtime_name {default!r}, and the runtimes {', '.join(sorted(runtimes)) or 'none'}.",
            "a default runtime that exists: otherwise containerd does not load its CRI plugin at its next start.",
            "correct default_runtime_name, or add the runtime.",
        )


def expected(dump: Mapping[str, Any], config_path: str, *, without_legacy: bool) -> Mapping[str, Any]:
    """The dump after a change of nothing but the registries."""
    wanted = deepcopy(dict(dump))
    plugins = wanted.get("plugins", {})
    for name in _CRI:
        registry = plugins.get(name, {}).get("registry")
        if registry is not None:
            registry["config_path"] = config_path
            if without_legacy:
                registry.pop("mirrors", None)
                for item in registry.get("configs", {}).values():
                    item.pop("tls", None)
    return wanted


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Dotted keys in which two dumps differ, apart from the list of their files."""
    before, after = dict(_leaves(one)), dict(_leaves(other))
    return tuple(key for key in sorted(before.keys() | after.keys()) if before.get(key) != after.get(key))


def _leaves(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if key != "imports":
            yield from _below(key, value)


def _below(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _below(f"{key}.{name}", item)
    else:
        yield key, repr(value)


def cgroup_driver_problems(dump: Mapping[str, Any], info: Mapping[str, Any]) -> Iterator[Problem]:
    """Runtimes whose cgroup driver a restart would change, which restarts every pod of the node.

    `info` is the configuration that the CRI plugin runs with (`crictl info`); its keys are spelled differently.
    """
    running = _table(info.get("containerd")).get("runtimes")
    for name, item in _table(_containerd_table(dump).get("runtimes")).items():
        mine = bool(_table(item.get("options")).get("SystemdCgroup", False))
        its = _table(_table(_table(running).get(name)).get("options")).get("SystemdCgroup")
        if isinstance(its, bool) and its != mine:
            yield Problem(
                f"containerd runs with SystemdCgroup = {str(its).lower()} for the runtime {name}, and its "
                f"configuration was changed to {str(mine).lower()} since.",
                "a restart that changes nothing but registries; another cgroup driver restarts every pod of the node.",
                "undo that change, or drain the node, restart containerd and the kubelet, and run this again.",
            )


def _containerd_table(dump: Mapping[str, Any]) -> Mapping[str, Any]:
    plugins = _table(dump.get("plugins"))
    return next((_table(_table(plugins[name]).get("containerd")) for name in _RUNTIME if name in plugins), {})


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
