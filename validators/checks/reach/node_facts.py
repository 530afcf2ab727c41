"""Family A, node facts: system and versions of the nodes, and what only a pod on them can see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.volumes import directory_of
from kubeflow_volcano.hosts.kubelet_skew import unsupported_skew
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.refusals import refusal
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import NODES, STORAGE_CLASSES, VOLUMES
from kubeflow_volcano.validators.probes.node_settings import NODE_SETTINGS, NOT_READY, Settings
from kubeflow_volcano.validators.probes.storage.storage import STORAGE, StorageEvidence
from kubeflow_volcano.validators.subjects.storage_classes import LOCAL_PATH

_MOST_SHOWN = 3
_INFO = ("osImage", "kernelVersion", "containerRuntimeVersion", "kubeletVersion")


@check(
    "A5",
    "node-facts",
    severity=Severity.MINOR,
    reads=(NODES, STORAGE_CLASSES, VOLUMES),
    probe=NODE_SETTINGS,
)
def node_facts(facts: Facts) -> Outcome:
    """Kubelet versions are within the supported skew, and cgroup drivers match.

    The Node reports system, kernel, container runtime and kubelet. A kubelet must not be newer than the API server, and
    at most three minor versions older, two before kubelet 1.25. A pod on each node reads the SELinux mode and the
    cgroup drivers from /sys: kubelet and container runtime must use the same driver, or systemd ends pods. Where
    SELinux is enforcing and volumes are directories on nodes, these need the type container_file_t; D8 checks their
    labels.
    """
    real = {
        item["metadata"]["name"]: item.get("status", {}).get("nodeInfo", {})
        for item in facts.all(NODES)
        if item["metadata"]["name"] not in facts.simulated_nodes
    }
    if not real:
        return skipped("Simulated", "every node is simulated.")
    answers = facts.evidence(NODE_SETTINGS)
    lost = [item.node for item in answers if item.failure[0] == NOT_READY]
    real = {name: info for name, info in real.items() if name not in lost} or real
    if outcome := _unreported(real) or _skewed(real, facts):
        return outcome
    # A4 reports nodes that are lost; the others say what there is to say.
    seen = [item for item in answers if item.node not in lost] or answers
    if outcome := _mismatched(seen) or _not_seen(seen) or _confined(seen, facts):
        return outcome
    by_name = {item.node: _describe(item) for item in seen}
    kinds = Counter(", ".join([*(info[key] for key in _INFO), by_name.get(name, "")]) for name, info in real.items())
    groups = few([f"{number} with {kind}" for kind, number in kinds.most_common()], _MOST_SHOWN, "; ", "kind of node")
    note = f" Not Ready, and not looked at: {few(lost)}." if lost else ""
    message = f"{counted(len(real), 'node')}: {groups}.{note}"
    return passed(message, objects=[_ref(name) for name in sorted(real)], observed=dict(kinds))


def _ref(name: str) -> Ref:
    return Ref("v1", "Node", "", name)


def _unreported(real: Mapping[str, Object]) -> Outcome | None:
    missing = sorted(name for name, info in real.items() if not all(info.get(key) for key in _INFO))
    if not missing:
        return None
    return errored(
        "NotTold",
        f"the Node does not report its system or versions: {few(missing)}.",
        expected=", ".join(_INFO),
        observed={name: dict(real[name]) for name in missing},
        objects=[_ref(name) for name in missing],
        todo="see whether the kubelet is running and may update the status of its Node.",
        because=[frozenset({_ref(name)}) for name in missing],
    )


def _skewed(real: Mapping[str, Object], facts: Facts) -> Outcome | None:
    skewed = {name: text for name, info in real.items() if (text := _skew(info["kubeletVersion"], facts))}
    if not skewed:
        return None
    return warned(
        "KubeletSkew",
        f"{'; '.join(f'{name} has {text}' for name, text in sorted(skewed.items()))}.",
        expected=f"a kubelet of {facts.server_version} or up to three minor versions older, two before 1.25",
        observed=skewed,
        objects=[_ref(name) for name in sorted(skewed)],
        todo="upgrade the API server first, then the kubelets, one minor version at a time.",
    )


def _mismatched(seen: Sequence[Settings]) -> Outcome | None:
    odd = {item.node: item for item in seen if item.kubelet != item.runtime}
    if not odd:
        return None
    drivers = {
        name: f"the kubelet uses {item.kubelet}, the container runtime {item.runtime}" for name, item in odd.items()
    }
    return warned(
        "DriversDiffer",
        f"different cgroup drivers: {'; '.join(f'on {name} {text}' for name, text in drivers.items())}.",
        expected="the same cgroup driver, systemd where systemd is the init process",
        observed=drivers,
        objects=[_ref(name) for name in odd],
        todo="set cgroupDriver of the kubelet and SystemdCgroup of containerd to match; P11 checks both on hosts.",
    )


def _not_seen(seen: Sequence[Settings]) -> Outcome | None:
    missed = {item.node: item.failure for item in seen if item.failure[0]}
    if not missed:
        return None
    reason, text = next(iter(missed.values()))
    if reason == "ProbeRefused":
        return refusal(text)
    return errored(
        reason,
        f"no evidence from {len(missed)} of {counted(len(seen), 'node')}; {next(iter(missed))}: {text}",
        expected="a pod on every node that may read /sys/fs",
        objects=[_ref(name) for name in missed],
        todo="see why the probe pod does not run there.",
        because=[frozenset({_ref(name)}) for name in missed],
    )


def _confined(seen: Sequence[Settings], facts: Facts) -> Outcome | None:
    """SELinux is enforcing and volumes are directories on nodes, unless D8 has seen the right label on all of them."""
    names = [item.node for item in seen if item.selinux == "enforcing"]
    storage = facts.evidences.get(STORAGE)
    bases = storage.bases if isinstance(storage, StorageEvidence) else ()
    labelled = bool(bases) and all("container_file_t" in base.label for base in bases)
    if not names or labelled or not _volumes_are_directories(facts):
        return None
    return warned(
        "Confined",
        f"SELinux is enforcing on {few(names)}, and the labels of the volume directories there are not known.",
        expected="volume directories of type container_file_t",
        observed={item.node: item.selinux for item in seen},
        objects=[_ref(name) for name in names],
        todo="run playbooks/hosts.yml, which labels them, and select D8, which checks the labels.",
    )


def _volumes_are_directories(facts: Facts) -> bool:
    classes, volumes = facts.all(STORAGE_CLASSES), facts.all(VOLUMES)
    return any(item.get("provisioner") == LOCAL_PATH for item in classes) or any(map(directory_of, volumes))


def _describe(item: Settings) -> str:
    driver = f" with driver {item.kubelet}" if item.kubelet else ""
    return f"SELinux {item.selinux}, cgroups v{item.cgroups}{driver}"


def _skew(kubelet: str, facts: Facts) -> str:
    """What is wrong with the kubelet's version; empty if the skew is supported."""
    try:
        way = unsupported_skew(kubelet, facts.server_version)
    except ValueError:
        return f"kubelet {kubelet}, which is not a version"
    return f"kubelet {kubelet}, {way} than the API server, {facts.server_version}" if way else ""
