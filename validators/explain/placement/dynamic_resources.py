"""Devices that pods get by ResourceClaims: which claims a pod has, what they request, and which devices there are.

Rules: k8s.io/api resource v1beta1 to v1 and resourceclaim of k8s.io/dynamic-resource-allocation, Kubernetes 1.32 to
1.37. Which devices belong to a class, CEL expressions say. They are not evaluated: an expression that requires a driver
leaves the devices of that driver, of which perhaps not all match, and any other leaves all devices.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.reading.devices import CLAIMS, CLASSES, GROUP, SLICES, VERSIONS

TEMPLATES = f"resourceclaimtemplates.{GROUP}"
EVERY_CLAIM = f"{CLAIMS} of all namespaces"
"""Key of what could not be read where only the claims of the job's namespace are known."""
API = Fact[str]("API version of devices", lambda _cluster, _facts: "", VERSIONS[0])
"""The newest API version that the server serves; empty where it serves none of them."""

_OF_DRIVER = re.compile(
    r"""device\.driver\s*==\s*(?P<quote>["'])(?P<driver>[^"'\\]+)(?P=quote)(?P<more>\s*&&.+)?""", re.DOTALL
)
_RESOURCE, _PREFIX = "extendedResourceName", "deviceclass.resource.kubernetes.io/"
Device = tuple[str, str, str]
"""Driver, pool and name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One of spec.resourceClaims of a pod: the ResourceClaim by name, or the template that one is made from."""

    name: str
    claim: str
    template: str


@dataclass(frozen=True, slots=True)
class Slices:
    """Every device that ResourceSlices have: with its node where only that node reaches it, else an empty text."""

    nodes: Mapping[Device, str]
    shared: frozenset[Device]
    """Those that several claims may have at the same time."""


@dataclass(frozen=True, slots=True)
class Class:
    """What is known without CEL of the devices of a class: its driver, and whether it has all devices of that."""

    driver: str
    whole: bool

    def has(self, device: Device) -> bool:
        """Whether the device may be of the class."""
        return self.driver in {"", device[0]}


def entries(pod: Object) -> Iterator[Entry]:
    """The claims of a pod, or of a pod template; a template's claim has its name once it exists, in the pod's status.

    An entry for which the status names no claim needs none.
    """
    made = {item["name"]: item.get("resourceClaimName") for item in listed(pod.get("status"), "resourceClaimStatuses")}
    for item in listed(pod.get("spec"), "resourceClaims"):
        name, template = str(item.get("name")), str(item.get("resourceClaimTemplateName") or "")
        claim = str(item.get("resourceClaimName") or "")
        if claim or (template and name not in made):
            yield Entry(name, claim, template)
        elif template and made[name]:
            yield Entry(name, str(made[name]), template)


def requests(spec: Object) -> Iterator[tuple[Object, ...]]:
    """What the spec of a claim requests: for each request its alternatives, mostly one."""
    for item in listed(spec.get("devices"), "requests"):
        yield tuple(listed(item, "firstAvailable")) or (mapping(item.get("exactly")) or item,)


def class_of(request: Object) -> str:
    """Name of the DeviceClass of a request."""
    return str(request.get("deviceClassName") or "")


def classes_of(spec: Object) -> list[str]:
    """Every DeviceClass that the spec of a claim names, in alternatives, too: the scheduler requires all of them."""
    return list(dict.fromkeys(name for each in requests(spec) for item in each if (name := class_of(item))))


def number_of(request: Object) -> int | None:
    """How many devices it takes from others; None where that depends on the devices, or an administrator looks on."""
    if request.get("adminAccess") or request.get("allocationMode", "ExactCount") != "ExactCount":
        return None
    count = request.get("count") or 1
    return count if isinstance(count, int) else None


def template_spec(template: Object) -> Object:
    """The spec of the claims that are made from it."""
    return mapping(mapping(template.get("spec")).get("spec"))


def device_class(obj: Object) -> Class:
    """What its expressions say of drivers."""
    expressions = [str(mapping(item.get("cel")).get("expression", "")) for item in listed(obj.get("spec"), "selectors")]
    found = [_OF_DRIVER.fullmatch(item.strip()) for item in expressions]
    # An alternative may be of another driver: `a && b || c`, `a && b ? c : d`.
    sure = [item for item in found if item and not re.search(r"\|\||\?", item["more"] or "")]
    whole = len(sure) == len(expressions) and not any(item["more"] for item in sure)
    return Class(sure[0]["driver"] if sure else "", whole)


def slices(facts: Facts) -> Slices:
    """The devices of the newest generation of each pool.

    Raises:
        CannotJudgeError: ResourceSlices could not be read.
    """
    return devices_in(facts.all(SLICES))


