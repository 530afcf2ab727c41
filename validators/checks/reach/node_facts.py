"""Family A, what nodes are: their system and versions, and what only a pod on them can see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kubeflow_volcano.catalog.model import version_key
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.volumes import directory_of
from kubeflow_volcano.text import counted
from validators.checks.refusals import refusal
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, errored, passed, skipped, warned
from validators.core.resources import NODES, STORAGE_CLASSES, VOLUMES
from validators.probes.node_settings import NODE_SETTINGS, Settings
from validators.probes.storage.storage import STORAGE, StorageEvidence
from validators.subjects.storage_classes import LOCAL_PATH

__all__ = ["CHECKS"]

_TOLD = 3
_MOST_BEHIND = 3
"""Minor versions that a kubelet may be older than the API server (kubernetes.io, "Version Skew Policy")."""
_INFO = ("osImage", "kernelVersion", "containerRuntimeVersion", "kubeletVersion")


@check(
    "A5",
    "node-facts",
    severity=Severity.MINOR,
    reads=(NODES, STORAGE_CLASSES, VOLUMES),
    probe=NODE_SETTINGS,
)
def node_facts(facts: Facts) -> Outcome:
    """Every node tells what it runs; its kubelet goes with the API server and with its container runtime.

    System, kernel, container runtime and kubelet are what the Node says. A kubelet may not be newer than the API
    server, and three minor versions older at most. A pod on each node reads from /sys how SELinux stands and who drives
    control groups: kubelet and runtime must agree, else pods end when systemd tidies up. Where SELinux is enforcing and
    volumes are directories of nodes, those need the type container_file_t; D8 looks at their labels.
    """
    real = {
        item["metadata"]["name"]: item.get("status", {}).get("nodeInfo", {})
        for item in facts.all(NODES)
        if item["metadata"]["name"] not in facts.simulated_nodes
    }
    if not real:
        return skipped("Simulated", "every node is simulated, and has no machine to tell of.")
    if found := _untold(real) or _skewed(real, facts):
        return found
    seen = facts.evidence(NODE_SETTINGS)
    if found := _at_odds(seen) or _not_seen(seen) or _confined(seen, facts):
        return found
    by_name = {item.node: _told(item) for item in seen}
    kinds = Counter(", ".join([*(info[key] for key in _INFO), by_name.get(name, "")]) for name, info in real.items())
    told = "; ".join(f"{number} with {kind}" for kind, number in kinds.most_common(_TOLD))
    more = f"; {len(kinds) - _TOLD} more kinds of nodes" if len(kinds) > _TOLD else ""
    message = f"{counted(len(real), 'node')}: {told}{more}."
    return passed(message, objects=[_ref(name) for name in sorted(real)], observed=dict(kinds))


def _ref(name: str) -> Ref:
    return Ref("v1", "Node", "", name)


def _untold(real: Mapping[str, Object]) -> Outcome | None:
    untold = sorted(name for name, info in real.items() if not all(info.get(key) for key in _INFO))
    if not untold:
        return None
    return errored(
        "NotTold",
        f"{', '.join(untold)} does not tell what it runs.",
        expected=", ".join(_INFO),
        observed={name: dict(real[name]) for name in untold},
        objects=[_ref(name) for name in untold],
        todo="see that the node's kubelet runs and may write the Node's status.",
        because=("A4",),
    )


def _skewed(real: Mapping[str, Object], facts: Facts) -> Outcome | None:
    skewed = {name: text for name, info in real.items() if (text := _skew(info["kubeletVersion"], facts))}
    if not skewed:
        return None
    return warned(
        "KubeletSkew",
        f"{'; '.join(f'{name} has {text}' for name, text in sorted(skewed.items()))}.",
        expected=f"a kubelet of {facts.server_version} or up to {_MOST_BEHIND} minor versions older",
        observed=skewed,
        objects=[_ref(name) for name in sorted(skewed)],
        todo="upgrade the API server first, then the kubelets, a minor version at a time.",
    )


def _at_odds(seen: Sequence[Settings]) -> Outcome | None:
    odd = {item.node: item for item in seen if item.kubelet != item.runtime}
    if not odd:
        return None
    told = {name: f"the kubelet uses {item.kubelet}, the runtime {item.runtime}" for name, item in odd.items()}
    return warned(
        "DriversDiffer",
        f"{'; '.join(f'on {name} {text}' for name, text in told.items())} to drive control groups.",
        expected="the same driver, systemd where systemd is the first process",
        observed=told,
        objects=[_ref(name) for name in odd],
        todo="set cgroupDriver of the kubelet and SystemdCgroup of containerd to the same; P11 looks at both on hosts.",
    )


def _not_seen(seen: Sequence[Settings]) -> Outcome | None:
    missed = {item.node: item.trouble for item in seen if item.trouble[0]}
    if not missed:
        return None
    reason, text = next(iter(missed.values()))
    if reason == "ProbeRefused":
        return refusal(text)
    return errored(
        reason,
        f"{len(missed)} of {counted(len(seen), 'node')} could not be looked at; {next(iter(missed))}: {text}",
        expected="a pod on every node that may read /sys/fs",
        objects=[_ref(name) for name in missed],
        todo="see why the pod does not run there.",
        because=("A4",),
    )


def _confined(seen: Sequence[Settings], facts: Facts) -> Outcome | None:
    """SELinux enforcing where volumes are directories of nodes, unless D8 has seen that all of them are labelled."""
    names = [item.node for item in seen if item.selinux == "enforcing"]
    storage = facts.evidences.get(STORAGE)
    bases = storage.bases if isinstance(storage, StorageEvidence) else ()
    labelled = bool(bases) and all("container_file_t" in base.label for base in bases)
    if not names or labelled or not _volumes_are_directories(facts):
        return None
    return warned(
        "Confined",
        f"SELinux is enforcing on {', '.join(names)}, and volumes are directories there whose labels nobody has seen.",
        expected="directories of volumes of type container_file_t",
        observed={item.node: item.selinux for item in seen},
        objects=[_ref(name) for name in names],
        todo="run playbooks/hosts.yml, which labels them, and select D8, which looks at them.",
    )


def _volumes_are_directories(facts: Facts) -> bool:
    classes, volumes = facts.all(STORAGE_CLASSES), facts.all(VOLUMES)
    return any(item.get("provisioner") == LOCAL_PATH for item in classes) or any(map(directory_of, volumes))


def _told(item: Settings) -> str:
    driver = f" driven by {item.kubelet}" if item.kubelet else ""
    return f"SELinux {item.selinux}, control groups version {item.cgroups}{driver}"


def _skew(kubelet: str, facts: Facts) -> str:
    """What is wrong with the kubelet's version; empty where it goes with the API server."""
    try:
        behind = version_key(facts.server_version)[1] - version_key(kubelet)[1]
    except (ValueError, IndexError):
        return f"kubelet {kubelet}, which is no version"
    if 0 <= behind <= _MOST_BEHIND:
        return ""
    way = "newer" if behind < 0 else f"more than {_MOST_BEHIND} minor versions older"
    return f"kubelet {kubelet}, {way} than the API server, {facts.server_version}"


CHECKS = (node_facts,)
