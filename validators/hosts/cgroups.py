"""Control groups: version and controllers, and the driver of kubelet and container runtime."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.hosts.facts import Cgroup, Host, HostFacts, Kubelet, Runtime
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity
from kubeflow_volcano.validators.hosts.judging import (
    Finding,
    failing,
    inventory_of,
    judge_hosts,
    passing,
    unjudged,
    warning,
)
from kubeflow_volcano.validators.hosts.runtime import is_at_least, kubernetes_version, release_of

_REFUSES_V1 = (1, 35)
"""kubelet: failCgroupV1 is true by default from here on."""
_NEEDED = frozenset({"cpu", "memory", "pids"})
_ASKS_RUNTIME = (1, 31)
"""Feature gate KubeletCgroupDriverFromCRI: on by default from 1.31, locked from 1.34 (kube_features.go)."""
_REPORTS_DRIVER = {"containerd": (2, 0), "cri-o": (1, 28)}
"""Versions that answer the CRI's RuntimeConfig (containerd#8722, released with 2.0)."""
_V2 = 2


@check("P10", "cgroup-version", severity=Severity.BLOCKER)
def cgroup_version(facts: Facts) -> Outcome:
    """The cgroup version and controllers of every host suit its Kubernetes version.

    From 1.35 on the kubelet refuses version 1, which openEuler 22.03 and 24.03 boot with, unless failCgroupV1 is
    false. Boot with systemd.unified_cgroup_hierarchy=1, or set failCgroupV1. On version 2 with CONFIG_RT_GROUP_SCHED
    the cpu controller can be enabled only while no realtime process is outside of the root group (cgroup-v2.rst).
    """
    planned = inventory_of(facts).kubernetes
    return judge_hosts(
        facts,
        lambda _, found: _version(found, planned),
        expected=f"cgroup v2, or v1 below Kubernetes 1.35; controllers {', '.join(sorted(_NEEDED))}",
        holds="cgroup version and controllers suit Kubernetes",
    )


def _version(facts: HostFacts, planned: str) -> Iterator[Finding]:
    cgroup: Cgroup = facts.need("cgroup")
    if cgroup.version == 0:
        yield unjudged("no cgroups are mounted", todo="mount /sys/fs/cgroup.")
        return
    if missing := sorted(_NEEDED - set(cgroup.controllers)):
        yield failing(
            "ControllerMissing",
            f"cgroup v{cgroup.version} without {', '.join(missing)}",
            todo="remove cgroup_disable from the kernel's command line.",
        )
    elif cgroup.version == _V2 and "cpu" not in cgroup.delegated and _should_delegate(facts, cgroup):
        realtime = "; a realtime process outside of the root group prevents that" if cgroup.realtime_groups else ""
        running = bool(facts.kubelet and facts.kubelet.running)
        yield (failing if running else warning)(
            "CpuNotDelegated",
            f"cgroup v2, but its cpu controller is not enabled below the root{realtime}",
            todo="stop that process (`ps -eLo pid,cls,comm | grep -E 'RR|FF'`), then restart the kubelet.",
        )
    elif cgroup.version == 1 and is_at_least(kubernetes_version(facts, planned), _REFUSES_V1):
        yield _refused(facts)
    else:
        yield passing(f"cgroup v{cgroup.version}")


def _should_delegate(facts: HostFacts, cgroup: Cgroup) -> bool:
    """Systemd enables the cpu controller when a unit requests it; before a kubelet does, only realtime is a reason."""
    return bool(cgroup.realtime_groups or (facts.kubelet and facts.kubelet.running))


def _refused(facts: HostFacts) -> Finding:
    if facts.kubelet and facts.kubelet.fail_cgroup_v1 is False:
        return warning(
            "OldVersionTolerated",
            "cgroup v1, which the kubelet accepts only because failCgroupV1 is false",
            todo="move to version 2 before Kubernetes drops version 1.",
        )
    return failing(
        "OldVersion",
        "cgroup v1, which the kubelet refuses from Kubernetes 1.35 on",
        todo="boot with version 2, or set failCgroupV1: false in the kubelet's configuration.",
        changes=("grubby --update-kernel=ALL --args=systemd.unified_cgroup_hierarchy=1", "reboot"),
    )


@check("P11", "cgroup-driver", severity=Severity.BLOCKER)
def cgroup_driver(facts: Facts) -> Outcome:
    """Kubelet and container runtime use the same cgroup driver.

    With two drivers pods are killed under load or do not start. Set cgroupDriver in the kubelet's configuration and
    SystemdCgroup in containerd's to systemd; both need a restart, which restarts pods (containerd#7276).
    """
    planned = inventory_of(facts).kubernetes
    return judge_hosts(
        facts,
        lambda _, found: _driver(found, planned),
        expected="the same driver on both sides",
        holds="kubelet and runtime use the same cgroup driver",
        among=[host for host in inventory_of(facts).reached if _has_kubelet(host)],
    )


def _has_kubelet(host: Host) -> bool:
    kubelet = host.facts.kubelet if host.facts else None
    return kubelet is None or bool(kubelet.running or kubelet.config)


def _driver(facts: HostFacts, planned: str) -> Iterator[Finding]:
    kubelet: Kubelet = facts.need("kubelet")
    runtime: Runtime = facts.need("runtime")
    if kubelet.program in {"k3s", "rke2"}:
        yield passing(f"{kubelet.program} sets both")
        return
    own = kubelet.cgroup_driver or "cgroupfs"  # the kubelet's own default
    asks = is_at_least(kubernetes_version(facts, planned), _ASKS_RUNTIME)
    running = version_key(release_of(runtime)) if runtime.version else ()
    if asks and runtime.name in _REPORTS_DRIVER and is_at_least(running, _REPORTS_DRIVER[runtime.name]):
        driver = runtime.cgroup_driver or "its own"
        yield passing(f"the kubelet takes the driver of {runtime.name} {runtime.version}, {driver}")
    elif not runtime.cgroup_driver:
        what = runtime.name or "the runtime"
        yield unjudged(f"the cgroup driver of {what} is unknown", todo=f"check the configuration of {what}.")
    elif own != runtime.cgroup_driver:
        yield failing(
            "DriversDiffer",
            f"the kubelet uses {own}, {runtime.name} uses {runtime.cgroup_driver}",
            todo=(
                f"set both to systemd: cgroupDriver in {kubelet.config or 'the configuration of the kubelet'}, "
                f"SystemdCgroup in {runtime.config or 'the configuration of ' + runtime.name}; drain the node first."
            ),
        )
    else:
        yield passing(f"both use {own}")
