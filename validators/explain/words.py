"""What the programs say of the job themselves, compared with what was computed: their word counts for more.

Rules: the words of a scheduler are taken unchanged from the condition PodScheduled of pods and Unschedulable of a
PodGroup (pkg/scheduler/schedule_one.go of Kubernetes, v1.22 to v1.37; FitErrors of pkg/scheduler/api of Volcano,
v1.8.0 to v1.15.1), and mean what the table of symptoms says. Which plugins of Volcano keep pods off nodes: those with
AddPredicateFn or AddHyperNodeGradientForJobFn in pkg/scheduler/plugins, v1.8.0 to v1.15.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.catalog.symptoms.read import Symptom, recognise
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.explain.creation.refusals import refused
from kubeflow_volcano.validators.explain.model import VOLCANO, Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.filters import refusals
from kubeflow_volcano.validators.explain.placement.nodes import nodes_with_pods
from kubeflow_volcano.validators.explain.placement.pod_sets import wish_of
from kubeflow_volcano.validators.explain.scheduling.volcano import configuration

_OF_NODES = re.compile(r"nodes are (?:un)?available: ?(?P<parts>.*?)\.?$", re.DOTALL | re.IGNORECASE)
_PREEMPTION = re.compile(r"\s*preemption: ")
"""What a kube-scheduler then says of evictions: why those would not help either."""
_NEXT = re.compile(r",\s+(?=\d+ )")
_COUNT = re.compile(r"^\d+ ")
_MOST_CHARACTERS = 600
_SILENT = frozenset({"GangWaits", "Gated"})
"""Symptoms of messages that name no cause of their own."""
REPEATING = frozenset({"FailedScheduling", "PodGroupPending", "Unschedulable"})
"""Reasons of events that repeat the conditions of pods and PodGroups."""

_TOGETHER = frozenset({"GangDoesNotFit", "GangNeverFits", "PodsDoNotFit", "PodsNeverFit"})
_CLAIMS = frozenset({"ClaimMissing", "ClaimLost", "NoDefaultClass", "ClassMissing", "ClaimUnbound", "NoNodeOfTopology"})
_SHARES = frozenset({"OverShare", "GuaranteedToOthers", "ShareHeldByOthers"})
_ADMITTED = frozenset({"MinResourcesTooHigh", "MinResourcesNotFree", "ReservedByOthers"})
_DEVICES = frozenset({"CardsFull", "CardsTooFew", "DevicesNotCounted", "DevicesTooFew", "ClaimCounted"})

_OBSTACLES: Mapping[str, frozenset[str]] = {
    "Affinity": frozenset({"Affinity", "PodAffinity", "PodAntiAffinity", "Selector", "Spread", "SpreadKey"}),
    "CardsFull": frozenset({"Absent", "Insufficient", "Never"}),
    "Cordoned": frozenset({"Cordoned", "NotReady", "Taint"}),
    "HostPorts": frozenset({"HostPort"}),
    "Insufficient": frozenset({"Absent", "Insufficient", "Never"}),
    "NodePressure": frozenset({"NotReady", "Taint"}),
    "Taints": frozenset({"Cordoned", "NotReady", "Taint"}),
    "UnboundClaim": frozenset({"UnboundClaim", "Volume"}),
    "VolumeElsewhere": frozenset({"Volume"}),
}
"""By reason of a symptom, the reasons for which nodes are computed to refuse a pod that mean the same."""
_CAUSES: Mapping[str, frozenset[str]] = {
    "Affinity": _TOGETHER,
    "CardsFull": _DEVICES,
    "ClusterOverused": _ADMITTED | _SHARES | _TOGETHER,
    "HostPorts": _TOGETHER,
    "Insufficient": _TOGETHER | _DEVICES,
    "QueueFull": _SHARES | _ADMITTED,
    "UnboundClaim": _CLAIMS | _TOGETHER,
}
"""By reason of a symptom, the reasons of findings that mean the same."""

_LIMITS: Mapping[str, str] = {
    "deviceshare": "parts of devices",
    "extender": "what its own service answers",
    "network-topology-aware": "the tiers of the network",
    "nodegroup": "the groups of nodes of queues",
    "numa-aware": "the NUMA nodes",
    "resource-strategy-fit": "what it keeps free of rare resources",
    "tdm": "the hours of revocable nodes",
    "usage": "the load of nodes",
}
"""Plugins of Volcano that keep pods off nodes by rules that are not computed, with what each looks at."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What one scheduler says in the same words of `refs`; `pod` is one of them, where they are pods."""

    message: str
    refs: tuple[Ref, ...]
    pod: Object | None


def outranking(situation: Situation, computed: Sequence[Finding]) -> tuple[Finding, ...]:
    """What a scheduler names and nothing computed accounts for, to stand before what was computed.

    `computed` are findings about the place of the pods. Where none of them blocks, whatever the scheduler names counts.
    """
    blocking = [item for item in computed if item.blocks]
    return tuple(item for said in _said(situation) if (item := _unaccounted(said, blocking, situation)))


def last_warning(situation: Situation) -> tuple[str, ...]:
    """The last warning of a controller or kubelet about what still waits, with its meaning; it may be of the past.

    Refusals of pods that exist by now are left out.
    """
    about = {situation.job.ref, situation.group_ref, *map(Ref.of, situation.unplaced)}
    names = {(ref.kind, ref.name) for ref in about if ref}
    past = {*refused(situation), *(item for item in situation.events if item.reason in REPEATING)}
    told = [item for item in situation.events if item not in past and (item.ref.kind, item.ref.name) in names]
    if not told:
        return ()
    event = told[-1]
    places = (recognise(event.message, place) for place in ("event", "condition", "admission"))
    known = next((found for found in places if found), None)
    words = f'{event.ref}: {event.source or "a controller"} said "{_shortened(event.message)}", last at {event.last}'
    return (f"{words}. If that still holds: {known.cause}; {known.todo}" if known else words,)


