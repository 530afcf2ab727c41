"""Which registries the nodes' containerd asks elsewhere, by the same rules that rename images in manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kubeflow_volcano.hosts.containerd.hosts_toml import Host

__all__ = ["ANY", "Rule", "Wanted", "wanted"]

ANY = "_default"
"""containerd's name for every registry without a directory of its own."""


class Rule(Protocol):
    """A mirror rule: for `source` (* is any), one of the others is set."""

    @property
    def source(self) -> str:
        """A registry, or * for any."""

    @property
    def prefix(self) -> str:
        """Put before the whole name."""

    @property
    def host(self) -> str:
        """In place of the registry."""

    @property
    def registry(self) -> str:
        """In place of the registry, with a path."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where one registry's images are asked for; `upstream`: at last at the registry itself."""

    host: Host
    upstream: bool


def wanted(
    rules: Sequence[Rule], registries: Iterable[str], *, plain_http: Iterable[str], ca: str, upstream: bool
) -> Mapping[str, Wanted]:
    """What each registry gets, by the name of its directory below config_path, in order of the names.

    A rule for any registry reaches those in `registries`; where it does not put the registry's name before the image's,
    also all others (`_default`). The mirror itself then gets an entry of its own, and so does one that needs `ca`, the
    path of a file on the nodes, or is in `plain_http`: its images may be asked for by its own name.
    """
    http = frozenset(plain_http)
    names = {_complete(name) for name in registries}
    names |= {_complete(rule.source) for rule in rules if rule.source != "*"}
    targets = {_target(rule).partition("/")[0] for rule in rules}
    found: dict[str, Wanted] = {}
    for name in names:
        rule = next((rule for rule in rules if _complete(rule.source) in {name, "*"}), None)
        if rule is None or _target(rule).partition("/")[0] == name or (rule.source == "*" and name in targets):
            continue
        found[name] = Wanted(_asked(_path(rule, name), http, ca), upstream)
    for rule in rules:
        if rule.source == "*" and not rule.prefix:
            found[ANY] = Wanted(_asked(_target(rule), http, ca), upstream)
    for target in targets:
        if ANY in found or ca or target in http:
            found.setdefault(target, Wanted(_asked(target, http, ca), upstream=False))
    return dict(sorted(found.items()))


def _complete(source: str) -> str:
    return "docker.io" if source == "index.docker.io" else source


def _target(rule: Rule) -> str:
    return rule.prefix or rule.host or rule.registry


def _path(rule: Rule, registry: str) -> str:
    return f"{rule.prefix}/{registry}" if rule.prefix else _target(rule)


def _asked(target: str, http: frozenset[str], ca: str) -> Host:
    host, _, path = target.partition("/")
    scheme = "http" if host in http else "https"
    url = f"{scheme}://{host}/v2/{path}" if path else f"{scheme}://{host}"
    return Host(url, override_path=bool(path), ca=(ca,) if ca and scheme == "https" else ())
