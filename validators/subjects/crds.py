"""Which CustomResourceDefinitions are not usable, and why."""

from __future__ import annotations

from collections.abc import Iterable

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess
from validators.core.facts import Facts
from validators.core.outcome import Status
from validators.core.rights import Rule
from validators.subjects.troubles import Trouble

__all__ = ["READS", "troubled"]

RESOURCE = "customresourcedefinitions.apiextensions.k8s.io"
READS = (Rule("list", "apiextensions.k8s.io", "customresourcedefinitions"),)


def troubled(facts: Facts, names: Iterable[str]) -> tuple[Trouble, ...]:
    """Those of the CRDs `names` that are absent, refused, being deleted, or not to be found in discovery."""
    found = (_trouble(name, facts.get(RESOURCE, "", name), facts) for name in sorted(names))
    return tuple(item for item in found if item)


def _trouble(name: str, crd: Object | None, facts: Facts) -> Trouble | None:
    ref = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
    component = facts.expectations.crds.get(name, "")

    def trouble(reason: str, message: str, todo: str) -> Trouble:
        return Trouble("B1", Status.FAIL, ref, reason, message, todo)

    if crd is None:
        return trouble("Missing", f"{ref} of component {component} does not exist.", f"install component {component}.")
    if "deletionTimestamp" in crd["metadata"]:
        return trouble("Terminating", f"{ref} is being deleted.", "wait until it is gone, then install it again.")
    state = assess(crd)
    if state.state is not State.READY:
        return trouble(state.reason, state.message, "see the CRD's conditions; a conflict names the other CRD.")
    group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
    served = [f"{group}/{version['name']}" for version in crd["spec"]["versions"] if version.get("served")]
    if not served:
        return trouble("NotServed", f"{ref} serves no version.", f"install component {component} again.")
    facts.demand("discovery")
    hidden = [version for version in served if plural not in facts.discovery.get(version, ())]
    if hidden:
        message = f"{ref} is accepted, but {plural} is not in discovery of {', '.join(hidden)} yet."
        return trouble("NotInDiscovery", message, "wait some seconds; then look at the API server's log.")
    return None
