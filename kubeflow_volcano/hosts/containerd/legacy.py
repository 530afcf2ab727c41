"""The deprecated registry.mirrors and registry.configs of config.toml, migrated to hosts.toml files.

containerd does not load its CRI plugin with both these and config_path (pkg/cri/config, ValidatePluginConfig). What
they do is read from its registryEndpoints and registryHosts (pkg/cri/server/image_pull.go, 1.7).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from kubeflow_volcano.hosts.containerd.config import Registry
from kubeflow_volcano.hosts.containerd.hosts_toml import Host
from kubeflow_volcano.hosts.containerd.mirrors import ANY
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.redaction import without_logins

_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Legacy:
    """The hosts of one registry in order, then the registry itself (None: with its default settings)."""

    hosts: tuple[Host, ...]
    server: Host | None


def migrate(registry: Registry) -> Mapping[str, Legacy]:
    """What goes into hosts.toml files, by directory; credentials stay in config.toml.

    Raises:
        InvalidInput: endpoints that containerd itself cannot use.
    """
    tls = registry.with_tls
    names = {name for name in registry.mirrors if name != "*"} | set(tls)
    names -= {"registry-1.docker.io"} - set(registry.mirrors)  # Docker Hub's own name for itself
    if "registry-1.docker.io" in tls:
        names.add("docker.io")
    problems: list[Problem] = []
    legacy: dict[str, Legacy] = {}
    for name in sorted(names):
        own = registry.mirrors.get(name, registry.mirrors.get("*", {}))
        try:
            legacy[name] = _of(name, own.get("endpoint") or (), tls)
        except ValueError as error:
            problems.append(_unusable(name, error))
    if endpoints := registry.mirrors.get("*", {}).get("endpoint"):
        try:
            legacy[ANY] = Legacy(tuple(_host(_split(text), tls) for text in endpoints), None)
        except ValueError as error:
            problems.append(_unusable("*", error))
    if problems:
        raise InvalidInput(problems)
    return {name: item for name, item in legacy.items() if item.hosts or item.server}


def _unusable(name: str, error: ValueError) -> Problem:
    return Problem(
        f"registry.mirrors.{name} in containerd's configuration has an endpoint that is not an address: {error}.",
        "endpoints such as https://mirror.lan:5000.",
        "correct or remove the endpoint.",
    )


def _of(name: str, endpoints: Any, tls: Mapping[str, Mapping[str, Any]]) -> Legacy:
    addresses = [_split(text) for text in endpoints]
    hosts = [_host(address, tls) for address in addresses]
    if any(address.netloc == name for address in addresses):
        # containerd then does not append the registry itself.
        return Legacy(tuple(hosts), hosts[-1])
    default = "registry-1.docker.io" if name == "docker.io" else name
    if default not in tls:
        return Legacy(tuple(hosts), None)
    server = _host(_split(default), tls)
    # A file needs a host table; without any other, the registry itself is the host.
    return Legacy(tuple(hosts) or (server,), server)


def _split(text: object) -> SplitResult:
    address = str(text)
    if "://" not in address:
        local = urlsplit(f"//{address}").hostname in _LOCAL
        address = f"{'http' if local else 'https'}://{address}"
    split = urlsplit(address)
    if split.scheme not in {"http", "https"} or not split.netloc:
        raise ValueError(without_logins(str(text)))
    return split


def _host(address: SplitResult, tls: Mapping[str, Mapping[str, Any]]) -> Host:
    """An endpoint's path was the API's root, which hosts.toml needs override_path for."""
    path = address.path.rstrip("/")
    url = f"{address.scheme}://{address.netloc}{'' if path == '/v2' else path}"
    keys = tls.get(address.netloc, {})
    pair = (str(keys.get("cert_file") or ""), str(keys.get("key_file") or ""))
    return Host(
        url,
        override_path=path not in {"", "/v2"},
        ca=(str(keys["ca_file"]),) if keys.get("ca_file") else (),
        client=(pair,) if all(pair) else (),
        skip_verify=bool(keys.get("insecure_skip_verify")),
    )
