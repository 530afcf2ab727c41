"""What becomes of the hosts.toml files of a node: written, extended, left alone, taken away, or refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.hosts.containerd.hosts_toml import composed, hosts_of, is_own, means, moved, without_block
from kubeflow_volcano.hosts.containerd.legacy import Legacy
from kubeflow_volcano.hosts.containerd.look import Directory
from kubeflow_volcano.hosts.containerd.mirrors import ANY, Wanted
from kubeflow_volcano.problems import Problem

__all__ = ["Write", "directory_of", "hosts_files", "shadowed"]

_CERTIFICATES = (".crt", ".cert", ".key")


@dataclass(frozen=True, slots=True)
class Write:
    """A file to be written: `before` is None where there is none, `after` None where it is to be removed.

    `foreign`: somebody else wrote what stands there, so a copy of it is kept.
    """

    path: str
    before: str | None
    after: str | None
    foreign: bool = False


def directory_of(registry: str, present: Mapping[str, object]) -> str:
    """The directory that containerd takes for a registry: with a port, `host_port_` goes before `host:port`."""
    host, colon, port = registry.rpartition(":")
    other = f"{host}_{port}_" if colon else registry
    return other if other in present else registry


def hosts_files(
    tree: str,
    present: Mapping[str, Directory],
    wanted: Mapping[str, Wanted],
    old: Mapping[str, Legacy],
    *,
    extend: bool,
) -> Iterator[Write | Problem]:
    """One entry for each file below `tree` that changes, and one for each that cannot.

    `old` is what moves here from config.toml. `extend`: the mirror may be put before what somebody else wrote.
    """
    names = {directory_of(name, present): name for name in (*wanted, *old)}
    for directory, name in sorted(names.items()):
        yield from _one(f"{tree}/{directory}", present.get(directory), wanted.get(name), old.get(name), extend=extend)
    for directory, found in sorted(present.items()):
        if directory not in names and found.hosts is not None:
            yield from _leftover(f"{tree}/{directory}/hosts.toml", found.hosts)


def _one(
    directory: str, found: Directory | None, wanted: Wanted | None, old: Legacy | None, *, extend: bool
) -> Iterator[Write | Problem]:
    path = f"{directory}/hosts.toml"
    try:
        text = found.hosts.decode("utf-8") if found and found.hosts is not None else ""
        hosts_of(without_block(text))
    except ValueError as error:
        yield Problem(
            f"{path} is none that containerd can read: {error}. It then asks the registry itself.",
            'TOML with [host."URL"] tables, or no file.',
            f"correct or remove {path}.",
        )
        return
    certificates = [name for name in found.others if name.endswith(_CERTIFICATES)] if found else []
    if not text.strip() and certificates:
        yield Problem(
            f"{directory} has {', '.join(sorted(certificates))} in the manner of Docker, and no hosts.toml.",
            "certificates named in a hosts.toml, as containerd looks at no others beside one.",
            f"write {path} with ca and client, or remove the certificates.",
        )
        return
    before = None if found is None or found.hosts is None else text
    if old and text.strip():
        if not means(without_block(text), old.hosts, upstream=True):
            yield _both(path)
            return
        old = None  # it is there already
    if wanted is None:
        if old:
            yield Write(path, before, moved(old.hosts, old.server))
        return
    own = not text.strip() or is_own(text)
    if not own and means(text, (wanted.host,), upstream=wanted.upstream):
        return
    if not own and not extend:
        yield _foreign(path, text, wanted)
        return
    rest = moved(old.hosts, old.server if wanted.upstream else None) if old else text
    after = composed(rest, (wanted.host,), upstream=wanted.upstream)
    if after != text:
        yield Write(path, before, after, foreign=not own)


def _both(path: str) -> Problem:
    """A file that was not read so far, as config_path was not set, beside tables that were."""
    return Problem(
        f"{path} names other hosts than registry.mirrors and registry.configs in containerd's configuration, and was "
        "not read so far.",
        "one of the two for each registry.",
        f"remove {path}, or the registry's entries in the configuration.",
    )


def _foreign(path: str, text: str, wanted: Wanted) -> Problem:
    names = ", ".join(host.url for host in hosts_of(text)) or "no host"
    return Problem(
        f"{path} was written by somebody else and names {names}.",
        f"{wanted.host.url} as the first host in it.",
        "set image_mirror_containerd_existing: extend to have it put before what stands there, which is kept, or "
        "remove the file.",
    )


def _leftover(path: str, content: bytes) -> Iterator[Write | Problem]:
    """What was written here for a registry that no rule names any more."""
    try:
        text = content.decode("utf-8")
        rest = without_block(text)
    except ValueError:
        return  # nobody asks for this registry
    if rest != text:
        yield Write(path, text, rest or None)


def shadowed(present: Mapping[str, Directory], wanted: Mapping[str, Wanted]) -> Sequence[str]:
    """Registries that get a directory of their own, and for which somebody else's `_default` then counts no more."""
    found = present.get(ANY)
    if found is None or found.hosts is None or ANY in wanted or is_own(found.hosts.decode("utf-8", "replace")):
        return ()
    return sorted(name for name in wanted if directory_of(name, present) not in present)
