"""The cable between host and node: a /30 that nothing else on the host uses, and the way back when it is gone."""

from __future__ import annotations

import ipaddress
import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from kubeflow_volcano.problems import InvalidInput, Problem

__all__ = [
    "POD_RANGE",
    "RANGES",
    "SERVICE_RANGE",
    "SIMULATED_POD_RANGE",
    "STUB_PORT",
    "Cable",
    "busy_networks",
    "choose_subnet",
    "connect",
    "disconnect",
    "is_connected",
    "keep_in",
    "remove",
    "traces",
]

POD_RANGE = IPv4Network("10.244.0.0/16")
SIMULATED_POD_RANGE = IPv4Network("10.245.0.0/16")
"""Addresses of pods on simulated nodes, which have no network: the webhook stub takes every connection to them."""
STUB_PORT = 9444
"""Where the stub listens, in a network of its own."""
SERVICE_RANGE = IPv4Network("10.96.0.0/16")
RANGES = (IPv4Network("10.213.0.0/16"), IPv4Network("172.29.0.0/16"), IPv4Network("192.168.213.0/24"))
"""Where a cluster's /30 is looked for, in this order. Private by RFC 1918; pods and Services use other ranges."""

_LOW_PRIORITY = 0xF0000000  # the kernel prefers the smaller metric: the route counts only while the cable is away


@dataclass(frozen=True, slots=True)
class Cable:
    """One veth pair: `interface` on the host, eth0 in the node. `seed`: eight hexadecimal digits of this cluster."""

    interface: str
    subnet: IPv4Network
    seed: str

    @property
    def metric(self) -> int:
        """Metric of this cluster's `unreachable` route, by which it is recognized without any file."""
        return metric_of(self.seed)

    @property
    def host_address(self) -> IPv4Address:
        """Address of the host's end."""
        return self.subnet[1]

    @property
    def node_address(self) -> IPv4Address:
        """Address of the node, and of its API server."""
        return self.subnet[2]


def choose_subnet(seed: str, busy: Iterable[IPv4Network]) -> IPv4Network:
    """A /30 that overlaps no network in `busy`; the same `seed` (hexadecimal) looks at the same ones first.

    Raises:
        InvalidInput: none of the ranges has one left.
    """
    taken = tuple(busy)
    for private in RANGES:
        overlapping = [network for network in taken if network.overlaps(private)]
        count = 1 << (30 - private.prefixlen)
        for step in range(count):
            index = (int(seed, 16) + step) % count
            subnet = IPv4Network((int(private.network_address) + 4 * index, 30))
            if not any(network.overlaps(subnet) for network in overlapping):
                return subnet
    raise InvalidInput(
        Problem(
            f"the host's addresses and routes cover all of {', '.join(map(str, RANGES))}.",
            "one free /30 network for the cable between host and node.",
            "remove a route that is wider than it has to be (`ip route`), or rehearse on another machine.",
        )
    )


def metric_of(seed: str) -> int:
    """A route metric of the lowest priority that is the cluster's own."""
    return _LOW_PRIORITY | int(seed, 16) >> 4


def busy_networks(interface: str, seed: str) -> tuple[IPv4Network, ...]:
    """Networks that the host has addresses in or routes to, in any table, without the traces of this cluster."""
    entries: list[dict[str, Any]] = [
        *_ip_json("route", "show", "table", "all"),
        *(
            {"dst": f"{address['local']}/{address['prefixlen']}", "dev": link["ifname"]}
            for link in _ip_json("address", "show")
            for address in link.get("addr_info", ())
        ),
    ]
    return tuple(parse_networks(entries, interface, metric_of(seed)))


def parse_networks(entries: Sequence[dict[str, Any]], interface: str, metric: int) -> list[IPv4Network]:
    """Destinations of `ip -json` entries as networks, but for default routes, `interface`, and routes of `metric`."""
    networks = []
    for entry in entries:
        if entry.get("dst", "default") == "default" or entry.get("dev") == interface or entry.get("metric") == metric:
            continue
        network = ipaddress.ip_network(entry["dst"], strict=False)
        if isinstance(network, IPv4Network):
            networks.append(network)
    return networks


def connect(cable: Cable, node_pid: int) -> None:
    """Plug the cable in: host's end up with its address, the other end in the network namespace of `node_pid`."""
    _ip("link", "add", cable.interface, "type", "veth", "peer", "name", "eth0", "netns", str(node_pid))
    _ip("address", "add", f"{cable.host_address}/30", "dev", cable.interface)
    _ip("link", "set", cable.interface, "up")


def is_connected(cable: Cable) -> bool:
    """Whether the host's end is there with its address."""
    links = _ip_json("address", "show")
    return any(
        link["ifname"] == cable.interface and str(cable.host_address) in {item["local"] for item in link["addr_info"]}
        for link in links
    )


def keep_in(cable: Cable) -> None:
    """See that packets to the node's range never take the default route, also while the node is away."""
    for entry in _unreachable(cable.seed):
        if entry["dst"] != str(cable.subnet):
            _ip("route", "delete", "unreachable", entry["dst"], "metric", str(entry["metric"]))
    _ip("route", "replace", "unreachable", str(cable.subnet), "metric", str(cable.metric))


def remove(interface: str, seed: str) -> None:
    """Remove the host's end, which takes the other one along, and what `keep_in` made. Nothing there is fine too."""
    disconnect(interface)
    for entry in _unreachable(seed):
        _ip("route", "delete", "unreachable", entry["dst"], "metric", str(entry["metric"]))


def disconnect(interface: str) -> None:
    """Unplug: remove the host's end alone."""
    subprocess.run(["ip", "link", "delete", interface], check=False, capture_output=True)


def traces(interface: str, seed: str) -> tuple[str, ...]:
    """What the host has of this cluster's network, as a person would name it."""
    links = [f"interface {link['ifname']}" for link in _ip_json("link", "show") if link["ifname"] == interface]
    routes = [f"route unreachable {entry['dst']} metric {entry['metric']}" for entry in _unreachable(seed)]
    return (*links, *routes)


def _unreachable(seed: str) -> list[dict[str, Any]]:
    return [
        entry
        for entry in _ip_json("route", "show", "table", "all")
        if entry.get("type") == "unreachable" and entry.get("metric") == metric_of(seed)
    ]


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def _ip_json(*arguments: str) -> list[dict[str, Any]]:
    answer = subprocess.run(["ip", "-json", "-4", *arguments], check=True, capture_output=True, text=True)
    # Links without an address come as {} from `ip -4 address`.
    return [entry for entry in json.loads(answer.stdout or "[]") if entry]
