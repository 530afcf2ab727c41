"""SELinux and firewalls."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.hosts.facts import Firewall, HostFacts, SELinux
from kubeflow_volcano.hosts.network import KUBELET, address_of
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.inventory import Inventory
from kubeflow_volcano.validators.core.outcome import Outcome, Severity
from kubeflow_volcano.validators.hosts.judging import Finding, inventory_of, judge_hosts, passing, warning

_ACCEPTING = "trusted"
_LOOK_AT_ZONE = "check that the zone trusted has them as sources (firewall-cmd --zone=trusted --list-sources)."
"""firewalld's zone whose target is ACCEPT."""
_DIRECTORY_MODES = frozenset({"local_path", "static"})
"""Storage modes whose volumes are directories on hosts."""


@check("P14", "selinux", severity=Severity.MAJOR)
def selinux(facts: Facts) -> Outcome:
    """SELinux does not block pods' access to volume directories.

    It stays enabled. Where it is enforcing and containers are confined, a volume on the host needs the type
    container_file_t, which a rule of the role local_path sets; label your own directories in the same way.
    """
    directories = inventory_of(facts).storage_mode in _DIRECTORY_MODES
    return judge_hosts(
        facts,
        lambda _, found: _selinux(found, directories=directories),
        expected="disabled or permissive, or volumes labelled container_file_t",
        holds="SELinux blocks no volume",
    )


def _selinux(facts: HostFacts, *, directories: bool) -> Iterator[Finding]:
    selinux: SELinux = facts.need("selinux")
    if selinux.mode == "enforcing" and directories:
        yield warning(
            "Enforcing",
            "SELinux is enforcing: volumes on the host need the type container_file_t",
            todo="run playbooks/hosts.yml, whose role local_path labels them; checks D6 and D8 verify it.",
        )
    elif selinux.configured == "enforcing" != selinux.mode:
        yield warning(
            "EnforcingAfterBoot",
            f"SELinux is {selinux.mode} now and will be enforcing after the next boot",
            todo="set one mode for both: a volume that works now may fail after a boot.",
        )
    else:
        yield passing(f"SELinux is {selinux.mode}")


@check("P15", "firewall", severity=Severity.MAJOR)
def firewall(facts: Facts) -> Outcome:
    """No host firewall blocks traffic of pods, Services and webhooks.

    firewalld rejects traffic from pod networks unless a zone accepts them (kubernetes#116169); accept rules of the
    network plugin do not override that. Add the networks at runtime and permanently. Never reload or restart firewalld
    on a live node: that deletes the rules of kube-proxy and of the network plugin (firewalld#779). Each host also tries
    to connect to the next host's kubelet, and to the API server of the control plane.
    """
    inventory = inventory_of(facts)
    networks = tuple(cidr for of in ("pods", "services") for cidr in inventory.cidrs(of) if "/" in cidr)
    return judge_hosts(
        facts,
        lambda _, found: [*_firewall(found, networks), *_connections(inventory, found)],
        expected="no firewall, or one that accepts the networks of pods and Services",
        holds="no firewall blocks cluster traffic",
    )


def _firewall(facts: HostFacts, networks: tuple[str, ...]) -> Iterator[Finding]:
    firewall: Firewall = facts.need("firewall")
    for name in firewall.active:
        if name != "firewalld":
            yield warning(
                "OtherFirewall",
                f"the service {name} filters traffic, and its rules were not examined",
                todo="check that they accept the networks of pods and Services, and the ports in docs/hosts.md.",
            )
    if "firewalld" not in firewall.active:
        yield passing("firewalld is not running")
        return
    accepted = set(firewall.zones.get(_ACCEPTING, ()))
    missing = [cidr for cidr in networks if cidr not in accepted]
    flushes = "; a reload would delete the rules of kube-proxy (FlushAllOnReload)" if firewall.flushes else ""
    if firewall.zones_trouble:
        yield warning(
            "ZonesUnknown",
            f"firewalld is running, and which networks its zones accept is unknown ({firewall.zones_trouble}){flushes}",
            todo=_LOOK_AT_ZONE,
        )
    elif missing:
        yield warning(
            "NotAccepted",
            f"firewalld is running, and no accepting zone has {', '.join(missing)}{flushes}",
            todo="add them at runtime and permanently; do not reload.",
            changes=tuple(
                f"firewall-cmd {lasting}--zone={_ACCEPTING} --add-source={cidr}"
                for cidr in missing
                for lasting in ("", "--permanent ")
            ),
        )
    elif not networks:
        yield warning(
            "NetworksUnknown",
            f"firewalld is running, and the networks of pods and Services are unknown{flushes}",
            todo=_LOOK_AT_ZONE,
        )
    else:
        yield passing(f"firewalld accepts {', '.join(networks)}")


def _connections(inventory: Inventory, facts: HostFacts) -> Iterator[Finding]:
    """Peers that the host could not connect to, although a process listens there."""
    for target, trouble in facts.need("connections").items():
        address, port = address_of(target)
        peer = inventory.by_address.get(address)
        if trouble and peer and peer.facts and _is_listening(peer.facts, port):
            yield warning(
                "NotConnected",
                f"no connection to {peer.name} at {target} ({trouble})",
                todo="open that port between the hosts, and check that the inventory has addresses that hosts reach.",
            )


def _is_listening(facts: HostFacts, port: int) -> bool:
    if port == KUBELET:
        return bool(facts.kubelet and facts.kubelet.running)
    return bool(facts.networks and facts.networks.services)  # read from an API server's arguments
