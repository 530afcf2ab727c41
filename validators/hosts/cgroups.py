"""Family P, part four: control groups, and who drives them."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.hosts.facts import Cgroup, Host, HostFacts, Kubelet, Runtime
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, Status
from validators.hosts.each import Finding, asked, bad, each, good, worse

__all__ = ["CHECKS", "at_least", "kubernetes_of"]

_REFUSES_V1 = (1, 35)
"""kubelet: failCgroupV1 is true by default from here on."""
_NEEDED = frozenset({"cpu", "memory", "pids"})
_ASKS_RUNTIME = (1, 31)
"""Feature gate KubeletCgroupDriverFromCRI: on by default from 1.31, locked from 1.34 (kube_features.go)."""
_TELLS = {"containerd": (2, 0), "cri-o": (1, 28)}
"""Versions that answer the CRI's RuntimeConfig (containerd#8722, released with 2.0)."""
_V2 = 2


def kubernetes_of(facts: HostFacts, planned: str) -> tuple[int, ...]:
    """Version of the host's kubelet, or the cluster's; empty where neither is known."""
    own = facts.kubelet.version if facts.kubelet else ""
    return version_key(own or planned) if own or planned else ()


def at_least(version: tuple[int, ...], least: tuple[int, ...]) -> bool:
    """Whether a known version is not older; an unknown one is not."""
    return bool(version) and version >= least


@check("P10", "cgroup-version", severity=Severity.BLOCKER)
def cgroup_version(facts: Facts) -> Outcome:
    """The version of control groups is one that the Kubernetes takes, with the controllers that it needs.

    From 1.35 on the kubelet refuses version 1, which openEuler 22.03 and 24.03 boot with, unless failCgroupV1 is
    false. Boot with systemd.unified_cgroup_hierarchy=1, or set that. On version 2 with CONFIG_RT_GROUP_SCHED the
    controller cpu can be enabled only while no realtime process is outside of the root group (cgroup-v2.rst).
    """
    planned = asked(facts).kubernetes
    return each(
        facts,
        lambda _, found: _version(found, planned),
        expected=f"cgroup v2, or v1 below Kubernetes 1.35; controllers {', '.join(sorted(_NEEDED))}",
        holds="control groups are as needed",
    )


def _version(facts: HostFacts, planned: str) -> Iterator[Finding]:
    found: Cgroup = facts.need("cgroup")
    if found.version == 0:
        yield Finding(Status.ERROR, "no control groups are mounted", "NotLookedAt", todo="mount /sys/fs/cgroup.")
        return
    if missing := sorted(_NEEDED - set(found.controllers)):
        yield bad(
            "ControllerMissing",
            f"cgroup v{found.version} without {', '.join(missing)}",
            todo="remove cgroup_disable from the kernel's command line.",
        )
    elif found.version == _V2 and "cpu" not in found.delegated:
        trap = "; a realtime process outside of the root group keeps it away" if found.realtime_groups else ""
        running = bool(facts.kubelet and facts.kubelet.running)
        yield (bad if running else worse)(
            "CpuNotDelegated",
            f"cgroup v2, whose cpu controller is not enabled below the root{trap}",
            todo="stop that process (`ps -eLo pid,cls,comm | grep -E 'RR|FF'`), then start the kubelet again.",
        )
    elif found.version == 1 and at_least(kubernetes_of(facts, planned), _REFUSES_V1):
        yield from _refused(facts)
    else:
        yield good(f"cgroup v{found.version}")


def _refused(facts: HostFacts) -> Iterator[Finding]:
    if facts.kubelet and facts.kubelet.fail_cgroup_v1 is False:
        yield worse(
            "OldVersionTolerated",
            "cgroup v1, which the kubelet takes only because failCgroupV1 is false",
            todo="move to version 2 before Kubernetes gives up on version 1.",
        )
        return
    yield bad(
        "OldVersion",
        "cgroup v1, which the kubelet refuses from Kubernetes 1.35 on",
        todo="boot with version 2, or set failCgroupV1: false in the kubelet's configuration.",
        commands=("grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1", "reboot"),
    )


@check("P11", "cgroup-driver", severity=Severity.BLOCKER)
def cgroup_driver(facts: Facts) -> Outcome:
    """The kubelet and the container runtime drive control groups in the same way.

    With two drivers pods are killed under load or do not start. Set cgroupDriver in the kubelet's configuration and
    SystemdCgroup in containerd's to the same, systemd; both need a restart, which restarts pods (containerd#7276).
    """
    planned = asked(facts).kubernetes
    return each(
        facts,
        lambda _, found: _driver(found, planned),
        expected="the same driver on both sides",
        holds="kubelet and runtime agree",
        among=[host for host in asked(facts).reached if _has_kubelet(host)],
    )


def _has_kubelet(host: Host) -> bool:
    kubelet = host.facts.kubelet if host.facts else None
    return kubelet is None or bool(kubelet.running or kubelet.config)


def _driver(facts: HostFacts, planned: str) -> Iterator[Finding]:
    kubelet: Kubelet = facts.need("kubelet")
    runtime: Runtime = facts.need("runtime")
    if kubelet.program in {"k3s", "rke2"}:
        yield good(f"{kubelet.program} sets both")
        return
    own = kubelet.cgroup_driver or "cgroupfs"  # the kubelet's own default
    asks = at_least(kubernetes_of(facts, planned), _ASKS_RUNTIME)
    if asks and runtime.name in _TELLS and at_least(_version_of(runtime), _TELLS[runtime.name]):
        yield good(
            f"the kubelet asks {runtime.name} {runtime.version}, which uses {runtime.cgroup_driver or 'its own'}"
        )
    elif not runtime.cgroup_driver:
        what = runtime.name or "the runtime"
        yield Finding(Status.ERROR, f"{what} does not tell its driver", "NotLookedAt", todo="see its configuration.")
    elif own != runtime.cgroup_driver:
        yield bad(
            "DriversDiffer",
            f"the kubelet uses {own}, {runtime.name} uses {runtime.cgroup_driver}",
            todo=(
                f"set both to systemd: cgroupDriver in {kubelet.config or 'the configuration of the kubelet'}, "
                f"SystemdCgroup in {runtime.config or 'the configuration of ' + runtime.name}; drain the node first."
            ),
        )
    else:
        yield good(f"both use {own}")


def _version_of(runtime: Runtime) -> tuple[int, ...]:
    return version_key(runtime.version.partition("~")[0]) if runtime.version else ()


CHECKS = (cgroup_version, cgroup_driver)
