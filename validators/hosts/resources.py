"""Resources of hosts: swap, disks, CPU and memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubeflow_volcano.hosts.facts import Host, HostFacts, Place, Swap
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.inventory import Inventory
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, failed, passed, skipped
from kubeflow_volcano.validators.hosts.judging import (
    Finding,
    failing,
    host_ref,
    inventory_of,
    judge_hosts,
    passing,
    warning,
)

GB = 1000**3

# The kubelet's own thresholds (kubernetes.io, "Node-pressure Eviction" and "Garbage collection"): below them it evicts
# pods, and from 85 % in use on it deletes images down to 80 %, including those that were pulled in advance.
_EVICTS = {"images": 0.15, "kubelet": 0.10, "volumes": 0.10}
_COLLECTS = 0.20
_INODES_EVICT, _INODES_WARN = 0.05, 0.10
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_WORDS = {"images": "images", "kubelet": "the kubelet", "volumes": "volumes"}


@check("P16", "swap", severity=Severity.BLOCKER)
def swap(facts: Facts) -> Outcome:
    """Swap is off, also after a reboot, unless the kubelet allows it.

    A kubelet does not start with swap in use unless failSwapOn is false. `swapoff -a` turns swap off until the next
    boot; a line of /etc/fstab or a unit turns it on again.
    """
    return judge_hosts(facts, lambda _, found: _swap(found), expected="no swap", holds="swap is off")


def _swap(facts: HostFacts) -> Iterator[Finding]:
    swap: Swap = facts.need("swap")
    repairs = ({"kind": "swap"},) if swap.devices or swap.fstab else ()
    if swap.devices:
        detail = ", ".join(f"{item.name} {item.kib / 1024**2:.1f} GiB" for item in swap.devices)
        if facts.kubelet and facts.kubelet.fail_swap_on is False:
            yield warning(
                "SwapTolerated",
                "swap is in use, and the kubelet allows it",
                detail=detail,
                todo="check that this is intended; failSwapOn: true forbids it.",
            )
            return
        yield failing(
            "SwapOn",
            "swap is in use",
            detail=detail,
            todo="set preflight_repair: true, or turn swap off and comment out its line in /etc/fstab.",
            changes=("swapoff -a",),
            repairs=repairs,
        )
    elif swap.fstab or swap.units:
        yield warning(
            "SwapAfterBoot",
            "swap is off now, but on again after the next boot",
            detail=", ".join([*(line.split()[0] for line in swap.fstab), *swap.units]),
            todo="set preflight_repair: true, which comments out lines of /etc/fstab; mask units by hand.",
            repairs=repairs,
        )
    else:
        yield passing("no swap")


@check("P19", "disk-space", severity=Severity.BLOCKER)
def disk_space(facts: Facts) -> Outcome:
    """File systems of images and volumes are large enough and not full.

    Each needs 50 GB (plan_minimum_storage_gb), and enough free space to keep the kubelet from evicting pods: 15 %
    for images, 10 % elsewhere; from 80 % in use on it deletes images. Enlarge the file system, or delete files.
    """
    inventory = inventory_of(facts)
    return judge_hosts(
        facts,
        lambda host, found: _space(inventory, host, found),
        expected=f"{inventory.minimum_storage_gb} GB each, of which 20 % are free",
        holds=f"images and volumes have {inventory.minimum_storage_gb} GB or more each",
    )


def _places(inventory: Inventory, host: Host, facts: HostFacts) -> Iterator[tuple[str, Place]]:
    """The directories that matter on this host, by purpose; volumes are on workers only."""
    paths: Mapping[str, Place] = facts.need("paths")
    for purpose, place in sorted(paths.items()):
        if purpose in _WORDS and (purpose != "volumes" or inventory.is_worker(host)):
            yield purpose, place


def _space(inventory: Inventory, host: Host, facts: HostFacts) -> Iterator[Finding]:
    for purpose, place in _places(inventory, host, facts):
        where = f"the file system of {_WORDS[purpose]} ({place.path})"
        detail = f"{place.free / GB:.1f} of {place.bytes / GB:.1f} GB free, {place.mount}"
        share = place.free / place.bytes if place.bytes else 0.0
        least = inventory.minimum_storage_gb
        if share < _EVICTS[purpose]:
            yield failing("DiskFull", f"{where} is nearly full", detail=detail, todo="delete files, or enlarge it.")
        elif purpose != "kubelet" and place.bytes < least * GB:
            yield failing(
                "DiskSmall",
                f"{where} is smaller than {least} GB",
                detail=detail,
                todo="enlarge it, mount a larger one there, or lower plan_minimum_storage_gb.",
            )
        elif purpose == "images" and share < _COLLECTS:
            yield warning(
                "DiskFilling", f"{where} is more than 80 % full", detail=detail, todo="delete files, or enlarge it."
            )
        else:
            yield passing(f"{where} is large enough")


@check("P20", "disk-inodes", severity=Severity.BLOCKER)
def disk_inodes(facts: Facts) -> Outcome:
    """File systems of images and volumes have free inodes.

    Images are many small files; below 5 % free inodes the kubelet evicts pods, even with free space. Delete files, or
    recreate the file system with more inodes; xfs and btrfs allocate inodes as needed.
    """
    inventory = inventory_of(facts)
    return judge_hosts(
        facts,
        lambda host, found: _inodes(inventory, host, found),
        expected="10 % of the inodes free",
        holds="every file system has free inodes",
    )


def _inodes(inventory: Inventory, host: Host, facts: HostFacts) -> Iterator[Finding]:
    for purpose, place in _places(inventory, host, facts):
        where = f"the file system of {_WORDS[purpose]} ({place.path})"
        share = place.inodes_free / place.inodes if place.inodes else 1.0  # btrfs counts none
        detail = f"{place.inodes_free} of {place.inodes} free, {place.mount}"
        if share >= _INODES_WARN:
            yield passing(f"{where} has free inodes")
        else:
            make = failing if share < _INODES_EVICT else warning
            yield make(
                "InodesUsedUp", f"{where} has nearly no free inodes", detail=detail, todo="delete small files there."
            )


@check("P21", "disk-mounts", severity=Severity.BLOCKER)
def disk_mounts(facts: Facts) -> Outcome:
    """File systems of images and volumes are persistent, writable and allow execution.

    A tmpfs is empty after a boot, a read-only file system takes no files, and pods inherit noexec: in the directories
    of the runtime and the kubelet it stops every container. Mount another file system there, or remount it.
    """
    inventory = inventory_of(facts)
    return judge_hosts(
        facts,
        lambda host, found: _mounts(inventory, host, found),
        expected="a file system on a disk, rw, without noexec",
        holds="images and volumes are on suitable file systems",
    )


def _mounts(inventory: Inventory, host: Host, facts: HostFacts) -> Iterator[Finding]:
    for purpose, place in _places(inventory, host, facts):
        where = f"{_WORDS[purpose]} ({place.path}) on {place.type}"
        todo = f"mount a file system of a disk at {place.path}."
        if place.type in _IN_MEMORY:
            yield failing("InMemory", f"{where}, which a boot empties", detail=place.mount, todo=todo)
        elif "ro" in place.options:
            yield failing("ReadOnly", f"{where}, which is read-only", detail=place.mount, todo="remount it rw.")
        elif "noexec" in place.options:
            make = warning if purpose == "volumes" else failing
            yield make("NoExec", f"{where}, with noexec", detail=place.mount, todo="remount it without noexec.")
        else:
            yield passing(where)


@check("P22", "capacity", severity=Severity.BLOCKER)
def capacity(facts: Facts) -> Outcome:
    """Worker hosts together have enough CPU and memory.

    Kubeflow needs at least 4 CPUs and 12 GB (plan_minimum_cpu, plan_minimum_memory_gb); the plan reports what your
    components request. Add hosts, or exclude components.
    """
    inventory = inventory_of(facts)
    if not inventory.workers:
        return skipped("NoHosts", "no worker host answered.")
    machines = [host.facts.machine for host in inventory.workers if host.facts and host.facts.machine]
    cpus, memory = sum(item.cpus for item in machines), sum(item.memory_bytes for item in machines)
    sums = f"{counted(cpus, 'CPU')} and {memory / GB:.1f} GB of memory on {counted(len(machines), 'host')}"
    observed = {"cpus": cpus, "memory_bytes": memory, "hosts": len(machines)}
    expected = f"{inventory.minimum_cpu} CPUs and {inventory.minimum_memory_gb} GB"
    objects = [host_ref(host.name) for host in inventory.workers]
    if cpus >= inventory.minimum_cpu and memory >= inventory.minimum_memory_gb * GB:
        return passed(f"{sums}.", objects=objects, observed=observed)
    if inventory.left_out:
        return skipped("Limited", f"{sums}; --limit excludes {counted(len(inventory.left_out), 'host')}.")
    make = errored if len(machines) < sum(map(inventory.is_worker, inventory.hosts)) else failed
    return make(
        "TooSmall",
        f"{sums}, not {expected}." + (" Not every host answered." if make is errored else ""),
        expected=expected,
        observed=observed,
        objects=objects,
        todo="add hosts, or lower plan_minimum_cpu and plan_minimum_memory_gb if less is intended.",
    )
