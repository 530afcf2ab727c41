"""What a rehearsal cluster is to be, where its files are, and what the last `up` decided."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from ipaddress import IPv4Network
from pathlib import Path

from kubeflow_volcano.directories import cache_directory
from kubeflow_volcano.files import write_file
from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rehearsal.build.generation import HOME, extras_of

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?")
_MOST_NODES, _MOST_GPUS = 1000, 64


@dataclass(frozen=True, slots=True)
class RehearsalSpec:
    """A rehearsal cluster as the user specifies it.

    `gpu_nodes` simulated nodes offer `gpus_per_node` of nvidia.com/gpu each, beside the one real node. `extras` are
    optional programs and images of the generation.
    """

    name: str = "default"
    gpu_nodes: int = 4
    gpus_per_node: int = 1
    generation: str = "1.30"
    extras: tuple[str, ...] = ()

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
        if problems:
            raise InvalidInput(problems)


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
            spec = RehearsalSpec(**{**raw["spec"], "extras": tuple(raw["spec"].get("extras", ()))})
            return cls(spec, IPv4Network(raw["subnet"]), raw["fingerprint"], raw["started"])
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def save(self, path: Path) -> None:
        """Write this state in one step."""
        content = asdict(self) | {"subnet": str(self.subnet)}
        write_file(path, json.dumps(content, indent=2) + "\n")
