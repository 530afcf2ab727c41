"""Which host tries to reach which other: each the next one's kubelet, and the first control plane's API server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["API_SERVER", "KUBELET", "address_of", "targets"]

KUBELET, API_SERVER = 10250, 6443
"""kubespray, docs/operations/port-requirements.md."""


def targets(addresses: Mapping[str, str], control_plane: Sequence[str]) -> dict[str, list[str]]:
    """Addresses with ports that each host tries, by its name; a ring, so that fifty hosts are no 2450 connections."""
    names = list(addresses)
    found: dict[str, list[str]] = {name: [] for name in names}
    for name, following in zip(names, [*names[1:], *names[:1]], strict=True):
        if following != name:
            found[name].append(_target(addresses[following], KUBELET))
        first = next((other for other in control_plane if other in addresses), name)
        if first != name:
            found[name].append(_target(addresses[first], API_SERVER))
    return found


def address_of(target: str) -> tuple[str, int]:
    """The address and the port of a target.

    Raises:
        ValueError: it has no port.
    """
    address, _, port = target.rpartition(":")
    return address.strip("[]"), int(port)


def _target(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
