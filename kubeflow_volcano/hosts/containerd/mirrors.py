"""The mirror of each registry, by the same rules that rename images in manifests, and the mirror's authority."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cryptography import x509

from kubeflow_volcano.hosts.containerd.hosts_toml import Host
from kubeflow_volcano.problems import InvalidInput, Problem

ANY = "_default"
"""containerd's name for every registry without a directory of its own."""


class Rule(Protocol):
    """A mirror rule: `source` (* is any registry) and one of the others."""

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
class MirrorHost:
    """The host that serves one registry's images; with `upstream` containerd then tries the registry itself."""

    host: Host
    upstream: bool


def mirror_hosts(
    rules: Sequence[Rule], registries: Iterable[str], *, plain_http: Iterable[str], ca: str, upstream: bool
) -> Mapping[str, MirrorHost]:
    """The host of each registry by the name of its directory below config_path, sorted.

    A rule for every registry applies to `registries`; unless it puts the registry's name before the image's, also to
    all others (`_default`). The mirror itself then gets its own entry, and so does a mirror that needs `ca` (a path on
    the nodes) or is in `plain_http`, as pods may use images by its own name.
    """
    http = frozenset(plain_http)
    names = {_complete(name) for name in registries}
    names |= {_complete(rule.source) for rule in rules if rule.source != "*"}
    targets = {_target(rule).partition("/")[0] for rule in rules}
    hosts: dict[str, MirrorHost] = {}
    for name in names:
        rule = next((rule for rule in rules if _complete(rule.source) in {name, "*"}), None)
        if rule is None or _target(rule).partition("/")[0] == name or (rule.source == "*" and name in targets):
            continue
        hosts[name] = MirrorHost(_host(_path(rule, name), http, ca), upstream)
    for rule in rules:
        if rule.source == "*" and not rule.prefix:
            hosts[ANY] = MirrorHost(_host(_target(rule), http, ca), upstream)
    for target in targets:
        if ANY in hosts or ca or target in http:
            hosts.setdefault(target, MirrorHost(_host(target, http, ca), upstream=False))
    return dict(sorted(hosts.items()))


def _complete(source: str) -> str:
    return "docker.io" if source == "index.docker.io" else source


def _target(rule: Rule) -> str:
    return rule.prefix or rule.host or rule.registry


def _path(rule: Rule, registry: str) -> str:
    return f"{rule.prefix}/{registry}" if rule.prefix else _target(rule)


def _host(target: str, http: frozenset[str], ca: str) -> Host:
    host, _, path = target.partition("/")
    scheme = "http" if host in http else "https"
    url = f"{scheme}://{host}/v2/{path}" if path else f"{scheme}://{host}"
    return Host(url, override_path=bool(path), ca=(ca,) if ca and scheme == "https" else ())


def authority(path: Path | None) -> str:
    """The text of a file with the mirror's certificate authority, which containerd reads at each pull; "" for None.

    Raises:
        InvalidInput: it cannot be read, or has something else than certificates.
    """
    if path is None:
        return ""
    try:
        content = path.read_bytes()
        certificates = x509.load_pem_x509_certificates(content)
        text = content.decode("utf-8")
    except (OSError, ValueError) as error:
        raise InvalidInput(_unusable(path, str(error))) from error
    if "PRIVATE KEY" in text:
        raise InvalidInput(_unusable(path, "it contains a private key"))
    if not certificates:
        raise InvalidInput(_unusable(path, "it contains no certificate"))
    return text


def _unusable(path: Path, why: str) -> Problem:
    return Problem(
        f"image_mirror_containerd_ca is {path}: {why.rstrip('.')}.",
        "a file of certificates in PEM; with any other file containerd cannot pull from the mirror.",
        "set it to the certificate of the authority that signed the mirror's.",
    )
