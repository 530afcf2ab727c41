"""Finalizers: what keeps an object that is being deleted, and which controller has to remove it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kubeflow_volcano.cluster.finalizers import CRD_CLEANUP, domain_of, known_controller, nearest_group
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.resources import CRDS


@dataclass(frozen=True, slots=True)
class Terminating:
    """An object that is not gone yet, and its finalizers."""

    ref: Ref
    finalizers: tuple[str, ...] = ()

    @classmethod
    def of(cls, obj: Object) -> Terminating:
        """What holds this object, without what every object of its kind has."""
        own = {CRD_CLEANUP} if obj["kind"] == "CustomResourceDefinition" else {"kubernetes"}
        finalizers = [*(obj["metadata"].get("finalizers") or ()), *((obj.get("spec") or {}).get("finalizers") or ())]
        return cls(Ref.of(obj), tuple(item for item in finalizers if item not in own))

    def __str__(self) -> str:
        return f"{self.ref}" + (f" (finalizers {', '.join(self.finalizers)})" if self.finalizers else "")


def describe(finalizers: Iterable[str], facts: Facts) -> str:
    """Each finalizer with its controller: `a/b of Rancher, example.com/c of an unknown controller`."""
    return ", ".join(
        f"{item} of {_owner(item, facts) or f'a controller of {domain_of(item)} that is not part of the release'}"
        for item in dict.fromkeys(finalizers)
    )


def todo(finalizers: Iterable[str], facts: Facts) -> str:
    """How an object with these finalizers comes to its end."""
    owners = {item: _owner(item, facts) for item in finalizers}
    known = dict.fromkeys(owner for owner in owners.values() if owner)
    unknown = dict.fromkeys(item for item, owner in owners.items() if not owner)
    steps = []
    if known:
        steps.append(f"start {few(list(known), 3)}, and see its log: it removes its finalizer.")
    if unknown:
        steps.append(
            f"start the controller that sets {', '.join(unknown)}. If it is uninstalled for good, clean up what it "
            "managed, then remove this finalizer, and no other, from the object."
        )
    return " ".join(steps)


def _owner(finalizer: str, facts: Facts) -> str:
    """The controller that removes the finalizer; empty if it is not known."""
    domain = domain_of(finalizer)
    return known_controller(finalizer) or _component(domain, facts) or _kinds(domain, facts)


def _component(domain: str, facts: Facts) -> str:
    """The component of the release with kinds of this domain, and its workloads."""
    groups = {name.partition(".")[2]: component for name, component in facts.expectations.crds.items()}
    group = nearest_group(domain, groups)
    if not group:
        return ""
    component = groups[group]
    workloads = [str(ref) for ref, owner in facts.expectations.workloads.items() if owner == component]
    return f"component {component}" + (f" ({few(workloads, 3)})" if workloads else "")


def _kinds(domain: str, facts: Facts) -> str:
    """The controller of kinds of this domain that others have brought."""
    group = nearest_group(domain, {item["spec"]["group"]: "" for item in facts.objects.get(CRDS, ())})
    return f"the controller of {group}" if group else ""
