"""Family D, classes: is there one default StorageClass, and does a claim get a volume from it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import replace

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.cluster.objects import Ref
from kubeflow_volcano.experiment.ended import ALTERED, BAD_STARTS, UNPLACED, UNSEEN
from kubeflow_volcano.validators.checks.refusals import not_tried
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, failed, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import STORAGE_CLASSES
from kubeflow_volcano.validators.core.rights import Rule
from kubeflow_volcano.validators.probes.storage.claims import STARTING
from kubeflow_volcano.validators.probes.storage.directories import OTHER_NODES, Unlisted
from kubeflow_volcano.validators.probes.storage.roundtrip import RoundTrip, Stage
from kubeflow_volcano.validators.probes.storage.storage import STORAGE
from kubeflow_volcano.validators.subjects import workloads
from kubeflow_volcano.validators.subjects.issues import Issue, verdict
from kubeflow_volcano.validators.subjects.storage_classes import (
    MARKS,
    STATIC,
    default_classes,
    effective_class,
    serving_workloads,
)


def _is_static(name: str, facts: Facts) -> bool:
    return (facts.get(STORAGE_CLASSES, "", name) or {}).get("provisioner") == STATIC


def _class(name: str) -> Ref:
    return Ref("storage.k8s.io/v1", "StorageClass", "", name)


@check("D1", "default-class", severity=Severity.BLOCKER, reads=(STORAGE_CLASSES,))
def default_class(facts: Facts) -> Outcome:
    """Exactly one StorageClass is the default.

    Without a default, a claim that names no class stays pending. With several, servers before 1.26 reject it, which
    fails; later ones use the newest, which is a warning that names it, and D2, D3 and D5 judge that one. Mark the class
    you want and unmark the others.
    """
    defaults, every = default_classes(facts), facts.all(STORAGE_CLASSES)
    names = [item["metadata"]["name"] for item in every]
    mark = MARKS[0]
    observed = {"default": list(defaults), "classes": names}
    if not defaults:
        best = min(names, key=lambda name: (_is_static(name, facts), name), default="")
        return failed(
            "NoDefault",
            f"none of {len(names)} StorageClasses is the default: {', '.join(names) or 'there are none'}.",
            expected="exactly one default class",
            observed=observed,
            objects=[_class(name) for name in names],
            todo=f"mark the class that claims without a class shall get; the command marks {best}."
            if best
            else "install a provisioner.",
            changes=[f"kubectl annotate storageclass {best} {mark}=true --overwrite"] if best else (),
        )
    if len(defaults) > 1:
        works = bool(effective_class(facts))
        effect = f"{defaults[0]} wins, as the newest" if works else "this server refuses claims that name no class"
        make = warned if works else failed
        return make(
            "SeveralDefaults",
            f"{len(defaults)} StorageClasses are the default: {', '.join(defaults)}; {effect}.",
            expected="exactly one default class",
            observed=observed | {"winner": defaults[0]},
            objects=[_class(name) for name in defaults],
            todo="unmark all but the one you want; the commands keep the winner.",
            changes=[
                f"kubectl annotate storageclass {name} {' '.join(f'{mark}=false' for mark in MARKS)} --overwrite"
                for name in defaults[1:]
            ],
        )
    return passed(f"{defaults[0]} is the only default class.", objects=[_class(defaults[0])], observed=observed)


@check(
    "D2", "provisioner-alive", severity=Severity.BLOCKER, requires=("D1",), reads=(STORAGE_CLASSES, *workloads.READS)
)
def provisioner_alive(facts: Facts) -> Outcome:
    """The provisioner of the default StorageClass is available.

    Its workload must meet C2 to C4; scaled to zero counts as unavailable. Scale it up; otherwise the checks of its pods
    name the cause.
    """
    names = default_classes(facts)
    if not names:
        return skipped("NoDefault", "there is no default class.")
    live = facts.get(STORAGE_CLASSES, "", names[0]) or {}
    provisioner = live["provisioner"]
    if provisioner == STATIC:
        text = f"class {names[0]} needs no provisioner: its volumes are made in advance."
        return passed(text, objects=(_class(names[0]),), observed={"provisioner": provisioner})
    serving = serving_workloads(facts, provisioner)
    if not serving:
        return warned(
            "UnknownProvisioner",
            f"no workload names the provisioner {provisioner} of class {names[0]}; only D5 shows whether it runs.",
            expected="a Deployment, DaemonSet or StatefulSet that serves the class",
            observed={"provisioner": provisioner},
            objects=(_class(names[0]),),
            todo="see that its driver is installed, unless it runs outside the cluster.",
        )
    issue = [
        replace(
            item,
            check="D2",
            # Volumes of the release come from it, whoever installed it.
            status=item.gravity or item.status,
            because=() if item.because == ("D2",) else item.because or (item.check,),
        )
        for item in workloads.issues(facts)
        if item.ref in serving
    ]
    issue += _turned_off(serving, facts)
    claim = f"{', '.join(map(str, serving))} serves class {names[0]}."
    return verdict(issue, serving, claim=claim, expected="every workload of the provisioner available")


def _turned_off(serving: Iterable[Ref], facts: Facts) -> list[Issue]:
    """Controllers that others installed, where all of them are scaled to zero: then only the node plugins run."""
    off = [ref for ref in serving if ref.kind != "DaemonSet" and ref not in facts.expectations.workloads]
    live = [facts.get(workloads.RESOURCE_OF_KIND[ref.kind], ref.namespace, ref.name) or {} for ref in off]
    if any(item.get("spec", {}).get("replicas", 1) for item in live):
        return []
    return [
        Issue(
            "D2",
            Status.FAIL,
            ref,
            "ScaledToZero",
            f"{ref} is scaled to 0 replicas.",
            "scale it up.",
            changes=(f"kubectl -n {ref.namespace} scale {ref.kind.lower()}/{ref.name} --replicas=1",),
        )
        for ref in off
    ]


@check(
    "D5",
    "round-trip",
    severity=Severity.BLOCKER,
    requires=("D1", "D2"),
    needs=(Rule("get", "", "configmaps", "local-path-storage"),),
    probe=STORAGE,
)
def round_trip(facts: Facts) -> Outcome:
    """The default StorageClass provisions a volume, keeps its data across pods, and deletes it with the claim.

    A claim is bound, one pod writes 1 MiB, another reads the same bytes, and the volume is deleted with the claim. The
    finding names the stage that failed, with the message of the kubelet or the provisioner, and the last line of the
    log of a pod in which the provisioner failed. A node that the local path provisioner's configuration lacks is named,
    with the command that adds it.
    """
    evidence = facts.evidence(STORAGE)
    if evidence.failure or evidence.round_trip_failure:
        return not_tried(evidence.round_trip_failure or ("ProbeInterrupted", evidence.failure))
    trip = evidence.round_trip
    if trip is None:
        return skipped("NoDefault", "there is not one default class.")
    if trip.unsafe:
        return skipped("NotSafe", f"not tried: {trip.unsafe}.")
    objects = [_class(trip.storage_class)]
    observed: dict[str, object] = {stage.name: f"{stage.seconds:.1f} s" for stage in trip.stages}
    broken = next((stage for stage in trip.stages if not stage.done), None)
    if broken:
        return _broken(trip, broken, objects, observed)
    note = ", ".join(f"{stage.name} {stage.seconds:.1f} s" for stage in trip.stages)
    text = f"1 MiB through class {trip.storage_class} on node {trip.node}: {note}."
    return passed(text, objects=objects, observed=observed)


def _broken(trip: RoundTrip, stage: Stage, objects: list[Ref], observed: dict[str, object]) -> Outcome:
    text = f"class {trip.storage_class} fails at stage {stage.name} after {stage.seconds:.1f} s: {stage.text}"
    if stage.reason in {ALTERED, UNPLACED, UNSEEN} or stage.reason in BAD_STARTS:
        return not_tried((stage.reason, stage.text))
    if trip.unlisted:
        return _no_path(trip.unlisted, text, objects, observed | {stage.name: stage.text})
    seen = (recognise(part, place) for part in stage.text.split("; ") for place in STARTING)
    known = next(filter(None, seen), None)
    todo = (
        "see D6 for who may write to volumes."
        if stage.reason == "ScriptFailed"
        else known.todo
        if known
        else "see the provisioner's log, and D8 for the directories of volumes."
    )
    return failed(
        {"ScriptFailed": "NotWritable"}.get(stage.reason, stage.reason),
        text,
        expected="bound, written, read and removed",
        observed=observed | {stage.name: stage.text},
        objects=objects,
        todo=todo,
    )


def _no_path(unlisted: Unlisted, text: str, objects: list[Ref], observed: dict[str, object]) -> Outcome:
    ref = unlisted.config
    body = shlex.quote(json.dumps({"data": {"config.json": unlisted.wanted}}))
    patch = f"kubectl -n {ref.namespace} patch configmap {ref.name} --type=merge -p {body}"
    return failed(
        "NodeNotListed",
        text,
        expected=f"a path for node {unlisted.node} in nodePathMap of {ref}, or one for {OTHER_NODES}",
        observed=observed,
        objects=[*objects, ref],
        todo=f"add node {unlisted.node} to nodePathMap of {ref}; the provisioner reads it again within two minutes.",
        commands=(f"kubectl -n {ref.namespace} get configmap {ref.name} -o yaml",),
        changes=(patch,) if unlisted.wanted else (),
    )
