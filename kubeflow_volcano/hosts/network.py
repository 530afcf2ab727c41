"""What hosts connect to: which other hosts, and what a NO_PROXY exempts from the proxy."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence

KUBELET, API_SERVER = 10250, 6443
"""kubespray, docs/operations/port-requirements.md."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def targets(addresses: Mapping[str, str], control_plane: Sequence[str]) -> dict[str, list[str]]:
    """Addresses with ports that each host connects to, by its name.

    These are the kubelet of the next host, in a ring (50 hosts make 50 connections instead of 2450), and the API server
    of the first host of the control plane.
    """
    names = list(addresses)
    targets: dict[str, list[str]] = {name: [] for name in names}
    for name, following in zip(names, [*names[1:], *names[:1]], strict=True):
        if following != name:
            targets[name].append(_target(addresses[following], KUBELET))
        first = next((other for other in control_plane if other in addresses), name)
        if first != name:
            targets[name].append(_target(addresses[first], API_SERVER))
    return targets


def address_of(target: str) -> tuple[str, int]:
    """The address and the port of a target.

    Raises:
        ValueError: it has no port.
    """
    address, _, port = target.rpartition(":")
    return address.strip("[]"), int(port)


def is_exempt(no_proxy: str, target: str) -> bool:
    """Whether requests to `target` (a name, an address or a network) bypass the proxy, as programs in Go read NO_PROXY.

    See golang.org/x/net/http/httpproxy.

    Raises:
        ValueError: the target has the form of a network and is not one.
    """
    entries = [entry.strip().lower().rstrip(".") for entry in no_proxy.split(",") if entry.strip()]
    if "*" in entries:
        return True
    wanted = _network(target)
    if wanted is not None:
        return any(_holds(network, wanted) for network in _networks(entries))
    name = target.lower().rstrip(".")
    return any(_is_name(entry.removeprefix("*"), name) for entry in entries)


def _network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        if "/" in text:
            raise
        return None


def _networks(entries: list[str]) -> Iterator[Network]:
    for entry in entries:
        try:
            network = _network(entry)
        except ValueError:  # Go ignores entries that it cannot read
            continue
        if network is not None:
            yield network


def _holds(network: Network, wanted: Network) -> bool:
    if isinstance(network, ipaddress.IPv4Network) and isinstance(wanted, ipaddress.IPv4Network):
        return wanted.subnet_of(network)
    if isinstance(network, ipaddress.IPv6Network) and isinstance(wanted, ipaddress.IPv6Network):
        return wanted.subnet_of(network)
    return False


def _is_name(entry: str, name: str) -> bool:
    """`.svc` and `svc` both match every name below; `svc` also matches itself."""
    domain = entry.removeprefix(".").rpartition(":")[0] or entry.removeprefix(".")
    return name.endswith(f".{domain}") or (not entry.startswith(".") and name == domain)


def _target(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