def not_computed(situation: Situation) -> tuple[str, ...]:
    """What decides about the nodes of these pods and is not computed here, in words."""
    if all(name != VOLCANO for name in _schedulers(situation)):
        return ()
    chosen = configuration(situation.facts)
    own = [f"{name} ({_LIMITS[name]})" for name in (chosen.plugins if chosen else ()) if name in _LIMITS]
    custom = sorted({*chosen.custom} & {*chosen.plugins}) if chosen else []
    return (*own, *(f"{name} (a plugin of a vendor)" for name in custom))


def room(situation: Situation, what: str) -> str:
    """That `what` has room for the gang, as far as that is computed."""
    left = not_computed(situation)
    if situation.facts.unread:
        return "no cause in what could be read"
    rest = f", as far as it is computed here, which {few(left)} is not" if left else ""
    return f"{what} have room for {situation.minimum} pod{'' if situation.minimum == 1 else 's'}{rest}"


def _schedulers(situation: Situation) -> set[str]:
    names = {str(pod["spec"].get("schedulerName") or "") for pod in situation.unplaced}
    return names if situation.unplaced or not situation.group else {VOLCANO}


def _said(situation: Situation) -> Iterator[_Said]:
    """Each message once, those about pods first: they are about nodes."""
    about: dict[str, list[Object]] = {}
    for pod in situation.unplaced:
        condition = conditions(pod).get("PodScheduled", {})
        message = str(condition.get("message") or "")
        if message and condition.get("status") == "False" and not pod["spec"].get("schedulingGates"):
            about.setdefault(message, []).append(pod)
    for message, pods in about.items():
        yield _Said(message, tuple(map(Ref.of, pods)), pods[0])
    if situation.group and situation.unscheduled > 0 and situation.phase not in {"Running", "Completed"}:
        condition = conditions(situation.group).get("Unschedulable", {})
        message = str(condition.get("message") or "")
        if message and condition.get("status") != "False" and message not in about:
            yield _Said(message, (Ref.of(situation.group),), None)


def _parts(message: str) -> tuple[str, ...]:
    """What keeps the pod off nodes, as the message counts it; the whole message where it does not count nodes."""
    found = _OF_NODES.search(_PREEMPTION.split(message)[0])
    parts = _NEXT.split(found["parts"]) if found else ()
    return tuple(dict.fromkeys(part.strip(" .") for part in parts if part.strip(" ."))) or (message,)


def _unaccounted(said: _Said, blocking: Sequence[Finding], situation: Situation) -> Finding | None:
    parts = [(part, recognise(part, "scheduler")) for part in _parts(said.message)]
    parts = [(part, known) for part, known in parts if known is None or known.reason not in _SILENT]
    if not blocking:
        left = parts
    else:
        own = _own_refusals(said.pod, situation)
        # A message in words of its own, of which no part is about nodes, may mean what was computed.
        left = [
            (part, known)
            for part, known in parts
            if not _is_accounted(known, part, own, blocking) and (known or _COUNT.match(part))
        ]
    known = next((item for _, item in left if item), None)
    if not left or (known and known.reason == "TooFewPods" and situation.missing <= 0):
        return None
    computed = ", ".join(dict.fromkeys(item.reason for item in blocking))
    return _finding(
        f'{few([str(ref) for ref in said.refs], 3)}: the scheduler says "{_shortened(said.message)}"',
        f"computed: {computed or room(situation, 'queue, nodes and claims')}",
        known,
        said.refs,
        situation,
    )


def _is_accounted(known: Symptom | None, part: str, own: frozenset[str], blocking: Sequence[Finding]) -> bool:
    """Whether what was computed says the same, or quotes it."""
    if any(part in text for item in blocking for text in (item.problem.found, *item.details)):
        return True
    reason = known.reason if known else ""
    return bool(own & _OBSTACLES.get(reason, frozenset())) or any(
        item.reason == reason or item.reason in _CAUSES.get(reason, ()) for item in blocking
    )


def _own_refusals(pod: Object | None, situation: Situation) -> frozenset[str]:
    """The reasons for which nodes are computed to refuse this pod, or any of the job where it is about the gang."""
    nodes = nodes_with_pods(situation.facts)
    pods = [pod] if pod else situation.unplaced[:1]
    wishes = [wish_of(item, situation) for item in pods]
    return frozenset(item.reason for wish in wishes for node in nodes for item in refusals(wish, node, nodes))


def _finding(words: str, computed: str, known: Symptom | None, refs: Sequence[Ref], situation: Situation) -> Finding:
    place = situation.facts.expectations.scheduler
    log = f"kubectl -n {place.namespace} logs deployment/{place.name} --tail 100"
    return finding(
        known.reason if known else "SaysOtherwise",
        f"{words}.{f' Cause: {known.cause}.' if known else ''} {computed[0].upper()}{computed[1:]}.",
        needed="what the message names: the program that decides has more to go by than what is computed here.",
        todo=known.todo if known else "do what the message says; the log of the program that wrote it has more.",
        objects=refs,
        commands=known.looks[0] if known else [log] if VOLCANO in _schedulers(situation) else [],
    )


def _shortened(message: str) -> str:
    text = " ".join(message.split()).rstrip(".")
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} …"
