"""The hosts of the inventory as they were found, and what is asked of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kubeflow_volcano.hosts.facts import Host


@dataclass(frozen=True, slots=True)
class Mirrored:
    """Where rules of mirrors lead for an image: its name there; `served` is None where no list says whether it is."""

    name: str
    served: bool | None = None


@dataclass(frozen=True)
class Inventory:
    """The hosts of a preflight. `left_out` are hosts that it excludes. Memory and storage are in GB (1000^3 bytes)."""

    hosts: tuple[Host, ...]
    left_out: tuple[str, ...] = ()
    kubernetes: str = ""
    """Version of the cluster, or the planned one before there is a cluster."""
    architectures: tuple[str, ...] = ("amd64",)
    minimum_cpu: int = 4
    minimum_memory_gb: int = 12
    minimum_storage_gb: int = 50
    components: frozenset[str] = frozenset()
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Images of the release that are known not to exist for an architecture, by architecture."""
    images_unknown: str = ""
    """Why the images could not be listed; empty where they could, or need not be."""
    mirror_mode: str = "none"
    mirror_names: tuple[str, ...] = ()
    sandboxes: Mapping[str, Mirrored] = field(default_factory=dict)
    """By sandbox image of a runtime, for those that a rule of a mirror applies to."""
    storage_mode: str = "local_path"
    addresses: Mapping[str, str] = field(default_factory=dict)
    """Address under which Ansible connects, by host."""
    networks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Networks of services (one address) and pods, as the cluster's objects show them."""

    @cached_property
    def reached(self) -> tuple[Host, ...]:
        """Hosts that answered."""
        return tuple(host for host in self.hosts if host.facts)

    @cached_property
    def workers(self) -> tuple[Host, ...]:
        """Hosts that answered and run users' pods: the group nodes, or all where there is no such group."""
        return tuple(host for host in self.reached if self.is_worker(host))

    @cached_property
    def by_address(self) -> Mapping[str, Host]:
        """The hosts by the address under which Ansible connects."""
        return {self.addresses.get(host.name, host.name): host for host in self.hosts}

    def is_worker(self, host: Host) -> bool:
        """Whether users' pods run there."""
        return "nodes" in host.groups or not any("nodes" in other.groups for other in self.hosts)

    def is_node(self, host: Host) -> bool:
        """Whether the host is to be a Node of the cluster; every host is, where the inventory has no such group."""
        said = {"nodes", "control_plane"}
        return bool(said & host.groups) or not any(said & other.groups for other in self.hosts)

    def cidrs(self, of: str) -> tuple[str, ...]:
        """CIDRs of `services` or `pods` by the control plane's arguments, else by the cluster; empty where unknown."""
        known = [getattr(host.facts.networks, of) for host in self.reached if host.facts and host.facts.networks]
        texts = [text.strip() for words in known for text in words.split(",") if text.strip()]
        return tuple(dict.fromkeys(texts)) or self.networks.get(of, ())
