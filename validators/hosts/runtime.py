"""Family P, part five: kubelet and container runtime, and whether they go with the Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.hosts.facts import HostFacts, Kubelet, Runtime
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, Status
from validators.hosts.cgroups import at_least, kubernetes_of
from validators.hosts.each import Finding, asked, bad, each, good, worse

__all__ = ["CHECKS"]

_WITHOUT_DOCKERSHIM = (1, 24)
_CRI_V1_ONLY = (1, 26)

_FIT: tuple[tuple[tuple[int, int], tuple[str, ...]], ...] = (
    ((1, 24), ("1.6.4", "1.7.0")),
    ((1, 26), ("1.6.15", "1.7.0")),
    ((1, 29), ("1.6.27", "1.7.11", "2.0.0")),
    ((1, 30), ("1.6.28", "1.7.13", "2.0.0")),
    ((1, 31), ("1.6.34", "1.7.20", "2.0.0")),
    ((1, 32), ("1.6.36", "1.7.24", "2.0.1", "2.1.0")),
    ((1, 33), ("1.6.36", "1.7.24", "2.0.4", "2.1.0")),
    ((1, 34), ("1.6.39", "1.7.28", "2.0.6", "2.1.3")),
    ((1, 35), ("1.7.28", "2.1.5", "2.2.0")),
    ((1, 36), ("2.2.0", "2.3.0")),
)
"""From which Kubernetes on which containerd is good enough, a version for each series (containerd, RELEASES.md)."""

_MOST_BEHIND = 3
_DAEMONS = frozenset({"containerd", "cri-o", "isulad"})
_OTHER_ENGINES = {
    "cri-o": "image_mirror_mode: containerd does not configure CRI-O; write its registries.conf, or take mode rewrite",
    "docker": "Docker mirrors Docker Hub only; other images need image_mirror_mode: rewrite",
    "isulad": "iSulad is treated like Docker: its mirrors are not configured; take image_mirror_mode: rewrite",
    "other": "this runtime is not known: nothing of it is configured; take image_mirror_mode: rewrite",
}


@check("P12", "container-runtime", severity=Severity.BLOCKER)
def container_runtime(facts: Facts) -> Outcome:
    """The runtime behind every kubelet is there and one that the roles can work with.

    containerd is configured, mirrored and filled in advance. CRI-O, Docker behind cri-dockerd and iSulad run pods, but
    their mirrors are left to you. Kubernetes from 1.24 on does not talk to Docker, and from 1.26 on needs CRI v1.
    """
    inventory = asked(facts)
    return each(
        facts,
        lambda _, found: _runtime(found, inventory.kubernetes, inventory.mirror_mode),
        expected="containerd, running, at the endpoint of the kubelet",
        holds="containerd runs",
    )


def _runtime(facts: HostFacts, planned: str, mirror_mode: str) -> Iterator[Finding]:
    runtime: Runtime = facts.need("runtime")
    told = f"{runtime.name} behind {runtime.through}" if runtime.through else runtime.name
    version = kubernetes_of(facts, planned)
    if not runtime.name:
        yield bad("NoRuntime", "no container runtime", todo="install containerd and join the host to the cluster.")
    elif runtime.through == "dockershim" and at_least(version, _WITHOUT_DOCKERSHIM):
        yield bad("Dockershim", f"{told}, which Kubernetes dropped in 1.24", todo="move the node to containerd.")
    elif runtime.name == "isulad" and runtime.cri_v1 is False and at_least(version, _CRI_V1_ONLY):
        yield bad(
            "OldCri",
            "iSulad speaks CRI v1alpha2 only, and Kubernetes from 1.26 on v1 only",
            todo='set "enable-cri-v1": true in /etc/isulad/daemon.json and restart iSulad.',
        )
    elif runtime.origin == "kubelet" and not runtime.socket:
        yield bad(
            "NoSocket",
            f"{told}: the endpoint of the kubelet does not exist",
            detail=runtime.endpoint,
            todo="start the runtime, or correct containerRuntimeEndpoint of the kubelet.",
        )
    elif runtime.origin == "kubelet" and runtime.name in _DAEMONS and not runtime.running:
        yield bad("NotRunning", f"{told} does not run", todo=f"start it, and see `journalctl -u {runtime.name}`.")
    elif runtime.name in _OTHER_ENGINES:
        wrong = mirror_mode == "containerd"
        yield (bad if wrong else worse)(
            "OtherEngine", f"{told}: {_OTHER_ENGINES[runtime.name]}", todo="see docs/hosts.md, or move to containerd."
        )
    elif runtime.origin == "installed":
        yield worse("NotRunning", f"{told} is installed and does not run", todo="start it and join the host.")
    else:
        yield good(told, runtime.version)


@check("P13", "runtime-version", severity=Severity.BLOCKER)
def runtime_version(facts: Facts) -> Outcome:
    """The version of every containerd goes with the Kubernetes, and with its own configuration file.

    containerd's RELEASES.md lists which versions are tested with which Kubernetes. Below 1.6 there is no CRI v1, which
    Kubernetes needs from 1.26 on; a file of version 3 or later stops containerd 1.x from starting.
    """
    planned = asked(facts).kubernetes
    return each(
        facts,
        lambda _, found: _fits(found, planned),
        expected="as containerd's table of versions says",
        holds="every containerd goes with the Kubernetes",
        among=[host for host in asked(facts).reached if host.facts and _is_containerd(host.facts)],
    )


def _is_containerd(facts: HostFacts) -> bool:
    return facts.runtime is None or facts.runtime.name == "containerd"


def _fits(facts: HostFacts, planned: str) -> Iterator[Finding]:
    runtime: Runtime = facts.need("runtime")
    if not runtime.version:
        yield Finding(Status.ERROR, "containerd does not tell its version", "NotLookedAt", todo="run it by hand.")
        return
    version = version_key(runtime.version.partition("~")[0])
    kubernetes = kubernetes_of(facts, planned)
    told = f"containerd {runtime.version}"
    if version < (2,) and runtime.config_version > 2:  # noqa: PLR2004  versions of files
        yield bad(
            "ConfigurationTooNew",
            f"{told} cannot read its {runtime.config} of version {runtime.config_version}",
            todo="write the file as version 2, or update containerd.",
        )
    elif runtime.config_readable is False:
        yield bad(
            "ConfigurationBroken",
            f"{told} cannot read its {runtime.config}: the next restart would be its end",
            todo="see why, and mend the file before anything restarts it.",
            commands=(f"containerd --config {runtime.config} config dump",),
        )
    if at_least(kubernetes, _CRI_V1_ONLY) and version < (1, 6):
        yield bad("NoCriV1", f"{told} has no CRI v1", todo="update containerd.")
        return
    wanted = next((versions for minor, versions in reversed(_FIT) if at_least(kubernetes, minor)), ())
    if _is_tested(version, wanted):
        yield good(f"{told}, Kubernetes {_text(kubernetes)}" if kubernetes else told)
        return
    yield worse(
        "NotTested",
        f"{told} is not tested with Kubernetes {_text(kubernetes)}, which asks for {'+ or '.join(wanted)}+",
        todo="update containerd, a node at a time.",
    )


@check("P27", "kubelet", severity=Severity.BLOCKER)
def kubelet(facts: Facts) -> Outcome:
    """On every host that is to be a node the kubelet runs, in a version that goes with the API server's.

    A kubelet may not be newer than the API server, and three minor versions older at most (kubernetes.io, "Version Skew
    Policy"). Where there is no cluster yet, a kubelet that does not run is only told.
    """
    inventory = asked(facts)
    return each(
        facts,
        lambda _, found: _kubelet(found, facts.server_version),
        expected="a kubelet that runs, of the API server's version or up to three minors older",
        holds="every kubelet goes with the cluster",
        among=[host for host in inventory.reached if inventory.is_node(host)],
    )


def _kubelet(facts: HostFacts, server: str) -> Iterator[Finding]:
    found: Kubelet = facts.need("kubelet")
    if not found.running:
        text = f"{found.program} does not run" if found.program else "no kubelet"
        todo = "join the host to the cluster (kubeadm join), and see `journalctl -u kubelet`."
        if server:
            yield bad("KubeletNotRunning", text, todo=todo)
        elif found.program:
            yield worse("KubeletNotRunning", text, todo=todo)
        else:
            yield good("no kubelet, and no cluster yet")
        return
    if not server or not found.version:
        yield good(f"{found.program} {found.version or 'of a version that it does not tell'}")
        return
    behind = version_key(server)[1] - version_key(found.version)[1]
    if 0 <= behind <= _MOST_BEHIND:
        yield good(f"{found.program} {found.version}, the API server is {server}")
    else:
        way = "newer" if behind < 0 else f"more than {_MOST_BEHIND} minor versions older"
        todo = "upgrade the API server first, then the kubelets, a minor version at a time."
        yield bad("VersionSkew", f"{found.program} {found.version} is {way} than the API server, {server}", todo=todo)


def _is_tested(version: tuple[int, ...], wanted: tuple[str, ...]) -> bool:
    """Good enough within its series; a series later than all that are listed is, too."""
    series = {version_key(text)[:2]: version_key(text) for text in wanted}
    if not series or version[:2] > max(series):
        return True
    return version[:2] in series and version >= series[version[:2]]


def _text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version[:2]))


CHECKS = (container_runtime, runtime_version, kubelet)
