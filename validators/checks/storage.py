"""Family D: does a claim get a volume, and may its consumer write to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Object, Ref
from validators import pods, workloads
from validators.base_verdict import base_verdict
from validators.checks.gang import NEEDS_PROBE
from validators.facts import Facts
from validators.model import Outcome, Rule, Severity, Status, check, errored, failed, passed, skipped, warned
from validators.probes.ended import BAD_STARTS
from validators.probes.roundtrip import RoundTrip, Stage
from validators.probes.storage import StorageEvidence
from validators.refusals import interruption, refusal
from validators.storage_classes import STATIC, default_classes, serving_workloads
from validators.troubles import GRACE_SECONDS, Trouble, age, judged, verdict
from validators.writing_verdict import writing_verdict

__all__ = ["CHECKS"]

_CLASSES = "storageclasses.storage.k8s.io"
_CLASS_READS = (Rule("list", "storage.k8s.io", "storageclasses"),)
_CLAIM_READS = (
    *_CLASS_READS,
    Rule("list", "", "persistentvolumeclaims"),
    Rule("list", "", "persistentvolumes"),
    Rule("list", "", "pods"),
)
_PROBES = (
    *NEEDS_PROBE,
    *(Rule(verb, "", "persistentvolumeclaims") for verb in ("create", "delete", "get", "watch")),
    *(Rule(verb, "", "persistentvolumes") for verb in ("get", "watch", "patch")),
    *(Rule(verb, "", "events") for verb in ("list", "watch")),
)
_PATHS = Rule("get", "", "configmaps", "local-path-storage")
_SELECTED_NODE = "volume.kubernetes.io/selected-node"


def _class(name: str) -> Ref:
    return Ref("storage.k8s.io/v1", "StorageClass", "", name)


@check("D1", "default-class", severity=Severity.BLOCKER, needs=_CLASS_READS)
def default_class(facts: Facts) -> Outcome:
    """Exactly one StorageClass is the default.

    A claim that names no class waits for ever without a default. With two, servers before 1.26 refuse it and later
    ones take the newest, which is an accident. Mark the class you want and unmark the others.
    """
    found, every = default_classes(facts), facts.all(_CLASSES)
    names = [item["metadata"]["name"] for item in every]
    mark = "storageclass.kubernetes.io/is-default-class"
    observed = {"default": list(found), "classes": names}
    if not found:
        return failed(
            "NoDefault",
            f"none of {len(names)} StorageClasses is the default: {', '.join(names) or 'there are none'}.",
            expected="exactly one default class",
            observed=observed,
            objects=[_class(name) for name in names],
            todo="mark the class that claims without a class shall get." if names else "install a provisioner.",
            commands=[f"kubectl annotate storageclass {name} {mark}=true --overwrite" for name in names],
        )
    if len(found) > 1:
        return failed(
            "SeveralDefaults",
            f"{len(found)} StorageClasses are the default: {', '.join(found)}. Servers before 1.26 refuse claims that "
            f"name no class; from 1.26 on {found[0]} wins, as the newest.",
            expected="exactly one default class",
            observed=observed | {"winner": found[0]},
            objects=[_class(name) for name in found],
            todo="unmark all but the one you want; the commands keep the winner.",
            commands=[f"kubectl annotate storageclass {name} {mark}=false --overwrite" for name in found[1:]],
        )
    return passed(f"{found[0]} is the only default class.", objects=[_class(found[0])], observed=observed)


@check("D2", "provisioner-alive", severity=Severity.BLOCKER, requires=("D1",), needs=(*_CLASS_READS, *workloads.READS))
def provisioner_alive(facts: Facts) -> Outcome:
    """The provisioner of the default class is up.

    Its workload must be available as C2 to C4 ask; scaled to zero is not up. Scale it up; for the rest its pods' own
    checks name the cause.
    """
    names = default_classes(facts)
    if not names:
        return skipped("NoDefault", "there is no default class.")
    found = facts.get(_CLASSES, "", names[0]) or {}
    provisioner = found["provisioner"]
    if provisioner == STATIC:
        text = f"class {names[0]} needs no provisioner: its volumes are made in advance."
        return passed(text, objects=(_class(names[0]),), observed={"provisioner": provisioner})
    serving = serving_workloads(facts, provisioner)
    if not serving:
        return warned(
            "UnknownProvisioner",
            f"no workload names the provisioner {provisioner} of class {names[0]}; only D5 can say whether it lives.",
            expected="a Deployment, DaemonSet or StatefulSet that serves the class",
            observed={"provisioner": provisioner},
            objects=(_class(names[0]),),
            todo="see that its driver is installed, unless it lives outside of the cluster.",
        )
    trouble = [
        replace(item, check="D2", because=() if item.because == ("D2",) else item.because or (item.check,))
        for item in workloads.troubled(facts)
        if item.ref in serving
    ]
    claim = f"{', '.join(map(str, serving))} serves class {names[0]}."
    return verdict(trouble, serving, claim=claim, expected="every workload of the provisioner available")


@check("D3", "claims-bound", severity=Severity.MAJOR, requires=("D2",), needs=_CLAIM_READS)
def claims_bound(facts: Facts) -> Outcome:
    """Every claim is bound to a volume that is bound to it.

    A claim of a class that waits for its first consumer may wait as long as no pod wants it. Otherwise see the
    provisioner (D2) and the claim's events.
    """
    claims = [item for item in judged(facts, "persistentvolumeclaims") if "deletionTimestamp" not in item["metadata"]]
    found = [trouble for item in claims if (trouble := _claim(item, facts))]
    refs = [Ref.of(item) for item in claims]
    return verdict(found, refs, claim=f"{len(refs)} of {len(refs)} claims are bound.", expected="phase Bound")


def _claim(item: Object, facts: Facts) -> Trouble | None:
    ref, phase = Ref.of(item), item.get("status", {}).get("phase", "Pending")
    if phase == "Bound":
        return _bound_back(item, ref, facts)
    if phase == "Lost":
        text = f"{ref} has lost its volume {item['spec'].get('volumeName', '')}."
        return Trouble("D3", Status.FAIL, ref, "Lost", text, "restore the volume, or make the claim anew.")
    name = item["spec"].get("storageClassName") or ""
    storage_class = facts.get(_CLASSES, "", name) if name else None
    users = [pod for pod in judged(facts, "pods") if _mounts(pod, ref)]
    if storage_class and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer":
        return _waits_for_consumer(item, ref, users)
    if age(item, facts) <= GRACE_SECONDS:
        return None
    text = (
        f"{ref} is {phase} for {age(item, facts):.0f} s, class {name or 'none'}{'' if storage_class else ' (missing)'}."
    )
    return Trouble("D3", Status.FAIL, ref, "NotBound", text, "see the claim's events.")


def _waits_for_consumer(item: Object, ref: Ref, users: Iterable[Object]) -> Trouble | None:
    placed = (item["metadata"].get("annotations") or {}).get(_SELECTED_NODE)
    waiting = [pod["metadata"]["name"] for pod in users if not pods.waits_for_gang(pod)]
    if not waiting:
        text = f"{ref} waits for its first consumer, and no pod wants it."
        return Trouble("D3", Status.WARN, ref, "Unused", text, "remove the claim when nothing is to use it.")
    where = f"node {placed} is chosen" if placed else "no node is chosen"
    text = f"{ref} is not bound although pod {waiting[0]} waits for it; {where}."
    # Without a node the scheduler is at work, and the pod's own check has its reasons.
    because = () if placed else ("C8",)
    return Trouble("D3", Status.FAIL, ref, "NotBound", text, "see the claim's events.", because)


def _bound_back(item: Object, ref: Ref, facts: Facts) -> Trouble | None:
    name = item["spec"].get("volumeName", "")
    volume = facts.get("persistentvolumes", "", name)
    if volume and (volume["spec"].get("claimRef") or {}).get("uid") == item["metadata"]["uid"]:
        return None
    text = f"{ref} says that it is bound to volume {name}, which {'is bound to another' if volume else 'is missing'}."
    return Trouble("D3", Status.FAIL, ref, "NotBoundBack", text, "restore the volume, or make the claim anew.")


def _mounts(pod: Object, claim: Ref) -> bool:
    if pod["metadata"]["namespace"] != claim.namespace or pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return False
    sources = (item.get("persistentVolumeClaim") or {} for item in pod["spec"].get("volumes") or ())
    return any(source.get("claimName") == claim.name for source in sources)


@check(
    "D5",
    "round-trip",
    severity=Severity.BLOCKER,
    requires=("D1", "D2"),
    needs=(*_CLAIM_READS, *_PROBES),
    probe="storage",
)
def round_trip(facts: Facts) -> Outcome:
    """The default class provisions, keeps what was written, and gives back.

    A claim is bound, one pod writes 1 MiB, another reads the same bytes, and the volume goes with the claim. The
    stage that does not come out is named with what the kubelet or the provisioner said.
    """
    evidence: StorageEvidence = facts.probe("storage")
    if evidence.trouble or evidence.turn_trouble:
        reason, text = evidence.turn_trouble or ("ProbeInterrupted", evidence.trouble)
        return refusal(text) if reason == "ProbeRefused" else interruption(text)
    turn = evidence.turn
    if turn is None:
        return skipped("NoDefault", "there is not one default class.")
    if turn.unsafe:
        return skipped("NotSafe", f"not tried: {turn.unsafe}.")
    objects = [_class(turn.storage_class)]
    observed: dict[str, object] = {stage.name: f"{stage.seconds:.1f} s" for stage in turn.stages}
    broken = next((stage for stage in turn.stages if not stage.done), None)
    if broken:
        return _broken(turn, broken, objects, observed)
    told = ", ".join(f"{stage.name} {stage.seconds:.1f} s" for stage in turn.stages)
    text = f"1 MiB through class {turn.storage_class} on node {turn.node}: {told}."
    return passed(text, objects=objects, observed=observed)


def _broken(turn: RoundTrip, stage: Stage, objects: list[Ref], observed: dict[str, object]) -> Outcome:
    text = f"class {turn.storage_class} fails at stage {stage.name} after {stage.seconds:.1f} s: {stage.text}"
    if stage.reason in BAD_STARTS:
        return errored("ProbeImage", f"the probe pod cannot start: {stage.text}", todo="mirror or override its image.")
    todo = "see the provisioner's log." if stage.reason != "ScriptFailed" else "see D6 for who may write to volumes."
    return failed(
        {"ScriptFailed": "NotWritable"}.get(stage.reason, stage.reason),
        text,
        expected="bound and written within 60 s, read within 45 s, removed within 60 s",
        observed=observed | {stage.name: stage.text},
        objects=objects,
        todo=todo,
    )


@check(
    "D6",
    "consumer-can-write",
    severity=Severity.BLOCKER,
    needs=(*_CLAIM_READS, *_PROBES, Rule("list", "", "nodes")),
    probe="storage",
)
def consumer_can_write(facts: Facts) -> Outcome:
    """Volumes are writable by their consumers.

    A pod with the consumer's own identity creates, changes and removes a file and a directory: on a new volume of
    the same class, and in the very directory of a hostPath volume. Give the directory to the consumer's uid; fsGroup
    has no effect on hostPath volumes, and a mode of 0777 gives it to everybody.
    """
    return writing_verdict(facts.probe("storage"))


@check(
    "D8",
    "node-directories",
    severity=Severity.MAJOR,
    needs=(*_CLAIM_READS, *_PROBES, Rule("list", "", "nodes"), _PATHS),
    probe="storage",
)
def node_directories(facts: Facts) -> Outcome:
    """The directories of volumes on nodes are fit for them, and not open to everybody.

    A pod on each node looks at the directory: writable, with room, labelled for containers where SELinux is on, and
    not mode 0777, which lets everybody on the node change what databases wrote. `playbooks/hosts.yml` sets it right.
    """
    return base_verdict(facts.probe("storage"), facts)


CHECKS = (default_class, provisioner_alive, claims_bound, round_trip, consumer_can_write, node_directories)
