"""Are there devices for the claims of a gang's pods: at most how many, on one node and in all, against what they need.

Rules: those of dynamic_resources.py, and structured of k8s.io/dynamic-resource-allocation, Kubernetes 1.32 to 1.37: all
devices of a pod are on its node or reached from there. Expressions of classes and requests are not evaluated, so the
counts here are upper bounds: fewer than needed is certain, enough is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.explain.model import Finding, Situation, finding
from kubeflow_volcano.validators.explain.placement.device_claims import (
    names_claims,
    said_of_claims,
    spec_to_allocate,
    to_place,
)
from kubeflow_volcano.validators.explain.placement.dynamic_resources import (
    API,
    Device,
    Slices,
    allocated,
    by_choice,
    class_of,
    classes_of,
    device_class,
    entries,
    is_allocated,
    number_of,
    ref_of,
    requests,
    slices,
    taken,
)
from kubeflow_volcano.validators.explain.placement.pod_sets import pod_sets
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES

_COLUMNS = "NODE:.spec.nodeName,DRIVER:.spec.driver,DEVICES:.spec.devices[*].name"
_COMMANDS = (f"kubectl get resourceslices -o custom-columns={_COLUMNS}", "kubectl get resourceclaims -A")
_MOST_CLAIMS = 5
_BEING_ALLOCATED = "is in the process of being allocated"
"""PreFilter of dynamicresources, of a claim that the same session has promised to another pod; seen with 1.15.1."""
_OTHER = "request devices of another class"
_NOT_KNOWN = "CEL expressions are not evaluated, so how many devices match is not known here"


@dataclass(frozen=True, slots=True)
class _Need:
    """Devices of one class: so many for a pod, and so many for all pods that need some to start together."""

    name: str
    each: int
    whole: int


def device_room(situation: Situation) -> Iterator[Finding]:
    """Classes without enough devices; where there may be enough, the pending claims with the scheduler's own word."""
    if not names_claims(situation):
        return
    facts, space = situation.facts, situation.job.ref.namespace
    found = (spec_to_allocate(item, space, facts) for pod in to_place(situation) for item in entries(pod))
    pending = [spec for spec in found if spec]
    names = dict.fromkeys(name for spec in pending for name in classes_of(spec))
    if not facts.read(API) or not pending or any(facts.get(CLASSES, "", name) is None for name in names):
        return
    every, needs = slices(facts), [*_needs(situation)]
    short = [each for need in needs if (each := _too_few(need, every, pending, situation))]
    yield from short
    if not short:
        yield _pending(situation, pending, needs)


def _needs(situation: Situation) -> Iterator[_Need]:
    """By class, of requests with one alternative and a fixed number: at least so many.

    Of more pods than the gang needs, those with the smallest numbers count. A claim that pods share counts for each of
    them alone.
    """
    sets = pod_sets(situation)
    known = [item for item in sets if item.example]
    here = [pod for pod in situation.unplaced if not pod["spec"].get("schedulingGates")]
    pods = [_of_pod(pod, situation) for pod in here]
    pods += [_of_pod(item.wish.pod, situation) for item in sets if not item.example for _ in range(item.count)]
    alike = [_of_pod(item.wish.pod | {"status": {}}, situation) for item in known]
    more = sum(item.count for item in known) - len(here)  # of one of these sets, as they are still to be created
    for name in sorted({name for each in (*pods, *alike) for name in each.all}):
        each, own = (
            sorted([*numbers, *[min(others, default=0)] * more])[: max(situation.unscheduled, 0)]
            for numbers, others in (
                ([item.all[name] for item in pods], [item.all[name] for item in alike]),
                ([item.own[name] for item in pods], [item.own[name] for item in alike]),
            )
        )
        if each and each[-1]:
            yield _Need(name, each[-1], max(sum(own), each[-1]))


@dataclass(frozen=True, slots=True)
class _OfPod:
    """Numbers by class: of all claims of a pod that need devices, and of those that no other pod has."""

    all: Counter[str]
    own: Counter[str]


def _of_pod(pod: Object, situation: Situation) -> _OfPod:
    found = _OfPod(Counter(), Counter())
    for item in entries(pod):
        if spec := spec_to_allocate(item, situation.job.ref.namespace, situation.facts):
            found.all.update(_numbers(spec))
            if item.template:
                found.own.update(_numbers(spec))
    return found


def _numbers(spec: Object) -> Counter[str]:
    numbers: Counter[str] = Counter()
    for alternatives in requests(spec):
        number = number_of(alternatives[0]) if len(alternatives) == 1 else None
        if number:
            numbers[class_of(alternatives[0])] += number
    return numbers


