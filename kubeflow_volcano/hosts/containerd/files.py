"""Changes of the hosts.toml files of a node: written, extended, removed, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.hosts.containerd.hosts_toml import (
    hosts_of,
    is_own,
    migrated,
    requests_first,
    with_mirror,
    without_block,
)
from kubeflow_volcano.hosts.containerd.legacy import Legacy
from kubeflow_volcano.hosts.containerd.look import Directory
from kubeflow_volcano.hosts.containerd.masking import without_credentials
from kubeflow_volcano.hosts.containerd.mirrors import ANY, MirrorHost
from kubeflow_volcano.problems import Problem
from kubeflow_volcano.redaction import without_logins

_CERTIFICATES = (".crt", ".cert", ".key")


@dataclass(frozen=True, slots=True)
class Write:
    """A file to write: `before` is None if it does not exist, `after` None if it is removed.

    `foreign`: another program or person wrote it, so a copy is kept.
    """

    path: str
    before: str | None
    after: str | None
    foreign: bool = False

    def diff(self) -> dict[str, str]:
        """The change for Ansible's diff, without credentials."""
        return {
            "before_header": self.path if self.before is not None else "",
            "before": without_credentials(self.before or ""),
            "after_header": self.path if self.after is not None else "",
            "after": without_credentials(self.after or ""),
        }


def directory_of(registry: str, present: Mapping[str, object]) -> str:
    """The directory that containerd uses for a registry: with a port, `host_port_` before `host:port`."""
    host, colon, port = registry.rpartition(":")
    other = f"{host}_{port}_" if colon else registry
    return other if other in present else registry


def hosts_files(
    tree: str,
    present: Mapping[str, Directory],
    wanted: Mapping[str, MirrorHost],
    old: Mapping[str, Legacy],
    *,
    extend: bool,
) -> Iterator[Write | Problem]:
    """A write for each file below `tree` that changes, and a problem for each that cannot.

    `old` is migrated from config.toml. With `extend` the mirror is put before the hosts of a foreign file.
    """
    names = {directory_of(name, present): name for name in (*wanted, *old)}
    for directory, name in sorted(names.items()):
        yield from _one(f"{tree}/{directory}", present.get(directory), wanted.get(name), old.get(name), extend=extend)
    for directory, found in sorted(present.items()):
        if directory not in names and found.hosts is not None:
            yield from _leftover(f"{tree}/{directory}/hosts.toml", found.hosts)


def _one(
    directory: str, existing: Directory | None, wanted: MirrorHost | None, old: Legacy | None, *, extend: bool
) -> Iterator[Write | Problem]:
    path = f"{directory}/hosts.toml"
    try:
        text = existing.hosts.decode("utf-8") if existing and existing.hosts is not None else ""
        hosts_of(without_block(text))
    except ValueError as error:
        yield Problem(
            f"containerd cannot read {path}: {error}. It uses the registry itself.",
            'TOML with [host."URL"] tables, or no file.',
            f"correct or remove {path}.",
        )
        return
    certificates = [name for name in existing.others if name.endswith(_CERTIFICATES)] if existing else []
    if not text.strip() and certificates:
        yield Problem(
            f"{directory} has Docker-style certificates ({', '.join(sorted(certificates))}) and no hosts.toml.",
            "certificates that a hosts.toml names: beside that file containerd ignores all others.",
            f"write {path} with ca and client, or remove the certificates.",
        )
        return
    before = None if existing is None or existing.hosts is None else text
    if old and text.strip():
        if not requests_first(without_block(text), old.hosts, upstream=True):
            yield _both(path)
            return
        old = None  # the file already has it
    if wanted is None:
        if old:
            yield Write(path, before, migrated(old.hosts, old.server))
        return
    own = not text.strip() or is_own(text)
    if not own and requests_first(text, (wanted.host,), upstream=wanted.upstream):
        return
    if not own and not extend:
        yield _foreign(path, text, wanted)
        return
    rest = migrated(old.hosts, old.server if wanted.upstream else None) if old else text
    after = with_mirror(rest, (wanted.host,), upstream=wanted.upstream)
    if after != text:
        yield Write(path, before, after, foreign=not own)


def _both(path: str) -> Problem:
    """A file that containerd did not read so far, as config_path was not set, and tables that it did read."""
    return Problem(
        f"{path} has other hosts than registry.mirrors and registry.configs in containerd's configuration, which did "
        "not read it so far.",
        "only one of the two for each registry.",
        f"remove {path}, or the registry's entries in the configuration.",
    )


def _foreign(path: str, text: str, wanted: MirrorHost) -> Problem:
    names = ", ".join(without_logins(host.url) for host in hosts_of(text)) or "no host"
    return Problem(
        f"{path} was not written by this project and has {names}.",
        f"{without_logins(wanted.host.url)} as its first host.",
        "set image_mirror_containerd_existing: extend to put it before the other hosts, which are kept, or remove the "
        "file.",
    )


def _leftover(path: str, content: bytes) -> Iterator[Write | Problem]:
    """A file that this project wrote for a registry that no rule covers any more."""
    try:
        text = content.decode("utf-8")
        rest = without_block(text)
    except ValueError:
        return  # it cannot be read, and no rule covers its registry
    if rest != text:
        yield Write(path, text, rest or None)


def shadowed(present: Mapping[str, Directory], wanted: Mapping[str, MirrorHost]) -> Sequence[str]:
    """Registries that get their own directory, so that a foreign `_default` no longer applies to them."""
    catch_all = present.get(ANY)
    if (
        catch_all is None
        or catch_all.hosts is None
        or ANY in wanted
        or is_own(catch_all.hosts.decode("utf-8", "replace"))
    ):
        return ()
    return sorted(name for name in wanted if directory_of(name, present) not in present)
