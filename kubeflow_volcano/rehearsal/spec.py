"""What a rehearsal cluster is to be, where its files are, and what the last `up` decided."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rehearsal.build.generation import HOME, extras_of
from kubeflow_volcano.text import counted

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?")
_KIND = re.compile(r"[a-z]([-a-z0-9]{0,28}[a-z0-9])?")
_MOST_NODES, _MOST_GPUS = 1000, 64
GPU = "nvidia.com/gpu"
GPU_NODES, PLATFORM_NODES, REAL_NODES = "gpu", "cpu", "rehearsal"
"""How names of nodes begin: those with GPUs, the one for Kubeflow's components, the one that is not simulated."""


@dataclass(frozen=True, slots=True)
class NodeKind:
    """`count` simulated nodes, NAME-1 and so on: what each offers beside CPU and memory, and the labels of all."""

    name: str
    count: int
    resources: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of its nodes."""
        return [f"{self.name}-{number}" for number in range(1, self.count + 1)]


@dataclass(frozen=True, slots=True)
class RehearsalSpec:
    """A rehearsal cluster as the user specifies it.

    `gpu_nodes` simulated nodes offer `gpus_per_node` of nvidia.com/gpu each, beside the one real node, and `nodes` are
    those of further kinds. `extras` are optional programs and images of the generation.
    """

    name: str = "default"
    gpu_nodes: int = 4
    gpus_per_node: int = 1
    generation: str = "1.30"
    extras: tuple[str, ...] = ()
    nodes: tuple[NodeKind, ...] = ()

    @property
    def kinds(self) -> tuple[NodeKind, ...]:
        """Every kind of simulated nodes, but that of the node for Kubeflow's components."""
        return NodeKind(GPU_NODES, self.gpu_nodes, {GPU: self.gpus_per_node}), *self.nodes

    def validate(self) -> None:
        """Check every value.

        Raises:
            InvalidInput: all values that cannot be used.
        """
        problems = [
            Problem(f"{what} is {found!r}.", f"{needed}.", f"correct {what}.")
            for good, what, found, needed in (
                (
                    _NAME.fullmatch(self.name),
                    "the cluster's name",
                    self.name,
                    "1 to 20 lower-case letters, digits or '-', beginning and ending with a letter or digit",
                ),
                (
                    0 <= self.gpu_nodes <= _MOST_NODES,
                    "the number of GPU nodes",
                    self.gpu_nodes,
                    f"a number from 0 to {_MOST_NODES}",
                ),
                (
                    1 <= self.gpus_per_node <= _MOST_GPUS,
                    "the number of GPUs per node",
                    self.gpus_per_node,
                    f"a number from 1 to {_MOST_GPUS}",
                ),
                (
                    self.generation in generations(),
                    "the generation",
                    self.generation,
                    f"one of {', '.join(generations())}",
                ),
                (
                    set(self.extras) <= set(_extras(self.generation)),
                    "the list of extras",
                    ", ".join(self.extras),
                    f"names from generation {self.generation}: {', '.join(_extras(self.generation)) or 'it has none'}",
                ),
            )
            if not good
        ]
        problems += _of_kinds(self.nodes)
        if problems:
            raise InvalidInput(problems)


def _of_kinds(kinds: tuple[NodeKind, ...]) -> Iterator[Problem]:
    """What of the kinds of nodes cannot be used; the schema of the variable has the rest."""
    times = Counter(kind.name for kind in kinds)
    for name, count in times.items():
        if count > 1 or not _KIND.fullmatch(name) or name in {GPU_NODES, PLATFORM_NODES, REAL_NODES}:
            yield Problem(
                f"{counted(count, 'kind')} of simulated nodes named {name!r}.",
                f"names of lower-case letters, digits and '-', each once, and none of {GPU_NODES}, {PLATFORM_NODES}, "
                f"{REAL_NODES}, which the cluster's own nodes have.",
                "choose another name.",
            )
    for kind in kinds:
        if kind.count > _MOST_NODES or not all("/" in name and amount >= 0 for name, amount in kind.resources.items()):
            yield Problem(
                f"{kind.count} simulated nodes {kind.name} with {dict(kind.resources)}.",
                f"at most {_MOST_NODES}, and resources of a device plugin (DOMAIN/NAME) with a whole number: CPU and "
                "memory are the same on all.",
                "correct count and resources.",
            )


def generations() -> tuple[str, ...]:
    """Names of the generations that this installation can build, oldest first."""
    return tuple(sorted(entry.parent.name for entry in HOME.glob("*/generation.yaml")))


def _extras(generation: str) -> tuple[str, ...]:
    return extras_of(generation) if generation in generations() else ()


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    """Where one cluster keeps its files on the host, and the names of its control group and interface."""

    home: Path

    @classmethod
    def of(cls, name: str) -> ClusterPaths:
        """The paths of the cluster called `name` in this user's cache."""
        return cls(cache_directory() / "rehearsal" / name)

    @property
    def identity(self) -> str:
        """Eight characters that differ between clusters of one name in different caches."""
        return hashlib.sha256(str(self.home).encode()).hexdigest()[:8]

    @property
    def cgroup(self) -> str:
        """Name of the cluster's control group in every hierarchy."""
        return f"kfv-{self.home.name}-{self.identity}"

    @property
    def interface(self) -> str:
        """Name of the host's end of the veth pair to the node (at most 15 characters)."""
        return f"kfv{self.identity}"

    @property
    def kubeconfig(self) -> Path:
        """Administrator's credentials, usable from the host."""
        return self.home / "admin.kubeconfig"

    @property
    def state(self) -> Path:
        """File of `State`."""
        return self.home / "state.json"

    @property
    def lock(self) -> Path:
        """Locked while a process changes the cluster; beside the directory, which `down` removes."""
        return self.home.with_name(f".{self.home.name}.lock")

    @property
    def removed(self) -> Path:
        """What `down` renames `home` to before removing it."""
        return self.home.with_name(f".{self.home.name}.removed")

    @property
    def root(self) -> Path:
        """The node's root directory."""
        return self.home / "root"

    @property
    def logs(self) -> Path:
        """One log per daemon, and `node.log` of the node's own start."""
        return self.root / "var/log/rehearsal"

    @property
    def pki(self) -> Path:
        """Authorities, certificates and keys."""
        return self.home / "pki"

    @property
    def library(self) -> Path:
        """Copy of the Python modules that run inside the node."""
        return self.home / "lib"


@dataclass(frozen=True, slots=True)
class State:
    """What the last `up` decided, for the next one.

    `fingerprint` identifies the node's configuration and is empty until the node's first start; `started` is the time
    of the last start in seconds since the epoch.
    """

    spec: RehearsalSpec
    subnet: IPv4Network
    fingerprint: str = ""
    started: float = 0.0

    @classmethod
    def load(cls, path: Path) -> State | None:
        """Read what `save` wrote; None when there is nothing, or nothing that this version can read."""
        try:
            raw = read_json(path.read_text(encoding="utf-8"))
            given = raw["spec"]
            nodes = tuple(NodeKind(**item) for item in given.get("nodes", ()))
            spec = RehearsalSpec(**{**given, "extras": tuple(given.get("extras", ())), "nodes": nodes})
            return cls(spec, IPv4Network(raw["subnet"]), raw["fingerprint"], raw["started"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def save(self, path: Path) -> None:
        """Write this state in one step."""
        content = asdict(self) | {"subnet": str(self.subnet)}
        write_file(path, json.dumps(content, indent=2) + "\n")
