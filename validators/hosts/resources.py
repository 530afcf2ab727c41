"""Family P, part seven: swap, disks, processors and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.hosts.facts import Host, HostFacts, Place, Swap
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.inventory import Inventory
from validators.core.outcome import Outcome, Severity, errored, failed, passed, skipped
from validators.hosts.each import Finding, asked, bad, each, good, ref, worse

__all__ = ["CHECKS"]

GB = 1000**3

# The kubelet's own thresholds (kubernetes.io, "Node-pressure Eviction" and "Garbage collection"): below them it evicts
# pods, and from 85 % in use on it removes images down to 80 %, among them those that were pulled in advance.
_EVICTS = {"images": 0.15, "kubelet": 0.10, "volumes": 0.10}
_COLLECTS = 0.20
_INODES_EVICT, _INODES_WARN = 0.05, 0.10
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_WORDS = {"images": "images", "kubelet": "the kubelet", "volumes": "volumes"}


@check("P16", "swap", severity=Severity.BLOCKER)
def swap(facts: Facts) -> Outcome:
    """No host swaps, now or after a boot, unless its kubelet was told to bear it.

    A kubelet does not start with swap in use unless failSwapOn is false. `swapoff -a` turns it off until the next boot;
    a line of /etc/fstab or a unit brings it back.
    """
    return each(facts, lambda _, found: _swap(found), expected="no swap", holds="no host swaps")


def _swap(facts: HostFacts) -> Iterator[Finding]:
    found: Swap = facts.need("swap")
    repairs = ({"kind": "swap"},) if found.devices or found.fstab else ()
    if found.devices:
        detail = ", ".join(f"{item.name} {item.kib / 1024**2:.1f} GiB" for item in found.devices)
        if facts.kubelet and facts.kubelet.fail_swap_on is False:
            yield worse(
                "SwapTolerated", "swap is in use, which the kubelet bears", detail=detail, todo="see that it is meant."
            )
            return
        yield bad(
            "SwapOn",
            "swap is in use",
            detail=detail,
            todo="set preflight_repair: true, or turn it off and comment its line in /etc/fstab.",
            commands=("swapoff -a",),
            repairs=repairs,
        )
    elif found.fstab or found.units:
        yield worse(
            "SwapAfterBoot",
            "no swap now, but the next boot brings it back",
            detail=", ".join([*(line.split()[0] for line in found.fstab), *found.units]),
            todo="set preflight_repair: true, which comments lines of /etc/fstab; mask units by hand.",
            repairs=repairs,
        )
    else:
        yield good("no swap")


@check("P19", "disk-space", severity=Severity.BLOCKER)
def disk_space(facts: Facts) -> Outcome:
    """The file systems of images and volumes are large enough and not full.

    Each has 50 GB at least (plan_minimum_storage_gb), and enough is free that the kubelet does not evict: 15 % where
    images are, 10 % elsewhere; from 80 % in use on it removes images. Enlarge the file system or clear it.
    """
    inventory = asked(facts)
    return each(
        facts,
        lambda host, found: _space(inventory, host, found),
        expected=f"{inventory.minimum_storage_gb} GB each, of which 20 % are free",
        holds=f"images and volumes have {inventory.minimum_storage_gb} GB or more each",
    )


def _places(inventory: Inventory, host: Host, facts: HostFacts) -> Iterator[tuple[str, Place]]:
    """What is asked of this host: volumes lie on workers only."""
    found: Mapping[str, Place] = facts.need("paths")
    for purpose, place in sorted(found.items()):
        if purpose in _WORDS and (purpose != "volumes" or inventory.is_worker(host)):
            yield purpose, place


def _space(inventory: Inventory, host: Host, facts: HostFacts) -> Iterator[Finding]:
    for purpose, place in _places(inventory, host, facts):
        where = f"the file system of {_WORDS[purpose]} ({place.path})"
        detail = f"{place.free / GB:.1f} of {place.bytes / GB:.1f} GB free, {place.mount}"
        share = place.free / place.bytes if place.bytes else 0.0
        least = inventory.minimum_storage_gb
        if share < _EVICTS[purpose]:
            yield bad("DiskFull", f"{where} is nearly full", detail=detail, todo="clear it or enlarge it.")
        elif purpose != "kubelet" and place.bytes < least * GB:
            yield bad(
                "DiskSmall",
                f"{where} is smaller than {least} GB",
                detail=detail,
                todo="enlarge it, mount a larger one there, or lower plan_minimum_storage_gb.",
            )
        elif purpose == "images" and share < _COLLECTS:
            yield worse("DiskFilling", f"{where} is more than 80 % full", detail=detail, todo="clear it or enlarge it.")
        else:
            yield good(f"{where} is large enough")


@check("P20", "disk-inodes", severity=Severity.BLOCKER)
def disk_inodes(facts: Facts) -> Outcome:
    """The file systems of images and volumes have inodes left.

    Images are many small files; below 5 % the kubelet evicts, whatever space is left. Remove files, or make the file
    system anew with more inodes; xfs and btrfs make them as they are needed.
    """
    inventory = asked(facts)
    return each(
        facts,
        lambda host, found: _inodes(inventory, host, found),
        expected="10 % of the inodes free",
        holds="inodes are left everywhere",
    )


def _inodes(inventory: Inventory, host: Host, facts: HostFacts) -> Iterator[Finding]:
    for purpose, place in _places(inventory, host, facts):
        where = f"the file system of {_WORDS[purpose]} ({place.path})"
        share = place.inodes_free / place.inodes if place.inodes else 1.0  # btrfs counts none
        detail = f"{place.inodes_free} of {place.inodes} free, {place.mount}"
        if share >= _INODES_WARN:
            yield good(f"{where} has inodes")
        else:
            make = bad if share < _INODES_EVICT else worse
            yield make("InodesUsedUp", f"{where} has nearly no inodes", detail=detail, todo="remove small files there.")


@check("P21", "disk-mounts", severity=Severity.BLOCKER)
def disk_mounts(facts: Facts) -> Outcome:
    """The file systems of images and volumes are kept, and programs on them may run.

    A tmpfs is gone after a boot, a read-only one takes nothing, and noexec is inherited by pods: below the runtime and
    the kubelet nothing starts. Mount another file system there, or remount it.
    """
    inventory = asked(facts)
    return each(
        facts,
        lambda host, found: _mounts(inventory, host, found),
        expected="a file system on a disk, rw, without noexec",
        holds="images and volumes lie on file systems that serve",
    )


def _mounts(inventory: Inventory, host: Host, facts: HostFacts) -> Iterator[Finding]:
    for purpose, place in _places(inventory, host, facts):
        where = f"{_WORDS[purpose]} ({place.path}) on {place.type}"
        todo = f"mount a file system of a disk at {place.path}."
        if place.type in _IN_MEMORY:
            yield bad("InMemory", f"{where}, which a boot empties", detail=place.mount, todo=todo)
        elif "ro" in place.options:
            yield bad("ReadOnly", f"{where}, which is read-only", detail=place.mount, todo="remount it rw.")
        elif "noexec" in place.options:
            make = worse if purpose == "volumes" else bad
            yield make("NoExec", f"{where}, with noexec", detail=place.mount, todo="remount it without noexec.")
        else:
            yield good(where)


@check("P22", "capacity", severity=Severity.BLOCKER)
def capacity(facts: Facts) -> Outcome:
    """The hosts that run pods have processors and memory enough, together.

    4 CPUs and 12 GB are what Kubeflow asks for at least (plan_minimum_cpu, plan_minimum_memory_gb); the plan says what
    your components ask for. Add hosts, or leave components out.
    """
    inventory = asked(facts)
    if not inventory.workers:
        return skipped("NoHosts", "no host that runs pods answered.")
    machines = [host.facts.machine for host in inventory.workers if host.facts and host.facts.machine]
    cpus, memory = sum(item.cpus for item in machines), sum(item.memory_bytes for item in machines)
    told = f"{cpus} CPUs and {memory / GB:.1f} GB of memory on {len(machines)} hosts"
    observed = {"cpus": cpus, "memory_bytes": memory, "hosts": len(machines)}
    expected = f"{inventory.minimum_cpu} CPUs and {inventory.minimum_memory_gb} GB"
    objects = [ref(host.name) for host in inventory.workers]
    if cpus >= inventory.minimum_cpu and memory >= inventory.minimum_memory_gb * GB:
        return passed(f"{told}.", objects=objects, observed=observed)
    if inventory.left_out:
        return skipped("Limited", f"{told}; {len(inventory.left_out)} hosts of the inventory are left out (--limit).")
    make = errored if len(machines) < sum(map(inventory.is_worker, inventory.hosts)) else failed
    return make(
        "TooSmall",
        f"{told}, not {expected}." + (" Not every host told." if make is errored else ""),
        expected=expected,
        observed=observed,
        objects=objects,
        todo="add hosts, or lower plan_minimum_cpu and plan_minimum_memory_gb where less is meant.",
    )


CHECKS = (swap, disk_space, disk_inodes, disk_mounts, capacity)