def _too_few(need: _Need, every: Slices, pending: Sequence[Object], situation: Situation) -> Finding | None:
    """That the class has too few devices for a pod or for all of them, or none that is free."""
    facts = situation.facts
    known = device_class(facts.get(CLASSES, "", need.name) or {})
    may = [device for device in every.nodes if known.has(device)]
    ref = ref_of("DeviceClass", "", need.name, facts)
    of = f" of driver {known.driver}" if known.driver else ""
    if not may:
        drivers = sorted({driver for driver, _, _ in every.nodes})
        return _finding(
            "NoDeviceOfClass",
            (
                f"the pods' claims request {need.each} of {ref}, and no ResourceSlice has a device{of}; there are "
                + (f"devices of {few(drivers)}" if drivers else "no devices at all"),
                "a driver that publishes its devices in ResourceSlices.",
                f"install the driver on the nodes that have them, and see whether its pods there run; or {_OTHER}.",
            ),
            ref,
            situation,
            (),
        )
    if every.shared.intersection(may):  # of which claims have parts, as many as fit
        return None
    most, where = _most(may, every, facts)
    if need.each > most:
        return _finding(
            "DevicesTooFew",
            (
                f"a pod's claims request {need.each} of {ref}, and no node has as many devices{of}: at most {most}",
                f"a node that reaches {need.each} of them.",
                f"request at most {most} for a pod, or add a node with more devices.",
            ),
            ref,
            situation,
            _shown(where),
        )
    held = taken(facts)
    free = [device for device in may if device not in held]
    most, where = _most(free, every, facts)
    if need.each > most or need.whole > len(free):
        all_pods = need.each <= most
        never = all_pods and need.whole > len(may)
        asked = f"the pods' claims request {need.whole}" if all_pods else f"a pod's claims request {need.each}"
        left = f"{len(free)} of {len(may)} are free" if all_pods else f"no node has more than {most} that are free"
        own = [spec for spec in pending if need.name in classes_of(spec)]
        chosen = any(by_choice(spec, lambda name: facts.get(CLASSES, "", name)) for spec in own)
        unknown = f", and that match its CEL expressions: {_NOT_KNOWN}" if chosen else ""
        wait = "" if never else "wait until the pods that have them end; or "
        never_matching = "; where no device matches at all, waiting does not help" if chosen else ""
        return _finding(
            "DevicesTooFew" if never else "DevicesInUse",
            (
                f"{asked} of {ref}; of the devices{of} {left}",
                f"{counted(need.whole if all_pods else need.each, 'free device')} of the class{unknown}.",
                f"{wait}add devices, or request fewer{never_matching}.",
            ),
            ref,
            situation,
            (*_shown(where), *_holders(may, facts)),
        )
    return None


def _finding(reason: str, texts: tuple[str, str, str], ref: Ref, about: Situation, details: Sequence[str]) -> Finding:
    """A finding about a class from what was found, what is needed and what to do, with the scheduler's words."""
    found, needed, todo = texts
    said = [f"the scheduler says: {text}" for text in said_of_claims(about.unplaced)]
    lines = [*details, *said]
    return finding(reason, f"{found}.", needed=needed, todo=todo, objects=[ref], commands=_COMMANDS, details=lines)


def _most(devices: Sequence[Device], every: Slices, facts: Facts) -> tuple[int, Mapping[str, int]]:
    """The most of these devices that one node can reach, and how many each has that has some of its own."""
    own = Counter(every.nodes[device] for device in devices)
    anywhere = own.pop("", 0)
    own = Counter({name: number for name, number in own.items() if facts.get("nodes", "", name)})
    return anywhere + max(own.values(), default=0), own


def _shown(where: Mapping[str, int]) -> tuple[str, ...]:
    return (few([f"{name}: {number}" for name, number in sorted(where.items())]),) if where else ()


def _holders(devices: Sequence[Device], facts: Facts) -> Iterator[str]:
    """The claims that have some of these devices, with the pods that they are reserved for."""
    chosen = frozenset(devices)
    lines = [
        f"{Ref.of(claim)} has {number}{_reserved(claim)}"
        for claim in facts.all(CLAIMS)
        if (number := len(chosen.intersection(allocated(claim))))
    ]
    yield from lines[:_MOST_CLAIMS]
    if len(lines) > _MOST_CLAIMS:
        yield f"and {counted(len(lines) - _MOST_CLAIMS, 'more claim')}"


def _reserved(claim: Object) -> str:
    users = [str(item.get("name")) for item in (claim.get("status") or {}).get("reservedFor") or ()]
    return f", reserved for {few(users, 2)}" if users else ", reserved for no pod"


def _pending(situation: Situation, pending: Sequence[Object], needs: Sequence[_Need]) -> Finding:
    """The claims as they are: there may be enough devices, and the scheduler knows it."""
    facts, space = situation.facts, situation.job.ref.namespace
    said = said_of_claims(situation.unplaced)
    names = dict.fromkeys(item.claim for pod in to_place(situation) for item in entries(pod) if item.claim)
    claims = [claim for name in names if (claim := facts.get(CLAIMS, space, name))]
    chosen = any(by_choice(spec, lambda name: facts.get(CLASSES, "", name)) for spec in pending)
    asked = few([f"{need.each} of class {need.name}" for need in needs]) or "alternatives, or all that match"
    unknown = f": {_NOT_KNOWN}" if chosen else ""
    if situation.group and any(_BEING_ALLOCATED in text for text in said):
        return finding(
            "DeviceClaimShared",
            "pods of the gang share a claim that has no devices yet: Volcano gives it devices only when it binds the "
            "gang, and refuses the second pod until then.",
            needed="a claim for each pod, or one that has its devices before the gang starts.",
            todo="name a template (resourceClaimTemplateName) instead of the claim, or lower minAvailable to 1.",
            objects=[Ref.of(claim) for claim in claims[:_MOST_CLAIMS]],
            commands=_COMMANDS,
            details=said,
        )
    return finding(
        "DeviceClaimsPending",
        f"a scheduler has given the pods' claims no devices yet ({asked} for a pod){unknown}.",
        needed="devices that the scheduler finds free, and that match, on one node for each pod.",
        todo="do what the scheduler says below; compare the selectors of class and claim with the attributes of the "
        "devices in ResourceSlices."
        if said
        else "see what else is found here: claims get their devices when their pods are placed.",
        objects=[Ref.of(claim) for claim in claims[:_MOST_CLAIMS]],
        commands=_COMMANDS,
        details=[*said, *(f"{Ref.of(claim)}: {_state(claim)}" for claim in claims[:_MOST_CLAIMS])],
        blocks=bool(said),
    )


def _state(claim: Object) -> str:
    if not is_allocated(claim):
        return "pending"
    return f"allocated: {few([' '.join(device) for device in allocated(claim)], 3) or 'no devices'}{_reserved(claim)}"
