"""What a NO_PROXY excepts, as programs written in Go read it (golang.org/x/net/http/httpproxy)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

__all__ = ["excepts"]

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def excepts(no_proxy: str, target: str) -> bool:
    """Whether requests to `target` (a name, an address or a whole network) go past the proxy.

    Raises:
        ValueError: the target says to be a network and is none.
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
            found = _network(entry)
        except ValueError:  # Go ignores what it cannot read, too
            continue
        if found is not None:
            yield found


def _holds(network: Network, wanted: Network) -> bool:
    if isinstance(network, ipaddress.IPv4Network) and isinstance(wanted, ipaddress.IPv4Network):
        return wanted.subnet_of(network)
    if isinstance(network, ipaddress.IPv6Network) and isinstance(wanted, ipaddress.IPv6Network):
        return wanted.subnet_of(network)
    return False


def _is_name(entry: str, name: str) -> bool:
    """`.svc` and `svc` both mean everything below; `svc` means itself, too."""
    domain = entry.removeprefix(".").rpartition(":")[0] or entry.removeprefix(".")
    return name.endswith(f".{domain}") or (not entry.startswith(".") and name == domain)
