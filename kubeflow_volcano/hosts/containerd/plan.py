"""What has to change on one node for its containerd to ask the mirror, worked out whole before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.hosts.containerd import dump as dumps
from kubeflow_volcano.hosts.containerd.config import ConfigFile, Registry, registry_of
from kubeflow_volcano.hosts.containerd.files import Write, directory_of, hosts_files, shadowed
from kubeflow_volcano.hosts.containerd.legacy import Legacy, legacy
from kubeflow_volcano.hosts.containerd.loaded import NEWER, changed_files, loaded_files, read_files
from kubeflow_volcano.hosts.containerd.look import Look, not_restartable
from kubeflow_volcano.hosts.containerd.mirrors import Wanted
from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = ["CA_FILE", "Choice", "Plan", "directories", "patterns", "plan"]

CA_FILE = "kubeflow-volcano-ca.crt"
"""Name of the mirror's authority, in the directory that has those of the registries."""

_ONE_DIRECTORY = (2, 1)
"""From this release on containerd takes a list in config_path for one name (containerd#12636)."""

_HAS_DEFAULT = (2, 2)
_DEFAULT = tuple(dumps.DEFAULT_LIST.split(":"))
"""What containerd looks into from that release on where config_path is empty."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What the inventory chooses: the directory where containerd has none, the authority's text, and `existing`."""

    directory: str
    ca: str
    extend: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """`files` are the changed ones of the configuration by path, and `writes` all that are written, in this order.

    `expected` is what containerd's dump has to become; None where the configuration stays as it is. `notes` are for a
    person.
    """

    writes: tuple[Write, ...]
    files: Mapping[str, ConfigFile]
    expected: Mapping[str, Any] | None
    restart: bool
    notes: tuple[str, ...]


def patterns(look: Look) -> tuple[str, ...]:
    """Paths and patterns of imports that were not looked up yet.

    Raises:
        InvalidInput: a file of the configuration is no TOML.
    """
    files = read_files(look)
    return tuple(dict.fromkeys(item for file in files.values() for item in file.imports if item not in look.matching))


def directories(look: Look, choice: Choice) -> tuple[str, ...]:
    """The directories whose content matters: the one that is written to, then others that containerd looks into.

    Raises:
        InvalidInput: containerd cannot read its configuration.
    """
    listed = _listed(registry_of(_dump(look)), look)
    own = not listed or listed == _DEFAULT
    return tuple(dict.fromkeys([choice.directory if own else listed[0], *listed]))


def plan(look: Look, wanted: Mapping[str, Wanted], choice: Choice) -> Plan:
    """What has to be written, in the order in which it may be: authority, hosts.toml files, configuration.

    Raises:
        InvalidInput: everything that keeps it from being done.
    """
    dump = _dump(look)
    registry = _registry(dump, look)
    first, *others = directories(look, choice)
    narrows = (
        bool(wanted) and registry.config_path != first and (not registry.config_path or look.release >= _ONE_DIRECTORY)
    )
    moves = narrows and registry.config_path in {"", dumps.DEFAULT_LIST} and bool(registry.mirrors or registry.with_tls)
    problems = [*dumps.refused(dump, look.config), *_lost(first, others, look, wanted, narrows=narrows)]
    old: Mapping[str, Legacy] = {}
    files: Mapping[str, ConfigFile] = {}
    try:
        old = legacy(registry) if moves else {}
        files = changed_files(look, first, moves=moves) if narrows else {}
    except InvalidInput as error:
        problems += error.problems
    below = list(hosts_files(first, look.trees.get(first, {}), wanted, old, extend=choice.extend))
    problems += [item for item in below if isinstance(item, Problem)]
    restart = bool(files) or any(path == look.config or path in look.files for path in look.unfinished)
    if restart:
        problems += [*not_restartable(look.service), *dumps.running_otherwise(dump, look.info)]
    if problems:
        raise InvalidInput(problems)
    below_first = [item for item in below if isinstance(item, Write)]
    authority = _authority(f"{first}/{CA_FILE}", look, choice)
    before = {path: look.files[path].decode() for path in files if path in look.files}
    writes = [
        *(item for item in authority if item.after is not None),
        *below_first,
        *(Write(path, before.get(path), file.text, foreign=True) for path, file in files.items()),
        *(item for item in authority if item.after is None),
    ]
    return Plan(
        tuple(writes),
        files,
        dumps.expected(dump, first, moved=moves) if files else None,
        restart,
        tuple(_notes(look, registry, first, wanted, files, restart=restart)),
    )


