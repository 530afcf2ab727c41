"""The veth pair between host and node, in a /30 that nothing else on the host uses, and the host's routes to it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from kubeflow_volcano.foreign import read_json
from kubeflow_volcano.problems import InvalidInput, ProblemsError
from kubeflow_volcano.programs import Finished, ProgramError, run_program

POD_RANGE = IPv4Network("10.244.0.0/16")
SIMULATED_POD_RANGE = IPv4Network("10.245.0.0/16")
"""Addresses of pods on simulated nodes, which have no network: the webhook stub accepts every connection to them."""
STUB_PORT = 9444
"""Where the stub listens, in a network namespace of its own."""
SERVICE_RANGE = IPv4Network("10.96.0.0/16")
RANGES = (IPv4Network("10.213.0.0/16"), IPv4Network("172.29.0.0/16"), IPv4Network("192.168.213.0/24"))
"""A cluster's /30 is chosen from these, in this order. Private by RFC 1918; pods and Services use other ranges."""

_IP_SECONDS = 30.0
_LOW_PRIORITY = 0xF0000000  # the kernel prefers the smaller metric: used only while the veth pair does not exist


@dataclass(frozen=True, slots=True)
class VethPair:
    """`interface` on the host, eth0 in the node. `seed`: eight hexadecimal digits that identify the cluster."""

    interface: str
    subnet: IPv4Network
    seed: str

    @property
    def metric(self) -> int:
        """Metric of this cluster's `unreachable` route; identifies the route without any file."""
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
    """A /30 that overlaps no network in `busy`; the same `seed` (hexadecimal) tries the same ones first.

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
    raise InvalidInput.problem(
        f"the host's addresses and routes cover all of {', '.join(map(str, RANGES))}.",
        "one free /30 network for the veth pair between host and node.",
        "narrow or remove a route (`ip route`), or rehearse on another machine.",
    )


def metric_of(seed: str) -> int:
    """A route metric of the lowest priority that only this cluster uses."""
    return _LOW_PRIORITY | int(seed, 16) >> 4


def busy_networks(interface: str, seed: str) -> tuple[IPv4Network, ...]:
    """Networks that the host has addresses in or routes to, in any table; those of this cluster are left out."""
    entries: list[dict[str, Any]] = [
        *_ip_json("route", "show", "table", "all"),
        *(
            {"dst": f"{address['local']}/{address['prefixlen']}", "dev": link["ifname"]}
            for link in _ip_json("address", "show")
            for address in link.get("addr_info", ())
            if "local" in address
        ),
    ]
    return tuple(parse_networks(entries, interface, metric_of(seed)))


def parse_networks(entries: Sequence[dict[str, Any]], interface: str, metric: int) -> list[IPv4Network]:
    """Destinations of `ip -json` entries as networks, except default routes, `interface`, and routes of `metric`."""
    networks = []
    for entry in entries:
        if entry.get("dst", "default") == "default" or entry.get("dev") == interface or entry.get("metric") == metric:
            continue
        network = ipaddress.ip_network(entry["dst"], strict=False)
        if isinstance(network, IPv4Network):
            networks.append(network)
    return networks


def connect(veth: VethPair, node_pid: int) -> None:
    """Create the pair: the host's end with its address, the other end in the network namespace of `node_pid`.

    Raises:
        ProblemsError: `ip` failed.
    """
    _ip("link", "add", veth.interface, "type", "veth", "peer", "name", "eth0", "netns", str(node_pid))
    _ip("address", "add", f"{veth.host_address}/30", "dev", veth.interface)
    _ip("link", "set", veth.interface, "up")


def is_connected(veth: VethPair) -> bool:
    """Whether the host's end exists and has its address."""
    links = _ip_json("address", "show")
    return any(
        link["ifname"] == veth.interface
        and str(veth.host_address) in {item.get("local") for item in link.get("addr_info", ())}
        for link in links
    )


def block_default_route(veth: VethPair) -> None:
    """Add a route so that packets to the node never leave by the default route, even while the node does not run.

    Raises:
        ProblemsError: `ip` failed.
    """
    for entry in _unreachable_routes(veth.seed):
        if entry["dst"] != str(veth.subnet):
            _ip("route", "delete", "unreachable", entry["dst"], "metric", str(entry["metric"]))
    _ip("route", "replace", "unreachable", str(veth.subnet), "metric", str(veth.metric))


def remove(interface: str, seed: str) -> None:
    """Remove the veth pair and the route of `block_default_route`, as far as they exist.

    Raises:
        ProblemsError: `ip` failed.
    """
    disconnect(interface)
    for entry in _unreachable_routes(seed):
        _ip("route", "delete", "unreachable", entry["dst"], "metric", str(entry["metric"]))


def disconnect(interface: str) -> None:
    """Remove the veth pair, if it exists; the kernel removes both ends together.

    Raises:
        ProblemsError: `ip` failed.
    """
    done = _run("link", "delete", interface)
    if done.code and any(link["ifname"] == interface for link in _ip_json("link", "show")):
        raise _failure(("link", "delete", interface), done.complaint)


def find_leftovers(interface: str, seed: str) -> tuple[str, ...]:
    """What the host has of this cluster's network, as text for people."""
    links = [f"interface {link['ifname']}" for link in _ip_json("link", "show") if link["ifname"] == interface]
    routes = [f"route unreachable {entry['dst']} metric {entry['metric']}" for entry in _unreachable_routes(seed)]
    return (*links, *routes)


def _unreachable_routes(seed: str) -> list[dict[str, Any]]:
    return [
        entry
        for entry in _ip_json("route", "show", "table", "all")
        if entry.get("type") == "unreachable" and entry.get("metric") == metric_of(seed)
    ]


def _ip_json(*arguments: str) -> list[dict[str, Any]]:
    output = _ip("-json", "-4", *arguments)
    try:
        entries: list[dict[str, Any]] = read_json(output or "[]")
    except ValueError as error:
        answer = f"its answer is not JSON, so it is not ip of iproute2; it begins with {output[:60]!r}"
        raise _failure(("-json", "-4", *arguments), answer) from error
    return [entry for entry in entries if entry]  # links without an address come as {} from `ip -4 address`


def _ip(*arguments: str) -> str:
    done = _run(*arguments)
    if done.code:
        raise _failure(arguments, done.complaint)
    return done.output


def _run(*arguments: str) -> Finished:
    try:
        return run_program("ip", *arguments, seconds=_IP_SECONDS)
    except ProgramError as error:
        raise _failure(arguments, str(error)) from error


def _failure(arguments: Sequence[str], complaint: str) -> ProblemsError:
    return ProblemsError.problem(
        f"`ip {' '.join(arguments)}` failed: {complaint.rstrip('.')}.",
        "a veth pair and a route to the node, which `ip` of iproute2 makes as root.",
        "see the reason above, then run the same command again.",
    )
