"""Access to hosts: connection, root, Python, and each host's own identity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kubeflow_volcano.hosts.facts import HostFacts
from kubeflow_volcano.hosts.reaching import trouble
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, failed, passed
from kubeflow_volcano.validators.hosts.judging import (
    Finding,
    host_ref,
    inventory_of,
    judge_hosts,
    no_hosts,
    passing,
    warning,
)

_OLDEST = "Python 3.9"
_MOST_REASONS, _MOST_HOSTS = 4, 20


@check("P1", "host-reach", severity=Severity.BLOCKER)
def reach(facts: Facts) -> Outcome:
    """Every host of the inventory can be reached.

    A host that is down, has a new host key or refuses the user is reported once, with Ansible's message; the others
    are judged all the same. Correct its address, key or user in the inventory, start it, or remove it from there.
    """
    return _without_trouble(
        facts,
        ("reach", "module"),
        "NotReached",
        "answers over its connection and runs the module",
        "check that the host is up, that the inventory has its address and user, and that its host key is known.",
    )


@check("P2", "host-become", severity=Severity.BLOCKER)
def become(facts: Facts) -> Outcome:
    """Ansible can become root on every host.

    Kernel settings, the runtime's configuration and volume directories belong to root. Set ansible_become, and give
    its password with --ask-become-pass or in a vault; the user root needs neither.
    """
    if broken := _troubles(facts, ("become",)):
        return _broken(
            broken,
            "CannotBecome",
            "the user may become root",
            "set ansible_become: true, and give the password with --ask-become-pass or as ansible_become_password.",
        )
    uids = {
        host.name: host.facts.machine.uid
        for host in inventory_of(facts).reached
        if host.facts and host.facts.machine and host.facts.machine.uid
    }
    if uids:
        return failed(
            "NotRoot",
            f"commands run as uid {', '.join(map(str, sorted(set(uids.values()))))} on {few(list(uids))}.",
            expected="uid 0",
            objects=[host_ref(name) for name in uids],
            todo="set ansible_become: true for these hosts, or connect as root.",
        )
    return _answered(facts, "commands run as root")


@check("P3", "host-python", severity=Severity.BLOCKER)
def python(facts: Facts) -> Outcome:
    """Every host has Python 3.9 or later.

    openEuler 22.03 has 3.9 and 24.03 has 3.11; 20.03 has 3.7, which Ansible's modules no longer support. Install a
    newer one beside it, and set ansible_python_interpreter to its path.
    """
    return _without_trouble(
        facts,
        ("python",),
        "PythonUnusable",
        _OLDEST + " or later",
        "install python3 (dnf install python3), or set ansible_python_interpreter to a newer one.",
    )


@check("P28", "host-identity", severity=Severity.MAJOR)
def identity(facts: Facts) -> Outcome:
    """Every host has its own hostname and machine-id.

    Kubernetes identifies nodes by hostname, and networks by /etc/machine-id, which copies of a virtual machine share.
    Two names of the inventory for one machine count it twice. Set another hostname; recreate /etc/machine-id.
    """
    machines = [host.facts.machine for host in inventory_of(facts).reached if host.facts and host.facts.machine]
    names = Counter(machine.hostname for machine in machines)
    ids = Counter(machine.identity for machine in machines if machine.identity)
    return judge_hosts(
        facts,
        lambda _, found: _identity(found, names, ids),
        expected="a hostname and a machine-id of its own for each host",
        holds="every host has its own hostname and machine-id",
    )


def _identity(facts: HostFacts, names: Counter[str], ids: Counter[str]) -> Iterator[Finding]:
    machine = facts.need("machine")
    if names[machine.hostname] > 1:
        todo = "give each its own (hostnamectl set-hostname NAME), or remove one of the names from the inventory."
        yield warning("SameName", f"several hosts have the hostname {machine.hostname}", todo=todo)
    if ids[machine.identity] > 1:
        yield warning(
            "SameMachine",
            "the same /etc/machine-id as another host",
            todo="recreate it on the copies; if both names are one machine, remove one from the inventory.",
            changes=("rm -f /etc/machine-id /var/lib/dbus/machine-id", "systemd-machine-id-setup"),
        )
    if names[machine.hostname] == 1 and ids[machine.identity] <= 1:
        yield passing("a hostname and machine-id of its own", machine.hostname)


def _without_trouble(facts: Facts, kinds: tuple[str, ...], reason: str, expected: str, todo: str) -> Outcome:
    if broken := _troubles(facts, kinds):
        return _broken(broken, reason, expected, todo)
    return _answered(facts, expected)


_Troubles = dict[tuple[str, str], list[str]]
"""Hosts by what is wrong with them, and by what to do about it where its message is known."""


def _troubles(facts: Facts, kinds: tuple[str, ...]) -> _Troubles:
    """Each reason with its hosts: explained where its message is known, else in Ansible's words."""
    troubles: _Troubles = {}
    for host in inventory_of(facts).hosts:
        if host.trouble and host.trouble.kind in kinds:
            known = trouble(host.trouble.message, reached=False)
            reason = (known.found, known.todo) if known else (host.trouble.message, "")
            troubles.setdefault((reason[0].rstrip("."), reason[1]), []).append(host.name)
    return troubles


def _broken(broken: _Troubles, reason: str, expected: str, todo: str) -> Outcome:
    names = [name for hosts in broken.values() for name in hosts]
    reasons = [f"{few(hosts)}: {message}" for (message, _), hosts in broken.items()]
    return failed(
        reason,
        few(reasons, _MOST_REASONS, "; ", "reason") + ".",
        expected=expected,
        observed={"findings": [{"hosts": hosts, "found": message} for (message, _), hosts in broken.items()]},
        objects=[host_ref(name) for name in names],
        todo=" ".join(dict.fromkeys(own or todo for _, own in broken)),
        commands=[f"ansible {','.join(names[:_MOST_HOSTS])} -m ping"],
    )


def _answered(facts: Facts, what: str) -> Outcome:
    inventory = inventory_of(facts)
    if not inventory.reached:
        return no_hosts(inventory)
    versions: dict[str, list[str]] = {}
    for host in inventory.reached:
        if host.facts and host.facts.machine:
            versions.setdefault(f"Python {host.facts.machine.python}", []).append(host.name)
    return passed(
        f"{what} ({counted(len(inventory.reached), 'host')}).",
        objects=[host_ref(host.name) for host in inventory.reached],
        observed=versions,
    )
