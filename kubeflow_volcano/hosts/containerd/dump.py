"""What containerd itself makes of its configuration (`containerd config dump`), compared and judged.

The dump has imports merged and all defaults, in containerd's newest form. It is not held against the rules of the
plugins, which containerd applies when it starts: it then runs on without CRI, and the node is not ready any more.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from kubeflow_volcano.hosts.containerd.config import registry_of
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["DEFAULT_LIST", "differences", "expected", "parsed", "refused", "running_otherwise"]

DEFAULT_LIST = "/etc/containerd/certs.d:/etc/docker/certs.d"
"""What 2.2 takes for an empty config_path; 2.2.0 and 2.2.1 print it so."""

_CRI = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")
_RUNTIME = ("io.containerd.cri.v1.runtime", "io.containerd.grpc.v1.cri")


def parsed(text: str, of: str) -> Mapping[str, Any]:
    """A dump as values.

    Raises:
        InvalidInput: it is none.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(
            Problem(
                f"containerd's dump of {of} is no TOML: {error}.",
                "a dump that can be compared before and after a change.",
                f"run containerd --config {of} config dump on the node.",
            )
        ) from error


def refused(dump: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Why containerd would not load its CRI plugins with this configuration, in so far as registries matter to it."""
    disabled = [name for name in dump.get("disabled_plugins", ()) if name in _CRI]
    if disabled:
        yield Problem(
            f"{path} has disabled_plugins with {', '.join(disabled)}, as the packages of Docker write it.",
            "containerd's CRI plugin, through which the kubelet pulls images.",
            f"remove it from disabled_plugins in {path} if the kubelet is to use containerd; see its "
            "containerRuntimeEndpoint if it uses something else.",
        )
    registry = registry_of(dump)
    deprecated = [f"mirrors.{name}" for name in registry.mirrors] + [
        f"configs.{name}.tls" for name in registry.with_tls
    ]
    if registry.config_path not in {"", DEFAULT_LIST} and deprecated:
        yield Problem(
            f"{path} has both registry.config_path ({registry.config_path}) and {', '.join(sorted(deprecated))}.",
            "one of the two: with both, containerd does not load its CRI plugin at its next start.",
            "remove config_path to have the others moved into hosts.toml files, or remove the others.",
        )
    runtime = _containerd_table(dump)
    default, runtimes = runtime.get("default_runtime_name"), runtime.get("runtimes", {})
    if runtime and (not default or default not in runtimes):
        yield Problem(
            f"{path} has default_runtime_name {default!r}, and the runtimes {', '.join(sorted(runtimes)) or 'none'}.",
            "a default runtime that exists: otherwise containerd does not load its CRI plugin at its next start.",
            "correct default_runtime_name, or add the runtime.",
        )


def expected(dump: Mapping[str, Any], config_path: str, *, moved: bool) -> Mapping[str, Any]:
    """What the dump has to become by a change of the registries alone."""
    wanted = deepcopy(dict(dump))
    plugins = wanted.get("plugins", {})
    for name in _CRI:
        registry = plugins.get(name, {}).get("registry")
        if registry is not None:
            registry["config_path"] = config_path
            if moved:
                registry.pop("mirrors", None)
                for item in registry.get("configs", {}).values():
                    item.pop("tls", None)
    return wanted


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[str, ...]:
    """Where two dumps differ, as dotted keys; the list of files that they are made of does not count."""
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


def running_otherwise(dump: Mapping[str, Any], info: Mapping[str, Any]) -> Iterator[Problem]:
    """What a restart would change for running pods: the cgroup driver in the file is another than the running one.

    `info` is the configuration that the CRI plugin tells of itself (`crictl info`), whose keys are spelled otherwise.
    """
    running = _table(info.get("containerd")).get("runtimes")
    for name, item in _table(_containerd_table(dump).get("runtimes")).items():
        mine = bool(_table(item.get("options")).get("SystemdCgroup", False))
        its = _table(_table(_table(running).get(name)).get("options")).get("SystemdCgroup")
        if isinstance(its, bool) and its != mine:
            yield Problem(
                f"containerd runs with SystemdCgroup = {str(its).lower()} for the runtime {name}, and its "
                f"configuration was changed to {str(mine).lower()} since.",
                "a restart that changes registries alone: with the other cgroup driver every pod of the node restarts.",
                "take that change back, or drain the node, restart containerd and the kubelet, and run this again.",
            )


def _containerd_table(dump: Mapping[str, Any]) -> Mapping[str, Any]:
    plugins = _table(dump.get("plugins"))
    return next((_table(_table(plugins[name]).get("containerd")) for name in _RUNTIME if name in plugins), {})


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
