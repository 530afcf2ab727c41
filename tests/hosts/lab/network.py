"""The cable between the machine and its test hosts: a bridge with a /22 that nothing else on the machine uses.

As long as the bridge is there, packets to a host that is down stay on it.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from kubeflow_volcano.problems import InvalidInput, Problem
from kubeflow_volcano.rehearsal.node.network import busy_networks

RANGE = IPv4Network("10.214.0.0/16")
"""Where a lab's /22 is looked for. The rehearsal cluster's networks are others."""
_PREFIX = "lab"


@dataclass(frozen=True, slots=True)
class Bridge:
    """The bridge of one lab; `seed`: eight hexadecimal digits of it."""

    seed: str
    subnet: IPv4Network

    @property
    def interface(self) -> str:
        """Its name, which interfaces of hosts begin with."""
        return f"{_PREFIX}{self.seed}"

    @property
    def address(self) -> IPv4Address:
        """The machine's own address in it."""
        return self.subnet[1]

    def create(self) -> None:
        """Put the bridge up; a lab has it for as long as it exists."""
        _batch(
            f"link add {self.interface} type bridge",
            f"address add {self.address}/{self.subnet.prefixlen} dev {self.interface}",
            f"link set {self.interface} up",
        )

    def plug(self, number: int, pid: int) -> None:
        """Connect the network of the process `pid` as eth0.

        The same number always has the same hardware address, as neighbours remember that for a while.
        """
        cable = self._cable(number)
        _batch(
            f"link add {cable} type veth peer name eth0 address 02:00:00:00:{number >> 8:02x}:{number & 255:02x} "
            f"netns {pid}",
            f"link set {cable} master {self.interface}",
            f"link set {cable} up",
        )

    def unplug(self, number: int) -> None:
        """Disconnect at once: the kernel would take its time to do it after the host's last process."""
        subprocess.run(["ip", "link", "delete", self._cable(number)], check=False, capture_output=True)

    def remove(self) -> None:
        """Remove the bridge and every cable in it. Nothing there is fine too."""
        for name in interfaces(self.seed):
            subprocess.run(["ip", "link", "delete", name], check=False, capture_output=True)

    def _cable(self, number: int) -> str:
        return f"{self.interface}.{number}"


def interfaces(seed: str) -> tuple[str, ...]:
    """The machine's interfaces that belong to a lab, cables first."""
    names = [str(link["ifname"]) for link in _json("link", "show")]
    return tuple(sorted((name for name in names if name.startswith(f"{_PREFIX}{seed}")), reverse=True))


def choose_subnet(seed: str) -> IPv4Network:
    """A /22 that overlaps nothing that the machine has addresses in or routes to.

    Raises:
        InvalidInput: there is none left.
    """
    busy = [network for network in busy_networks("", "0" * 8) if network.overlaps(RANGE)]
    subnets = list(RANGE.subnets(new_prefix=22))
    first = int(seed, 16) % len(subnets)
    for subnet in subnets[first:] + subnets[:first]:
        if not any(network.overlaps(subnet) for network in busy):
            return subnet
    raise InvalidInput(
        Problem(
            f"the machine's addresses and routes cover all of {RANGE}.",
            "one free /22 network for test hosts.",
            "remove labs that are not needed (`make test-hosts-down`), or a route that is wider than it has to be.",
        )
    )


def _batch(*lines: str) -> None:
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), check=True, capture_output=True, text=True)


def _json(*arguments: str) -> list[dict[str, Any]]:
    answer = subprocess.run(["ip", "-json", *arguments], check=True, capture_output=True, text=True)
    return [entry for entry in json.loads(answer.stdout or "[]") if entry]
