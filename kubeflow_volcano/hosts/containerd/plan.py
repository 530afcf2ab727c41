"""What has to change on one node so that containerd pulls from the mirror, all of it before the first write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.hosts.containerd import dump as dumps
from kubeflow_volcano.hosts.containerd.config import ConfigFile, Registry, registry_of
from kubeflow_volcano.hosts.containerd.files import Write, directory_of, hosts_files, shadowed
from kubeflow_volcano.hosts.containerd.legacy import Legacy, migrate
from kubeflow_volcano.hosts.containerd.loaded import NEWER, changed_files, loaded_files, read_files
from kubeflow_volcano.hosts.containerd.look import Look, unit_problems
from kubeflow_volcano.hosts.containerd.mirrors import MirrorHost
from kubeflow_volcano.problems import InvalidInput, Problem, collecting

CA_FILE = "kubeflow-volcano-ca.crt"
"""File of the mirror's authority, in the directory that has the registries' directories."""

_ONE_DIRECTORY = (2, 1)
"""From this release on containerd treats a list in config_path as one path (containerd#12636)."""

_HAS_DEFAULT = (2, 2)
_DEFAULT = tuple(dumps.DEFAULT_LIST.split(":"))
"""The directories for an empty config_path from that release on."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Choices of the inventory: the directory if containerd has none, the authority's text, and `existing`."""

    directory: str
    ca: str
    extend: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """Files to write, in this order; `files` are those of the configuration that change, by path.

    `expected` is containerd's dump after the change; None if the configuration does not change.
    """

    writes: tuple[Write, ...]
    files: Mapping[str, ConfigFile]
    expected: Mapping[str, Any] | None
    restart: bool
    notes: tuple[str, ...]


def unread_imports(look: Look) -> tuple[str, ...]:
    """Paths and patterns of imports that were not read yet.

    Raises:
        InvalidInput: a file of the configuration is not TOML.
    """
    files = read_files(look)
    return tuple(dict.fromkeys(item for file in files.values() for item in file.imports if item not in look.matching))


def directories(look: Look, choice: Choice) -> tuple[str, ...]:
    """The directories of registries: the one that is written to, then others that containerd reads.

    Raises:
        InvalidInput: containerd cannot read its configuration.
    """
    listed = _listed(registry_of(_dump(look)), look)
    own = not listed or listed == _DEFAULT
    return tuple(dict.fromkeys([choice.directory if own else listed[0], *listed]))


def plan(look: Look, wanted: Mapping[str, MirrorHost], choice: Choice) -> Plan:
    """What to write, in a safe order: authority, hosts.toml files, configuration.

    Raises:
        InvalidInput: everything that prevents the change.
    """
    dump = _dump(look)
    registry = _registry(dump, look)
    first, *others = directories(look, choice)
    narrows = (
        bool(wanted) and registry.config_path != first and (not registry.config_path or look.release >= _ONE_DIRECTORY)
    )
    moves = narrows and registry.config_path in {"", dumps.DEFAULT_LIST} and bool(registry.mirrors or registry.with_tls)
    problems = [*dumps.plugin_problems(dump, look.config), *_lost(first, others, look, wanted, narrows=narrows)]
    old: Mapping[str, Legacy] = {}
    files: Mapping[str, ConfigFile] = {}
    with collecting(problems):
        old = migrate(registry) if moves else {}
        files = changed_files(look, first, moves=moves) if narrows else {}
    below = list(hosts_files(first, look.trees.get(first, {}), wanted, old, extend=choice.extend))
    problems += [item for item in below if isinstance(item, Problem)]
    restart = bool(files) or any(path == look.config or path in look.files for path in look.unfinished)
    if restart:
        problems += [*unit_problems(look.service), *dumps.cgroup_driver_problems(dump, look.info)]
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
        dumps.expected(dump, first, without_legacy=moves) if files else None,
        restart,
        tuple(_notes(look, registry, first, wanted, files, restart=restart)),
    )


def _dump(look: Look) -> Mapping[str, Any]:
    if look.dump_error:
        raise InvalidInput.problem(
            f"containerd cannot read its own configuration: {look.dump_error}.",
            "a configuration that it can read; with this one it would not start again.",
            f"correct {look.config}; `containerd --config {look.config} config dump` shows whether it is right.",
        )
    return dumps.parse_dump(look.dump, look.config)


def _registry(dump: Mapping[str, Any], look: Look) -> Registry:
    """The registries of the dump, with TLS settings of the files, which containerd 2 ignores."""
    registry = registry_of(dump)
    if look.release < NEWER:
        return registry
    configs = {host: dict(item) for host, item in registry.configs.items()}
    for file in loaded_files(look):
        for host, item in file.configs.items():
            configs.setdefault(host, {}).update({"tls": item["tls"]} if item.get("tls") else {})
    return Registry(registry.config_path, registry.mirrors, configs)


def _listed(registry: Registry, look: Look) -> tuple[str, ...]:
    if registry.config_path:  # 2.2.0 prints its default, later ones do not
        return tuple(registry.config_path.split(":"))
    return _DEFAULT if look.release >= _HAS_DEFAULT and not registry.mirrors else ()


def _lost(
    first: str, others: Sequence[str], look: Look, wanted: Mapping[str, MirrorHost], *, narrows: bool
) -> Iterator[Problem]:
    """Later directories of a list whose entries would no longer apply."""
    for other in others:
        names = sorted(name for name in look.trees.get(other, {}) if narrows or name in wanted)
        if names:
            yield Problem(
                f"containerd reads {first} and then {other}, which has {', '.join(names)}.",
                f"all of them in {first}: from 2.1 on containerd treats a list of directories as one path; before, it "
                "uses only the first directory of a registry.",
                f"move them from {other} to {first}, or remove them.",
            )


def _authority(path: str, look: Look, choice: Choice) -> tuple[Write, ...]:
    before = look.authority.decode("utf-8", "replace") if look.authority is not None else None
    return (Write(path, before, choice.ca or None),) if (before or "") != choice.ca else ()


def _notes(
    look: Look,
    registry: Registry,
    first: str,
    wanted: Mapping[str, MirrorHost],
    files: Mapping[str, ConfigFile],
    *,
    restart: bool,
) -> Iterator[str]:
    present = look.trees.get(first, {})
    if look.unfinished:
        yield "An earlier run was interrupted after it changed containerd's configuration; this run completes it."
    if restart and look.newer:
        yield f"{', '.join(look.newer)} changed after containerd started; the restart activates that change, too."
    if restart and look.service.get("Delegate") != "yes":
        yield "containerd.service has no Delegate=yes; systemd may move processes of pods at a daemon-reload."
    for path in files:
        if path != look.config:
            yield f"{path}, an imported file, is changed: containerd reads the registries from there."
    idle = sorted(name for name in present if name not in {directory_of(each, present) for each in wanted})
    if files and idle and not registry.config_path:
        yield f"{first} has directories that containerd did not read so far, and will read: {', '.join(idle)}."
    if names := shadowed(present, wanted):
        yield f"{first}/_default no longer applies to {', '.join(names)}, which get their own directories."
