"""What a person may ask of a rehearsal cluster, and where its files live."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rehearsal.build.generation import HOME, extras_of

__all__ = ["ClusterPaths", "RehearsalSpec", "rehearsal_home"]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?")
_MOST_NODES, _MOST_GPUS = 1000, 64


@dataclass(frozen=True, slots=True)
class RehearsalSpec:
    """A rehearsal cluster as a person asks for it.

    `gpu_nodes` simulated nodes offer `gpus_per_node` of nvidia.com/gpu each, beside the one real node. `extras` are
    programs and images of the generation that not every cluster has.
    """

    name: str = "default"
    gpu_nodes: int = 4
    gpus_per_node: int = 1
    generation: str = "1.30"
    extras: tuple[str, ...] = ()

    def check(self) -> None:
        """See that the values can be used.

        Raises:
            InvalidInput: every value that can't, in one go.
        """
        problems = [
            Problem(f"{what} is {found!r}.", f"{needed}.", f"correct {what}.")
            for good, what, found, needed in (
                (
                    _NAME.fullmatch(self.name),
                    "the cluster's name",
                    self.name,
                    "1 to 20 lower-case letters, digits or '-', which neither begins nor ends it",
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
                    "what further programs the cluster has",
                    ", ".join(self.extras),
                    f"of generation {self.generation}: {', '.join(_extras(self.generation)) or 'nothing'}",
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


def rehearsal_home() -> Path:
    """The directory that holds one directory per cluster."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache).absolute() / "kubeflow-volcano" / "rehearsal"


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    """Where one cluster keeps its files on the host, and what its traces in the kernel are called."""

    home: Path

    @classmethod
    def of(cls, name: str) -> ClusterPaths:
        """The paths of the cluster called `name` in this user's cache."""
        return cls(rehearsal_home() / name)

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
        """Name of the host's end of the cable to the node (at most 15 characters)."""
        return f"kfv{self.identity}"

    @property
    def kubeconfig(self) -> Path:
        """Administrator's credentials, usable from the host."""
        return self.home / "admin.kubeconfig"

    @property
    def state(self) -> Path:
        """What the last `up` decided (specification, address, fingerprint of the configuration)."""
        return self.home / "state.json"

    @property
    def lock(self) -> Path:
        """Held while somebody changes the cluster; beside the directory, which `down` removes."""
        return self.home.with_name(f".{self.home.name}.lock")

    @property
    def removed(self) -> Path:
        """What `home` is called from the moment at which `down` begins to remove it."""
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
