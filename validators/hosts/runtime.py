"""Kubelet and container runtime: whether they run, and whether their versions fit together."""

from __future__ import annotations

from collections.abc import Iterator

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.hosts.facts import HostFacts, Kubelet, Runtime
from kubeflow_volcano.hosts.kubelet_skew import unsupported_skew
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.inventory import Inventory
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
"""By the first Kubernetes minor: the least containerd version of each supported series (containerd, RELEASES.md)."""

_DAEMONS = frozenset({"containerd", "cri-o", "isulad"})
_OTHER_ENGINES = {
    "cri-o": "image_mirror_mode: containerd does not configure CRI-O; write its registries.conf, or use mode rewrite",
    "docker": "Docker mirrors Docker Hub only; other images need image_mirror_mode: rewrite",
    "isulad": "the roles do not configure mirrors of iSulad; use image_mirror_mode: rewrite",
    "other": "the roles do not configure this runtime; use image_mirror_mode: rewrite",
}


def kubernetes_version(facts: HostFacts, planned: str) -> tuple[int, ...]:
    """Version of the host's kubelet, else of the cluster; empty where neither is known."""
    own = facts.kubelet.version if facts.kubelet else ""
    return version_key(own or planned) if own or planned else ()


def is_at_least(version: tuple[int, ...], least: tuple[int, ...]) -> bool:
    """Whether a version is known and not older than `least`."""
    return bool(version) and version >= least


def release_of(runtime: Runtime) -> str:
    """Version of the runtime without a distribution's suffix, such as `1.7.2` for `1.7.2~ds1`."""
    return runtime.version.partition("~")[0]


@check("P12", "container-runtime", severity=Severity.BLOCKER)
def container_runtime(facts: Facts) -> Outcome:
    """Every kubelet has a running container runtime that the roles support.

    The roles configure containerd and its mirrors, and pull images in advance. CRI-O, Docker with cri-dockerd and
    iSulad run pods, but you configure their mirrors. Kubernetes supports no Docker from 1.24 on, and needs CRI v1
    from 1.26 on. No pod starts without the runtime's sandbox image, which no manifest names and no role renames.
    """
    inventory = inventory_of(facts)
    return judge_hosts(
        facts,
        lambda _, found: (*_runtime(found, inventory.kubernetes, inventory.mirror_mode), *_sandbox(found, inventory)),
        expected="containerd, running, at the endpoint of the kubelet",
        holds="containerd is running",
    )


def _runtime(facts: HostFacts, planned: str, mirror_mode: str) -> Iterator[Finding]:
    runtime: Runtime = facts.need("runtime")
    name = f"{runtime.name} behind {runtime.through}" if runtime.through else runtime.name
    version = kubernetes_version(facts, planned)
    if not runtime.name:
        yield failing("NoRuntime", "no container runtime", todo="install containerd and join the host to the cluster.")
    elif runtime.through == "dockershim" and is_at_least(version, _WITHOUT_DOCKERSHIM):
        yield failing("Dockershim", f"{name}, which Kubernetes dropped in 1.24", todo="move the node to containerd.")
    elif runtime.name == "isulad" and runtime.cri_v1 is False and is_at_least(version, _CRI_V1_ONLY):
        yield failing(
            "OldCri",
            "iSulad supports CRI v1alpha2 only, but Kubernetes needs v1 from 1.26 on",
            todo='set "enable-cri-v1": true in /etc/isulad/daemon.json and restart iSulad.',
        )
    elif runtime.origin == "kubelet" and not runtime.socket:
        yield failing(
            "NoSocket",
            f"{name}: the endpoint of the kubelet does not exist",
            detail=runtime.endpoint,
            todo="start the runtime, or correct containerRuntimeEndpoint of the kubelet.",
        )
    elif runtime.origin == "kubelet" and runtime.name in _DAEMONS and not runtime.running:
        yield failing(
            "NotRunning", f"{name} is not running", todo=f"start it, and read `journalctl -u {runtime.name}`."
        )
    elif runtime.name in _OTHER_ENGINES:
        wrong = mirror_mode == "containerd"
        yield (failing if wrong else warning)(
            "OtherEngine", f"{name}: {_OTHER_ENGINES[runtime.name]}", todo="see docs/hosts.md, or move to containerd."
        )
    elif runtime.origin == "installed":
        yield warning(
            "NotRunning", f"{name} is installed but not running", todo="start it, and join the host to the cluster."
        )
    else:
        yield passing(name, runtime.version)


def _sandbox(facts: HostFacts, inventory: Inventory) -> Iterator[Finding]:
    """Whether its mirror has the sandbox image; of one that no rule applies to, nothing is known but its name."""
    runtime: Runtime = facts.need("runtime")
    if not runtime.sandbox:
        if runtime.name == "containerd" and runtime.running and inventory.mirror_mode != "none":
            yield warning(
                "SandboxUnknown",
                "the sandbox image of containerd could not be read",
                todo="see which one it is, and that the mirror has it.",
                commands=("crictl info | grep -i sandboxImage",),
            )
        return
    there = inventory.sandboxes.get(runtime.sandbox)
    if there is None:
        yield passing("a sandbox image that no rule of a mirror applies to", runtime.sandbox)
    elif inventory.mirror_mode == "rewrite" and there.name != runtime.sandbox:
        # Every node has one already; a registry that does not answer keeps only new nodes from starting pods.
        yield passing("a sandbox image that image_mirror_mode: rewrite does not rename", runtime.sandbox)
    elif there.served is False:
        yield warning(
            "SandboxNotServed",
            f"no pod starts where the sandbox image {runtime.sandbox} is not present: the list of the mirror lacks "
            f"{there.name}",
            todo="set the sandbox image of the runtime to one that the mirror serves, or import it on the host.",
            commands=("crictl images | grep pause",),
        )
    elif there.served is None:
        yield passing("whether the mirror has the sandbox image is not known", there.name)
    else:
        yield passing("the mirror has the sandbox image", there.name)


