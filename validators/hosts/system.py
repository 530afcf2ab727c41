"""Family P, part two: operating system, architecture, kernel modules."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeflow_volcano.hosts.facts import Host, HostFacts, Modules, Os
from kubeflow_volcano.hosts.kernel import BRIDGE
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.inventory import Inventory
from validators.core.outcome import Outcome, Severity, Status
from validators.hosts.each import Finding, asked, bad, each, good, named, worse

__all__ = ["ALWAYS_BUILT", "ARCHITECTURES", "CHECKS"]

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""As uname calls them to as images do."""
ALWAYS_BUILT = "amd64"
"""What every image that the catalog knows was built for."""

_KNOWN = {"22.03": 4, "24.03": 0}
"""openEuler LTS releases, and the service pack from which on."""
_RHEL_LIKE = {"almalinux", "anolis", "centos", "fedora", "kylin", "ol", "rhel", "rocky", "tencentos"}


@check("P4", "host-os", severity=Severity.MAJOR)
def os(facts: Facts) -> Outcome:
    """Every host runs a known system: openEuler 22.03 LTS SP4 or 24.03 LTS, or one that is like RHEL.

    Packages, SELinux and defaults of others differ, so that what the roles do was not tried there. Update the service
    pack, or waive this check where you know better.
    """
    return each(
        facts, _os, expected="openEuler 22.03 LTS SP4 or 24.03 LTS, or like RHEL", holds="every system is known"
    )


def _os(_: Host, facts: HostFacts) -> Iterator[Finding]:
    found: Os = facts.need("os")
    told = found.name or f"{found.id or 'a system without a name'} {found.version}".strip()
    kernel = facts.machine.kernel if facts.machine else ""
    todo = "upgrade the host, or waive P4 where it is known to work."
    if found.id.lower() != "openeuler":
        alike = {found.id.lower(), *found.like.lower().split()} & _RHEL_LIKE
        unlike = f"{told} is neither openEuler nor like RHEL"
        yield good(told, kernel) if alike else worse("UnknownSystem", unlike, todo=todo)
        return
    pack = re.search(r"SP(\d+)", f"{found.version} {found.release_file}")
    if found.version_id not in _KNOWN:
        yield worse("UnknownRelease", f"{told} is not 22.03 or 24.03", todo=todo)
    elif int(pack.group(1) if pack else 0) < _KNOWN[found.version_id]:
        yield worse("OldServicePack", f"{told} is older than SP{_KNOWN[found.version_id]}", todo=todo)
    else:
        yield good(told, kernel)


@check("P5", "host-architecture", severity=Severity.BLOCKER)
def architecture(facts: Facts) -> Outcome:
    """The images of the release are held against the architecture of every host.

    plan_architectures says for which architectures images are looked at, so that a host of another one would get images
    that cannot run there. Where some are known not to be built for a host's (the catalog's table), their pods must find
    another host, or get builds of your own by image_mirror_overrides.
    """
    inventory = asked(facts)
    return each(
        facts,
        lambda _, found: _architecture(found, inventory),
        expected=f"one of {', '.join(inventory.architectures)} (plan_architectures), with every image built for it",
        holds="every architecture is planned for",
    )


def _architecture(facts: HostFacts, inventory: Inventory) -> Iterator[Finding]:
    machine = facts.need("machine").architecture
    name = ARCHITECTURES.get(machine)
    told = f"{machine} ({name})"
    if name is None:
        yield bad("NoImages", f"{machine} has no images", todo="take hosts of x86_64 or aarch64.")
    elif name not in inventory.architectures:
        yield bad(
            "NotPlanned",
            f"{told} is not planned for",
            todo=f"add {name} to plan_architectures, and see with playbooks/plan.yml which images lack it.",
        )
    elif lacking := inventory.lacking.get(name):
        alone = all(_machine(host) == machine for host in inventory.workers)
        yield (bad if alone else worse)(
            "ImagesLacking",
            f"{told}: {len(lacking)} images of the release are known not to be built for it: {named(lacking)}",
            todo="keep their pods on nodes of another kind, or name builds of your own in image_mirror_overrides.",
        )
    elif inventory.images_unknown and name != ALWAYS_BUILT:
        yield worse(
            "ImagesNotListed",
            f"{told}: the images of the release could not be listed ({inventory.images_unknown})",
            todo="run playbooks/plan.yml where kustomize and the release's sources can be had.",
        )
    else:
        yield good(told)


def _machine(host: Host) -> str:
    return host.facts.machine.architecture if host.facts and host.facts.machine else ""


@check("P6", "kernel-modules", severity=Severity.BLOCKER)
def kernel_modules(facts: Facts) -> Outcome:
    """Every kernel module that containers, the network and Istio need is there, now and after a boot.

    Pods cannot always load modules by themselves: istio-init then ends with "can't initialize iptables table". Names
    in a file of /etc/modules-load.d are loaded at each boot; modprobe loads them now.
    """
    return each(facts, _modules, expected="loaded or built in, and loaded again at boot", holds="every module is there")


_GONE = "install the kernel's modules (dnf install kernel-modules-extra), or a kernel that has them."


def _modules(_: Host, facts: HostFacts) -> Iterator[Finding]:
    found: Modules = facts.need("modules")
    by_state: dict[str, list[str]] = {}
    for name, state in found.states.items():
        if state == "loaded" and name.replace("-", "_") not in found.at_boot:
            state = "passing"  # noqa: PLW2901  loaded, but by whom
        by_state.setdefault(state, []).append(name)
    if not found.directory and "unknown" in by_state:
        yield worse(
            "KernelFilesGone",
            f"the files of the running kernel are gone, so that nobody can say of {_names(by_state['unknown'])}",
            todo="reboot into the installed kernel.",
        )
    elif "unknown" in by_state:
        yield Finding(Status.ERROR, f"modules.dep says nothing of {_names(by_state['unknown'])}", "NotLookedAt")
    for name in by_state.get("absent", []):
        absent = worse if name == BRIDGE else bad
        yield absent("ModuleAbsent", f"the kernel has no module {name}", todo=_GONE)
    if names := by_state.get("forbidden"):
        yield bad(
            "ModuleForbidden",
            f"nobody may load {_names(names)}",
            todo="remove its line `install … /bin/false` from /etc/modprobe.d, or kernel.modules_disabled.",
        )
    idle, passing = by_state.get("loadable", []), by_state.get("passing", [])
    later = [name for name in (*idle, *passing) if name.replace("-", "_") not in found.at_boot]
    if idle or passing:
        said = [f"not loaded: {_names(idle)}"] if idle else []
        said += [f"nothing loads at boot: {_names(later)}"] if later else []
        yield worse(
            "NotAtBoot" if later else "NotLoaded",
            "; ".join(said),
            todo="set preflight_repair: true, or name them in /etc/modules-load.d and load them.",
            commands=(f"modprobe -a {' '.join([*idle, *passing])}",),
            repairs=tuple({"kind": "module", "name": name} for name in (*idle, *passing)),
        )
    if ready := sorted(by_state.get("loaded", []) + by_state.get("builtin", [])):
        yield good(f"ready: {_names(ready)}")


def _names(names: list[str]) -> str:
    return ", ".join(names)


CHECKS = (os, architecture, kernel_modules)
