"""Operating system and architecture."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubeflow_volcano.hosts.facts import Host, HostFacts, Os
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.inventory import Inventory
from kubeflow_volcano.validators.core.outcome import Outcome, Severity
from kubeflow_volcano.validators.hosts.judging import Finding, failing, inventory_of, judge_hosts, passing, warning

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""Architectures as uname names them, to the names that images use."""
ALWAYS_BUILT = "amd64"
"""The architecture that every image of the catalog is built for."""

_KNOWN = {"22.03": 4, "24.03": 0}
"""openEuler LTS releases, and the first supported service pack."""
_RHEL_LIKE = {"almalinux", "anolis", "centos", "fedora", "kylin", "ol", "rhel", "rocky", "tencentos"}


@check("P4", "host-os", severity=Severity.MAJOR)
def operating_system(facts: Facts) -> Outcome:
    """Every host runs openEuler 22.03 LTS SP4, 24.03 LTS, or a RHEL-like system.

    Packages, SELinux and defaults of other systems differ, and the roles were not tested there. Update the service
    pack, or waive this check if you know that the system works.
    """
    return judge_hosts(
        facts,
        lambda _, found: _operating_system(found),
        expected="openEuler 22.03 LTS SP4 or 24.03 LTS, or a RHEL-like system",
        holds="every system is known",
    )


def _operating_system(facts: HostFacts) -> Iterator[Finding]:
    system: Os = facts.need("os")
    name = system.name or f"{system.id or 'a system without a name'} {system.version}".strip()
    kernel = facts.machine.kernel if facts.machine else ""
    todo = "upgrade the host, or waive P4 if this system is known to work."
    if system.id.lower() != "openeuler":
        alike = {system.id.lower(), *system.like.lower().split()} & _RHEL_LIKE
        unknown = warning("UnknownSystem", f"{name} is neither openEuler nor RHEL-like", todo=todo)
        yield passing(name, kernel) if alike else unknown
        return
    pack = re.search(r"SP(\d+)", f"{system.version} {system.release_file}")
    if system.version_id not in _KNOWN:
        yield warning("UnknownRelease", f"{name} is not 22.03 or 24.03", todo=todo)
    elif int(pack.group(1) if pack else 0) < _KNOWN[system.version_id]:
        yield warning("OldServicePack", f"{name} is older than SP{_KNOWN[system.version_id]}", todo=todo)
    else:
        yield passing(name, kernel)


@check("P5", "host-architecture", severity=Severity.BLOCKER)
def architecture(facts: Facts) -> Outcome:
    """The release's images are available for the architecture of every host.

    Images are checked for the architectures in plan_architectures; a host of another one would get images that cannot
    run there. If the catalog knows that some are not built for a host's architecture, schedule their pods on other
    hosts, or use your own builds with image_mirror_overrides.
    """
    inventory = inventory_of(facts)
    return judge_hosts(
        facts,
        lambda _, found: _architecture(found, inventory),
        expected=f"one of {', '.join(inventory.architectures)} (plan_architectures), with every image built for it",
        holds="every architecture is planned for",
    )


def _architecture(facts: HostFacts, inventory: Inventory) -> Iterator[Finding]:
    machine = facts.need("machine").architecture
    name = ARCHITECTURES.get(machine)
    both = f"{machine} ({name})"
    if name is None:
        yield failing("NoImages", f"{machine} has no images", todo="use hosts of x86_64 or aarch64.")
    elif name not in inventory.architectures:
        yield failing(
            "NotPlanned",
            f"{both} is not planned for",
            todo=f"add {name} to plan_architectures, and run playbooks/plan.yml: it lists the images that lack it.",
        )
    elif lacking := inventory.lacking.get(name):
        alone = all(_machine(host) == machine for host in inventory.workers)
        number = counted(len(lacking), "image of the release is", "images of the release are")
        yield (failing if alone else warning)(
            "ImagesLacking",
            f"{both}: {number} known not to be built for it: {few(lacking)}",
            todo="keep their pods on nodes of another architecture, or name your own builds in image_mirror_overrides.",
        )
    elif inventory.images_unknown and name != ALWAYS_BUILT:
        yield warning(
            "ImagesNotListed",
            f"{both}: the images of the release could not be listed ({inventory.images_unknown})",
            todo="run playbooks/plan.yml on a machine that has kustomize and the release's sources.",
        )
    else:
        yield passing(both)


def _machine(host: Host) -> str:
    return host.facts.machine.architecture if host.facts and host.facts.machine else ""
