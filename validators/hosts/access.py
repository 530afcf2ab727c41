"""Family P, part one: does every host answer, as root, with a Python that modules run in, and as itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kubeflow_volcano.hosts.facts import HostFacts
from kubeflow_volcano.hosts.reaching import trouble
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, failed, passed, skipped
from validators.hosts.each import Finding, asked, each, good, named, ref, worse

__all__ = ["CHECKS"]

_OLDEST = "Python 3.9"
_MOST_REASONS = 4


@check("P1", "host-reach", severity=Severity.BLOCKER)
def reach(facts: Facts) -> Outcome:
    """Every host of the inventory answers.

    A host that is down, whose key has changed or that refuses the user is named once, with what Ansible says; the
    others are judged all the same. Correct its address, key or user in the inventory, start it, or take it out.
    """
    return _without_trouble(
        facts,
        ("reach", "module"),
        "NotReached",
        "answers over its connection and runs the module",
        "see that the host is up, that its address and user in the inventory are right, and that its key is known.",
    )


@check("P2", "host-become", severity=Severity.BLOCKER)
def become(facts: Facts) -> Outcome:
    """The user of every host may become root.

    Kernel settings, the runtime's configuration and directories of volumes belong to root. Set ansible_become, and
    its password with --ask-become-pass or in a vault; a user root needs neither.
    """
    inventory = asked(facts)
    if broken := _troubles(facts, ("become",)):
        return _broken(
            broken,
            "CannotBecome",
            "the user may become root",
            "set ansible_become: true, and give the password with --ask-become-pass or as ansible_become_password.",
        )
    others = [host for host in inventory.reached if host.facts and host.facts.machine and host.facts.machine.uid]
    if others:
        uids = sorted({host.facts.machine.uid for host in others if host.facts and host.facts.machine})
        return failed(
            "NotRoot",
            f"commands run as uid {', '.join(map(str, uids))} on {named([host.name for host in others])}.",
            expected="uid 0",
            objects=[ref(host.name) for host in others],
            todo="set ansible_become: true for these hosts, or connect as root.",
        )
    return _answered(facts, "commands run as root")


@check("P3", "host-python", severity=Severity.BLOCKER)
def python(facts: Facts) -> Outcome:
    """Every host has Python 3.9 or later.

    openEuler 22.03 has 3.9 and 24.03 has 3.11; 20.03 has 3.7, which Ansible's modules no longer run in. Install a
    newer one beside it, and name it as ansible_python_interpreter.
    """
    return _without_trouble(
        facts,
        ("python",),
        "PythonUnusable",
        _OLDEST + " or later",
        "install python3 (dnf install python3), or name a newer one as ansible_python_interpreter.",
    )


@check("P28", "host-identity", severity=Severity.MAJOR)
def identity(facts: Facts) -> Outcome:
    """No two hosts of the inventory are one and the same, or call themselves the same.

    Nodes are told apart by hostname, and networks by /etc/machine-id, which copies of a virtual machine share. Two
    names of the inventory for one machine count it twice. Set another hostname; make /etc/machine-id anew.
    """
    machines = [host.facts.machine for host in asked(facts).reached if host.facts and host.facts.machine]
    names = Counter(machine.hostname for machine in machines)
    own = Counter(machine.identity for machine in machines if machine.identity)
    return each(
        facts,
        lambda _, found: _identity(found, names, own),
        expected="a hostname and a machine-id of its own for each host",
        holds="every host is itself",
    )


def _identity(facts: HostFacts, names: Counter[str], own: Counter[str]) -> Iterator[Finding]:
    machine = facts.need("machine")
    if names[machine.hostname] > 1:
        todo = "give each its own (hostnamectl set-hostname), or take one of the names out of the inventory."
        yield worse("SameName", f"the hostname {machine.hostname} is that of several hosts", todo=todo)
    if own[machine.identity] > 1:
        yield worse(
            "SameMachine",
            "the same /etc/machine-id as another host",
            todo="make it anew on the copies; where both are one machine, take one out of the inventory.",
            commands=("rm /etc/machine-id", "systemd-machine-id-setup"),
        )
    if names[machine.hostname] == 1 and own[machine.identity] <= 1:
        yield good("a name and an identity of its own", machine.hostname)


def _without_trouble(facts: Facts, kinds: tuple[str, ...], reason: str, expected: str, todo: str) -> Outcome:
    if broken := _troubles(facts, kinds):
        return _broken(broken, reason, expected, todo)
    return _answered(facts, expected)


def _troubles(facts: Facts, kinds: tuple[str, ...]) -> dict[str, list[str]]:
    """The reasons, each with its hosts: as far as they are understood in plain words, else Ansible's own."""
    found: dict[str, list[str]] = {}
    for host in asked(facts).hosts:
        if host.trouble and host.trouble.kind in kinds:
            understood = trouble(host.trouble.message, reached=False)
            message = understood.found if understood else host.trouble.message
            found.setdefault(message.rstrip("."), []).append(host.name)
    return found


def _broken(broken: dict[str, list[str]], reason: str, expected: str, todo: str) -> Outcome:
    names = [name for hosts in broken.values() for name in hosts]
    told = [f"{named(hosts)}: {message}" for message, hosts in broken.items()]
    more = f"; and {len(told) - _MOST_REASONS} more reasons" if len(told) > _MOST_REASONS else ""
    return failed(
        reason,
        "; ".join(told[:_MOST_REASONS]) + more + ".",
        expected=expected,
        observed={"findings": [{"hosts": hosts, "found": message} for message, hosts in broken.items()]},
        objects=[ref(name) for name in names],
        todo=todo,
        commands=[f"ansible {','.join(names[:20])} -m ping"],
    )


def _answered(facts: Facts, what: str) -> Outcome:
    inventory = asked(facts)
    if not inventory.reached:
        return skipped("NoHosts", "no host answered; P1 to P3 say why." if inventory.hosts else "there are no hosts.")
    versions: dict[str, list[str]] = {}
    for host in inventory.reached:
        if host.facts and host.facts.machine:
            versions.setdefault(f"Python {host.facts.machine.python}", []).append(host.name)
    return passed(
        f"{what} ({len(inventory.reached)} hosts).",
        objects=[ref(host.name) for host in inventory.reached],
        observed=versions,
    )


CHECKS = (reach, become, python, identity)
