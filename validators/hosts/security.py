"""Family P, part six: SELinux and firewalls."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.hosts.facts import Firewall, HostFacts, SELinux
from kubeflow_volcano.hosts.network import KUBELET, address_of
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.inventory import Inventory
from validators.core.outcome import Outcome, Severity
from validators.hosts.each import Finding, asked, each, good, worse

__all__ = ["CHECKS"]

_ACCEPTING = "trusted"
"""firewalld's zone whose target is ACCEPT."""
_OWN_DIRECTORIES = frozenset({"local_path", "static"})


@check("P14", "selinux", severity=Severity.MAJOR)
def selinux(facts: Facts) -> Outcome:
    """SELinux is known, and does not come between pods and directories of volumes.

    It stays switched on. Where it enforces, and containers are confined, a volume on the host must carry the type
    container_file_t, which the role local_path gives by a rule; label directories of your own in the same way.
    """
    own = asked(facts).storage_mode in _OWN_DIRECTORIES
    return each(
        facts,
        lambda _, found: _selinux(found, own=own),
        expected="disabled or permissive, or volumes labelled container_file_t",
        holds="SELinux is no obstacle",
    )


def _selinux(facts: HostFacts, *, own: bool) -> Iterator[Finding]:
    found: SELinux = facts.need("selinux")
    if found.mode == "enforcing" and own:
        yield worse(
            "Enforcing",
            "SELinux enforces, so that volumes on the host need the type container_file_t",
            todo="let the role local_path label them (playbooks/hosts.yml); D6 and D8 of the validation prove it.",
        )
    elif found.configured == "enforcing" != found.mode:
        yield worse(
            "EnforcingAfterBoot",
            f"SELinux is {found.mode} now and enforces after the next boot",
            todo="decide for one; a volume that works now may not after a boot.",
        )
    else:
        yield good(f"SELinux is {found.mode}")


@check("P15", "firewall", severity=Severity.MAJOR)
def firewall(facts: Facts) -> Outcome:
    """No firewall of a host stands between pods, Services and webhooks.

    firewalld rejects what comes from networks of pods unless a zone accepts them (kubernetes#116169); an accept in the
    rules of the network's own does not overrule it. Add the networks at runtime and for good: never reload or restart
    firewalld on a live node, which takes the rules of kube-proxy and of the network away (firewalld#779). Each host
    also tries a connection to the next one's kubelet, and to the API server of the control plane.
    """
    inventory = asked(facts)
    wanted = tuple(cidr for of in ("pods", "services") for cidr in inventory.cidrs(of) if "/" in cidr)
    return each(
        facts,
        lambda _, found: [*_firewall(found, wanted), *_connections(inventory, found)],
        expected="no firewall, or one that accepts the networks of pods and Services",
        holds="no firewall is in the way",
    )


def _firewall(facts: HostFacts, wanted: tuple[str, ...]) -> Iterator[Finding]:
    found: Firewall = facts.need("firewall")
    for name in found.active:
        if name != "firewalld":
            yield worse(
                "OtherFirewall",
                f"the service {name} filters, by rules that are not looked at",
                todo="see that they accept the networks of pods and Services, and the ports in docs/hosts.md.",
            )
    if "firewalld" not in found.active:
        yield good("firewalld does not run")
        return
    accepted = set(found.zones.get(_ACCEPTING, ()))
    missing = [cidr for cidr in wanted if cidr not in accepted]
    flushes = "; a reload would take the rules of kube-proxy away (FlushAllOnReload)" if found.flushes else ""
    if missing:
        yield worse(
            "NotAccepted",
            f"firewalld runs, and no accepting zone has {', '.join(missing)}{flushes}",
            todo="add them at runtime and for good; do not reload.",
            commands=tuple(
                f"firewall-cmd {lasting}--zone={_ACCEPTING} --add-source={cidr}"
                for cidr in missing
                for lasting in ("", "--permanent ")
            ),
        )
    elif not wanted:
        yield worse(
            "NetworksUnknown",
            f"firewalld runs, and the networks of pods and Services are not known{flushes}",
            todo="see that the zone trusted has them as sources (firewall-cmd --zone=trusted --list-sources).",
        )
    else:
        yield good(f"firewalld accepts {', '.join(wanted)}")


def _connections(inventory: Inventory, facts: HostFacts) -> Iterator[Finding]:
    """What the host could not reach although it is there: of a port where nothing runs there is nothing to say."""
    for target, trouble in facts.need("connections").items():
        address, port = address_of(target)
        peer = inventory.by_address.get(address)
        if trouble and peer and peer.facts and _listens(peer.facts, port):
            yield worse(
                "NotConnected",
                f"no connection to {peer.name} at {target} ({trouble})",
                todo="open that port between the hosts, or see that the inventory names addresses that hosts share.",
            )


def _listens(facts: HostFacts, port: int) -> bool:
    if port == KUBELET:
        return bool(facts.kubelet and facts.kubelet.running)
    return bool(facts.networks and facts.networks.services)  # only an API server tells them


CHECKS = (selinux, firewall)