def _dump(look: Look) -> Mapping[str, Any]:
    if look.dump_error:
        raise InvalidInput(
            Problem(
                f"containerd cannot read its own configuration: {look.dump_error}.",
                "a configuration that it can read; with this one it would not start again.",
                f"correct {look.config}; containerd --config {look.config} config dump tells whether it is right.",
            )
        )
    return dumps.parsed(look.dump, look.config)


def _registry(dump: Mapping[str, Any], look: Look) -> Registry:
    """What the dump says, with the TLS settings of the files where containerd 2 passes over them."""
    found = registry_of(dump)
    if look.release < NEWER:
        return found
    configs = {host: dict(item) for host, item in found.configs.items()}
    for file in loaded_files(look):
        for host, item in file.configs.items():
            configs.setdefault(host, {}).update({"tls": item["tls"]} if item.get("tls") else {})
    return Registry(found.config_path, found.mirrors, configs)


def _listed(registry: Registry, look: Look) -> tuple[str, ...]:
    if registry.config_path:  # 2.2.0 prints its default, later ones do not
        return tuple(registry.config_path.split(":"))
    return _DEFAULT if look.release >= _HAS_DEFAULT and not registry.mirrors else ()


def _lost(
    first: str, others: Sequence[str], look: Look, wanted: Mapping[str, Wanted], *, narrows: bool
) -> Iterator[Problem]:
    """Directories further back in a list, of which something would no longer count."""
    for other in others:
        names = sorted(name for name in look.trees.get(other, {}) if narrows or name in wanted)
        if names:
            yield Problem(
                f"containerd looks into {first} and then {other}, which has {', '.join(names)}.",
                f"all in {first}: since containerd 2.1 a list of directories counts as one name, and before, the first "
                "directory of a registry's name counts alone.",
                f"move them from {other} to {first}, or remove them.",
            )


def _authority(path: str, look: Look, choice: Choice) -> tuple[Write, ...]:
    before = look.authority.decode("utf-8", "replace") if look.authority is not None else None
    return (Write(path, before, choice.ca or None),) if (before or "") != choice.ca else ()


def _notes(
    look: Look,
    registry: Registry,
    first: str,
    wanted: Mapping[str, Wanted],
    files: Mapping[str, ConfigFile],
    *,
    restart: bool,
) -> Iterator[str]:
    present = look.trees.get(first, {})
    if look.unfinished:
        yield "An earlier run changed containerd's configuration and did not see it come up; that is made up for now."
    if restart and look.newer:
        yield f"{', '.join(look.newer)} changed after containerd started; its restart puts that into use as well."
    if restart and look.service.get("Delegate") != "yes":
        yield "containerd.service has no Delegate=yes; systemd may move the pods' processes at a daemon-reload."
    for path in files:
        if path != look.config:
            yield f"{path}, which is imported, is changed: containerd takes the registries from there."
    idle = sorted(name for name in present if name not in {directory_of(each, present) for each in wanted})
    if files and idle and not registry.config_path:
        yield f"{first} has directories that were not read so far, and will be: {', '.join(idle)}."
    if names := shadowed(present, wanted):
        yield f"{first}/_default no longer counts for {', '.join(names)}, which get a directory of their own."
