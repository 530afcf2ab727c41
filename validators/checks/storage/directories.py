"""Family D, directories: are those of volumes on nodes fit for them, by the evidence of pods that looked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubernetes.utils.quantity import parse_quantity

from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.refusals import interruption, not_tried
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, failed, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import CLAIMS
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.storage.directories import Seen
from kubeflow_volcano.validators.probes.storage.storage import STORAGE

_GB = 1000**3
_FULL = _GB
_OTHERS_WRITE, _OTHERS_LIST = 0o002, 0o004


@check(
    "D8",
    "node-directories",
    severity=Severity.MAJOR,
    reads=(CLAIMS,),
    needs=(Rule("get", "", "configmaps", "local-path-storage"),),
    probe=STORAGE,
)
def node_directories(facts: Facts) -> Outcome:
    """Volume directories on nodes are writable, not world-writable, and have space and the right SELinux label.

    A pod on each node checks the directory. With mode 0777 every user of the node can change what databases wrote. Run
    `playbooks/hosts.yml`, which sets owner, mode and label.
    """
    evidence = facts.evidence(STORAGE)
    if evidence.failure:
        return interruption(evidence.failure)
    if evidence.bases_failure:
        return not_tried(evidence.bases_failure)
    if not evidence.bases:
        return skipped("NoNodeDisks", "no volumes lie on the disks of real nodes.")
    return _wrong(evidence.bases) or _short(evidence.bases, facts) or _passed(evidence.bases)


def _wrong(directories: Sequence[Seen]) -> Outcome | None:
    for reason, fails, words, todo in _RULES:
        if wrong := [item for item in directories if fails(item)]:
            make = failed if reason in {"ReadOnly", "Full"} else warned
            return make(reason, f"{_names(wrong)} {words}.", todo=todo, **_shown(directories, wrong))
    if unseen := [item for item in directories if item.failure]:
        text = f"{_names(unseen)} could not be looked at: {unseen[0].failure}"
        because = [frozenset({ref}) for ref in _nodes(unseen)]
        todo = "remove what is named, and run again."
        return errored("NotSeen", text, todo=todo, because=because, **_shown(directories, unseen))
    return None


def _passed(directories: Sequence[Seen]) -> Outcome:
    text = f"{_names(directories)}: writable, with free space, and not world-writable."
    opened = sum(item.open for item in directories)
    more = (
        f" World-writable below, in directories that only root can list: {counted(opened, 'volume')}." if opened else ""
    )
    return passed(text + more, objects=_nodes(directories), observed=_observed(directories))


def _short(directories: Sequence[Seen], facts: Facts) -> Outcome | None:
    """Whether unbound claims request more than all nodes have free; simulated pods write nothing."""
    bound = {
        (item["metadata"]["namespace"], item["metadata"]["name"])
        for item in facts.all(CLAIMS)
        if item["spec"].get("volumeName")
    }
    waiting = [claim for claim in facts.expectations.claims if (claim.namespace, claim.name) not in bound]
    wanted = sum(float(parse_quantity(claim.size)) for claim in waiting)
    free = sum(item.free_bytes or 0 for item in directories)
    if facts.simulated_nodes or wanted <= free:
        return None
    claims = f"{counted(len(waiting), 'unbound claim')} request{'s' if len(waiting) == 1 else ''}"
    text = f"{free / _GB:.0f} GB free for volumes, but {claims} {wanted / _GB:.0f} GB."
    return warned("LittleRoom", text, todo="add a disk, or free space.", **_shown(directories, directories))


def _mode(item: Seen) -> int:
    return int(item.mode or "0", 8)


_RULES: Sequence[tuple[str, Callable[[Seen], bool], str, str]] = (
    ("ReadOnly", lambda item: "ro" in item.options, "cannot be written", "see why the file system is read-only."),
    (
        "Full",
        lambda item: item.free_bytes is not None and item.free_bytes < _FULL,
        "have less than 1 GB left",
        "free space on that disk, or use another directory (local_path_base_directory).",
    ),
    (
        "OpenToEverybody",
        lambda item: bool(_mode(item) & _OTHERS_WRITE),
        "are world-writable: every user of the node can change volumes",
        "run playbooks/hosts.yml, or: chmod 0711 the directory. Its volumes need their consumers as owners, not 0777.",
    ),
    (
        "OpenVolumes",
        lambda item: bool(item.open and _mode(item) & _OTHERS_LIST),
        "hold world-writable volumes, and every user of the node can list them",
        "run playbooks/hosts.yml, or: chmod 0711 the directory.",
    ),
    (
        "WrongLabel",
        lambda item: bool(item.label) and "container_file_t" not in item.label,
        "lack the SELinux type container_file_t, so that confined containers may not write there",
        "run playbooks/hosts.yml, or: semanage fcontext and restorecon on the node.",
    ),
    (
        "Volatile",
        lambda item: item.file_system in {"tmpfs", "ramfs"},
        "are in memory: what is in volumes is gone with the next start of the node",
        "take a directory on a disk (local_path_base_directory).",
    ),
    (
        "NoExec",
        lambda item: "noexec" in item.options,
        "are mounted noexec: programs that are installed into a volume cannot run",
        "mount the file system without noexec.",
    ),
    (
        "Missing",
        lambda item: item.missing,
        "do not exist; the kubelet will create them with mode 0755, which every user can list",
        "run playbooks/hosts.yml, or create them as root with mode 0711.",
    ),
)
"""Reason, what is wrong with it, in words, and what to do; the worst first."""


def _names(directories: Sequence[Seen]) -> str:
    return few([str(item.base) for item in directories], 3)


def _nodes(directories: Sequence[Seen]) -> tuple[Ref, ...]:
    return tuple(dict.fromkeys(Ref("v1", "Node", "", item.base.node) for item in directories))


def _observed(directories: Sequence[Seen]) -> dict[str, object]:
    return {
        str(item.base): "missing"
        if item.missing
        else f"mode {item.mode}, uid {item.uid}, {item.file_system}, "
        f"{'unknown' if item.free_bytes is None else f'{item.free_bytes / _GB:.1f} GB'} free, "
        f"{item.open} of {item.volumes} volumes world-writable" + (f", {item.label}" if item.label else "")
        for item in directories
    }


def _shown(every: Sequence[Seen], wrong: Sequence[Seen]) -> dict[str, object]:
    return {
        "expected": "a writable directory of root with mode 0711, on a disk with room",
        "observed": _observed(every),
        "objects": _nodes(wrong),
    }
