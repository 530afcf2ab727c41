"""Family D, writing: who may write where, by the evidence of pods that tried, and the remedy for those who may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubeflow_volcano.catalog.model import Claim
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.ended import ALTERED, BAD_STARTS, NO_EVENT, UNPLACED, UNSEEN
from kubeflow_volcano.experiment.spaces import Level
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.checks.refusals import interruption, not_tried
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, errored, failed, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import STORAGE_CLASSES
from kubeflow_volcano.validators.probes.storage.identities import Identity
from kubeflow_volcano.validators.probes.storage.storage import STORAGE, StorageEvidence
from kubeflow_volcano.validators.probes.storage.writing import OPERATIONS, Written
from kubeflow_volcano.validators.subjects.storage_classes import serving_workloads

_REASONS = {
    "Permission": "PermissionDenied",
    "ReadOnly": "ReadOnlyVolume",
    "Full": "VolumeFull",
    "Missing": "DirectoryMissing",
    "Other": "NotWritable",
}
_WHY_LEVEL = {
    Level.RESTRICTED: "consumers that are not root",
    Level.BASELINE: "consumers that start as root",
    Level.PRIVILEGED: "directories of hostPath volumes in use, or consumers with rights beyond baseline",
}
_MOST_SHOWN = 3
_ALL_OF_OWNER = 7


@check(
    "D6",
    "consumer-can-write",
    severity=Severity.BLOCKER,
    probe=STORAGE,
)
def consumer_can_write(facts: Facts) -> Outcome:
    """Volumes are writable by their consumers.

    A pod with the consumer's identity creates, changes and deletes a file and a directory: on a new volume of the same
    class, and in the directory of a hostPath volume. Make the consumer's uid the owner of the directory; fsGroup has no
    effect on hostPath volumes, and mode 0777 makes it world-writable.
    """
    evidence = facts.evidence(STORAGE)
    if evidence.failure:
        return interruption(evidence.failure)
    refused = [item for item in evidence.written if item.cause]
    if refused:
        return _refused(refused)
    if unmade := [item for item in evidence.written if item.failure]:
        return _unmade(unmade, facts)
    return _tried(evidence, facts)


def _tried(evidence: StorageEvidence, facts: Facts) -> Outcome:
    """Every probe could write: as whom, and who is left out."""
    left_out = _left_out(evidence)
    if not evidence.written:
        return skipped("NothingToProbe", left_out or "no pod mounts a claim, and there is not one default class.")
    text = _passed(evidence) + (f" Not tried: {left_out}." if left_out else "")
    unknown = _of_unknown_user(evidence)
    if unknown:
        names = few(list(map(str, unknown)), _MOST_SHOWN, ", ")
        text += f" Only their images say as whom these run, and root was tried in their place: {names}."
    objects = _objects(evidence.written)
    if any(item.beyond for item in evidence.skipped):
        todo = "validate namespace by namespace to reach the rest."
        return warned("NotAllProbed", text, objects=objects, todo=todo)
    if untried := _untried(evidence, facts):
        missing = ", ".join(f"{claim.consumer} (owner {claim.owner})" for claim in untried[:_MOST_SHOWN])
        return warned(
            "NotTried",
            f"{text} Not as {missing}, which writes to {untried[0].namespace}/{untried[0].name}.",
            expected="an experiment as each identity that the catalog knows for the release's claims",
            objects=[claim.consumer for claim in untried],
            todo="bring up the workload that is named, so that its pod mounts its claim, and validate again.",
        )
    observed = {
        "written": [str(item.target) for item in evidence.written],
        "identities": _identities(evidence),
        "users_unknown": list(map(str, unknown)),
        "left_out": [f"{item.consumer}: {item.reason}" for item in evidence.skipped],
        "pod_security": _levels(evidence.written),
    }
    return passed(text, objects=objects, observed=observed)


def _identities(evidence: StorageEvidence) -> list[str]:
    return sorted({str(item.target.identity) for item in evidence.written})


def _of_unknown_user(evidence: StorageEvidence) -> list[Ref]:
    """The consumers whose user neither their pod, its kubelet, the catalog nor a roll-out has told."""
    found = (ref for item in evidence.written if item.target.identity.user is None for ref in item.target.consumers)
    return list(dict.fromkeys(found))


def _untried(evidence: StorageEvidence, facts: Facts) -> list[Claim]:
    """The release's claims that belong to an identity as which nothing was tried."""
    tried = {item.target.identity for item in evidence.written}
    claims = (claim for claim in facts.expectations.claims if claim.owner)
    return [claim for claim in claims if not any(_is(identity, claim) for identity in tried)]


def _is(identity: Identity, claim: Claim) -> bool:
    """Whether a consumer is whom the catalog expects for a claim; what it leaves to the image is not compared."""
    wanted = (
        (claim.run_as_user, identity.user),
        (claim.run_as_group, identity.group),
        (claim.fs_group, identity.fs_group),
    )
    return all(expected is None or expected == found for expected, found in wanted)


def _left_out(evidence: StorageEvidence) -> str:
    return few([f"{item.consumer} {item.reason}" for item in evidence.skipped], _MOST_SHOWN, "; ")


def _passed(evidence: StorageEvidence) -> str:
    whose = "the catalog's reference identities, because no pod mounts a claim" if evidence.references else "consumers"
    fresh = [item for item in evidence.written if not item.target.existing]
    return (
        f"{counted(len(evidence.written), 'probe')}, as {whose} ({', '.join(_identities(evidence))}), could do all "
        f"{len(OPERATIONS)} operations: {len(fresh)} on new volumes, {len(evidence.written) - len(fresh)} in "
        "directories in use."
    )