def devices_in(objects: Iterable[Object]) -> Slices:
    """The devices of the newest generation of each pool in ResourceSlices."""
    newest: dict[tuple[str, str], int] = {}
    specs = [item.get("spec") or {} for item in objects]
    for spec in specs:
        key = _pool(spec)
        newest[key] = max(newest.get(key, 0), _generation(spec))
    nodes: dict[Device, str] = {}
    shared: set[Device] = set()
    for spec in specs:
        if _generation(spec) == newest[_pool(spec)]:
            for item in ({**each, **(each.get("basic") or {})} for each in listed(spec, "devices")):
                device = (*_pool(spec), str(item.get("name")))
                nodes[device] = str(spec.get("nodeName") or item.get("nodeName") or "")
                if item.get("allowMultipleAllocations"):
                    shared.add(device)
    return Slices(nodes, frozenset(shared))


def by_choice(spec: Object, known: Callable[[str], Object | None]) -> bool:
    """Whether which devices a claim gets depends on more than drivers and numbers; `known` returns a DeviceClass."""
    for alternatives in requests(spec):
        if len(alternatives) != 1 or alternatives[0].get("selectors") or number_of(alternatives[0]) is None:
            return True
        if not device_class(known(class_of(alternatives[0])) or {}).whole:
            return True
    return bool(listed(spec.get("devices"), "constraints"))


def by_resource(facts: Facts) -> Mapping[str, str]:
    """The DeviceClass by each extended resource that pods may request instead of a claim.

    Rules: spec.extendedResourceName and ResourceDeviceClassPrefix of k8s.io/api resource/v1; the feature gate
    DRAExtendedResource is on by default since Kubernetes 1.36.
    """
    names = {str(item["metadata"]["name"]): item for item in facts.objects.get(CLASSES, ())}
    named = {str(text): name for name, item in names.items() if (text := mapping(item.get("spec")).get(_RESOURCE))}
    return {f"{_PREFIX}{name}": name for name in names} | named


def allocated(claim: Object) -> tuple[Device, ...]:
    """The devices that the claim has, also those that it only looks at; none where it is pending."""
    return tuple(_devices(claim, every=True))


def taken(facts: Facts) -> frozenset[Device]:
    """Devices that claims of all namespaces have for themselves.

    Raises:
        CannotJudgeError: claims of other namespaces could not be read.
    """
    facts.demand(EVERY_CLAIM)
    return frozenset(device for claim in facts.all(CLAIMS) for device in _devices(claim, every=False))


def is_allocated(claim: Object) -> bool:
    """Whether a scheduler has given it its devices."""
    return bool((claim.get("status") or {}).get("allocation"))


def allocated_terms(pod: Object, facts: Facts) -> tuple[tuple[str, tuple[Object, ...]], ...]:
    """Claim and node selector terms of each claim that the pod names and that has devices which some nodes reach."""
    if CLAIMS in facts.unread:  # which is told where claims are judged
        return ()
    space = pod["metadata"].get("namespace", "")
    found = ((item.claim, facts.get(CLAIMS, space, item.claim)) for item in entries(pod) if not item.template)
    chosen = ((name, ((claim or {}).get("status") or {}).get("allocation") or {}) for name, claim in found)
    terms = ((name, (item.get("nodeSelector") or {}).get("nodeSelectorTerms") or ()) for name, item in chosen)
    return tuple((name, tuple(each)) for name, each in terms if each)


def ref_of(kind: str, namespace: str, name: str, facts: Facts) -> Ref:
    """Reference of one of these objects in the version that the server serves."""
    return Ref(facts.known(API) or VERSIONS[0], kind, namespace, name)


def in_use(claims: Iterable[Object]) -> frozenset[Device]:
    """Devices that these claims have, for themselves or together with others."""
    return frozenset(device for claim in claims for device in _devices(claim, every=False, shared=True))


def _devices(claim: Object, *, every: bool, shared: bool = False) -> Iterator[Device]:
    allocation = ((claim.get("status") or {}).get("allocation") or {}).get("devices")
    for item in listed(allocation, "results"):
        if every or not (item.get("adminAccess") or (item.get("shareID") and not shared)):
            yield str(item.get("driver")), str(item.get("pool")), str(item.get("device"))


def _pool(spec: Object) -> tuple[str, str]:
    return str(spec.get("driver")), str((spec.get("pool") or {}).get("name"))


def _generation(spec: Object) -> int:
    return int((spec.get("pool") or {}).get("generation") or 0)


def listed(holder: Any, field: str) -> list[Object]:
    """The mappings in a list of an object, whatever else a manifest has there."""
    found = mapping(holder).get(field)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def mapping(value: Any) -> Object:
    """The value, or an empty mapping where a manifest has something else there."""
    return value if isinstance(value, dict) else {}