@check("P13", "runtime-version", severity=Severity.BLOCKER)
def runtime_version(facts: Facts) -> Outcome:
    """Every containerd version supports its Kubernetes version and its own configuration file.

    containerd's RELEASES.md lists which versions are tested with which Kubernetes. Versions below 1.6 have no CRI v1,
    which Kubernetes needs from 1.26 on; a file of version 3 or later stops containerd 1.x from starting.
    """
    planned = inventory_of(facts).kubernetes
    return judge_hosts(
        facts,
        lambda _, found: _fits(found, planned),
        expected="a version that containerd's RELEASES.md lists for this Kubernetes",
        holds="every containerd supports its Kubernetes",
        among=[host for host in inventory_of(facts).reached if host.facts and _is_containerd(host.facts)],
    )


def _is_containerd(facts: HostFacts) -> bool:
    return facts.runtime is None or facts.runtime.name == "containerd"


def _fits(facts: HostFacts, planned: str) -> Iterator[Finding]:
    runtime: Runtime = facts.need("runtime")
    if not runtime.version:
        yield unjudged("containerd did not report its version", todo="run `containerd --version` on the host.")
        return
    version = version_key(release_of(runtime))
    kubernetes = kubernetes_version(facts, planned)
    name = f"containerd {runtime.version}"
    if version < (2,) and runtime.config_version > 2:  # noqa: PLR2004  versions of files
        yield failing(
            "ConfigurationTooNew",
            f"{name} cannot read its {runtime.config} of version {runtime.config_version}",
            todo="write the file as version 2, or update containerd.",
        )
    elif runtime.config_readable is False:
        yield failing(
            "ConfigurationBroken",
            f"{name} cannot read its {runtime.config}: it will not start again after the next restart",
            todo="correct the file before containerd is restarted.",
            commands=(f"containerd --config {runtime.config} config dump",),
        )
    if is_at_least(kubernetes, _CRI_V1_ONLY) and version < (1, 6):
        yield failing("NoCriV1", f"{name} has no CRI v1", todo="update containerd.")
        return
    tested = next((versions for minor, versions in reversed(_FIT) if is_at_least(kubernetes, minor)), ())
    if _is_tested(version, tested):
        yield passing(f"{name}, Kubernetes {_minor(kubernetes)}" if kubernetes else name)
        return
    yield warning(
        "NotTested",
        f"{name} is not tested with Kubernetes {_minor(kubernetes)}, which needs {'+ or '.join(tested)}+",
        todo="update containerd, one node at a time.",
    )


@check("P27", "kubelet", severity=Severity.BLOCKER)
def kubelet(facts: Facts) -> Outcome:
    """The kubelet runs on every node, within the supported version skew.

    A kubelet may not be newer than the API server, and at most three minor versions older, two before kubelet 1.25
    (kubernetes.io, "Version Skew Policy"). Where there is no cluster yet, a kubelet that is not running is only a
    warning.
    """
    inventory = inventory_of(facts)
    return judge_hosts(
        facts,
        lambda _, found: _kubelet(found, facts.server_version),
        expected="a running kubelet of the API server's minor version, or up to three minors older, two before 1.25",
        holds="every kubelet is within the supported skew",
        among=[host for host in inventory.reached if inventory.is_node(host)],
    )


def _kubelet(facts: HostFacts, server: str) -> Iterator[Finding]:
    kubelet: Kubelet = facts.need("kubelet")
    if not kubelet.running:
        text = f"{kubelet.program} is not running" if kubelet.program else "no kubelet"
        todo = "join the host to the cluster (kubeadm join), and read `journalctl -u kubelet`."
        if server:
            yield failing("KubeletNotRunning", text, todo=todo)
        elif kubelet.program:
            yield warning("KubeletNotRunning", text, todo=todo)
        else:
            yield passing("no kubelet, and no cluster yet")
        return
    if not server or not kubelet.version:
        yield passing(f"{kubelet.program} {kubelet.version or 'of an unknown version'}")
        return
    way = unsupported_skew(kubelet.version, server)
    if not way:
        yield passing(f"{kubelet.program} {kubelet.version}, the API server is {server}")
    else:
        todo = "upgrade the API server first, then the kubelets, one minor version at a time."
        yield failing(
            "VersionSkew", f"{kubelet.program} {kubelet.version} is {way} than the API server, {server}", todo=todo
        )


def _is_tested(version: tuple[int, ...], tested: tuple[str, ...]) -> bool:
    """Whether it is new enough within its series; series after the last listed one count as tested."""
    series = {version_key(text)[:2]: version_key(text) for text in tested}
    if not series or version[:2] > max(series):
        return True
    return version[:2] in series and version >= series[version[:2]]


def _minor(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version[:2]))