def _refused(refused: Sequence[Written]) -> Outcome:
    first = refused[0]
    more = f" And {len(refused) - _MOST_SHOWN} more." if len(refused) > _MOST_SHOWN else ""
    return failed(
        _REASONS[first.cause],
        " ".join(_sentence(item) for item in refused[:_MOST_SHOWN]) + more,
        expected=f"{', '.join(OPERATIONS)} succeed as the consumer",
        observed={
            "mode": first.mode,
            "uid": first.uid,
            "gid": first.gid,
            "selinux": first.label,
            "listing": first.listing,
            "acted_as": first.acted_as,
            "cause": first.cause,
            "refused": [f"{item.target}: {item.failed_at}: {item.text}" for item in refused],
            "pod_security": _levels(refused),
        },
        objects=_objects(refused),
        todo=" ".join(dict.fromkeys(_todo(item) for item in refused)),
        changes=tuple(dict.fromkeys(command for item in refused for command in _commands(item))),
        evidence={"writing.log": "\n".join(f"{item.target}\n  {item.listing}\n  {item.text}" for item in refused)},
    )


def _sentence(item: Written) -> str:
    target = item.target
    users = f", which {', '.join(map(str, target.consumers))} uses" if target.consumers else ""
    where = (
        f"{target.path} of volume {target.volume} on node {target.node}"
        if target.existing
        else (f"a new volume of class {target.storage_class}")
    )
    owner = f" (mode {item.mode}, owner {item.uid}:{item.gid})" if item.mode else ""
    return f"{target.identity} cannot {item.failed_at} in {where}{users}{owner}: {item.text.strip()}."


def _todo(item: Written) -> str:
    target, owner = item.target, item.target.identity.owner
    if item.cause == "ReadOnly":
        return f"mount what is behind {target} writable; a file system turns read-only after errors on its disk."
    if item.cause == "Full":
        return f"make room on the disk behind {target}."
    if item.cause == "Missing":
        return f"make the directory {target.path} on node {target.node}, owned by {owner}, or restore the volume."
    if target.existing:
        return (
            f"on node {target.node}, give {target.path} to its consumer: owner {owner} (with -R if its files "
            f"have another owner). fsGroup has no effect on hostPath volumes. On hosts of an inventory, "
            f"playbooks/hosts.yml does it with local_path_repair_permissions: true."
        )
    return (
        f"let the provisioner of class {target.storage_class} give new volumes to their consumer (for local-path the "
        f"setup script in ConfigMap local-path-config), chown to {owner} in an init container, or take a CSI class "
        f"that honours fsGroup."
    )


def _commands(item: Written) -> Iterator[str]:
    target = item.target
    if not target.existing:
        return
    if item.cause == "Missing":
        yield f"mkdir -p {target.path}"
    if item.cause in {"Permission", "Missing"}:
        # The owner may be right already and its own bits be missing; or both are wrong.
        right = item.uid is not None and item.uid == target.identity.user
        lacking = bool(item.mode) and int(item.mode[-3]) != _ALL_OF_OWNER
        if not right:
            yield f"chown {target.identity.owner} {target.path}"
        if right or lacking:
            yield f"chmod u+rwx {target.path}"
    if item.label and "container_file_t" not in item.label:
        yield f"semanage fcontext -a -t container_file_t '{target.path}(/.*)?' && restorecon -R {target.path}"


def _unmade(unmade: Sequence[Written], facts: Facts) -> Outcome:
    """The first of which the cause is known speaks for all; D5 and D2 find out why a class makes no volumes."""
    first = next((item for item in unmade if item.failure and not item.failure[1].endswith(NO_EVENT)), unmade[0])
    reason, text = first.failure or ("", "")
    if reason in {"ProbeRefused", "ProbeInterrupted", ALTERED, UNPLACED, UNSEEN}:
        return not_tried((reason, text))
    image = reason in BAD_STARTS
    timed_out = reason == "TimedOut" and not first.target.existing
    name = first.target.storage_class
    provisioner = (facts.get(STORAGE_CLASSES, "", name) or {}).get("provisioner", "")
    sources = {Ref("storage.k8s.io/v1", "StorageClass", "", name), *serving_workloads(facts, provisioner)}
    return errored(
        "ProbeImage" if image else reason,
        f"{len(unmade)} probes could not be made. {first.target}: {text}",
        expected="the probe pod runs to its end",
        observed={str(item.target): (item.failure or ("", ""))[1] for item in unmade},
        objects=_objects(unmade),
        todo="mirror or override the probe's image." if image else "remove what is named, and run again.",
        because=(frozenset(sources),) if timed_out else (),
    )


def _levels(written: Sequence[Written]) -> dict[str, str]:
    return {str(level): _WHY_LEVEL[level] for level in sorted({item.target.level for item in written})}


def _objects(written: Sequence[Written]) -> tuple[Ref, ...]:
    return tuple(dict.fromkeys(ref for item in written for ref in _of(item)))


def _of(item: Written) -> Iterator[Ref]:
    if item.target.existing:
        yield Ref("v1", "PersistentVolume", "", item.target.volume)
    else:
        yield Ref("storage.k8s.io/v1", "StorageClass", "", item.target.storage_class)
    yield from item.target.consumers
