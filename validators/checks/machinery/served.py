"""Family B: does the API server serve what is installed."""

from __future__ import annotations

from functools import partial

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, Status, failed
from validators.core.resources import APISERVICES, SERVICES
from validators.subjects import crds, services
from validators.subjects.troubles import Trouble, age, verdict

__all__ = ["CHECKS"]


@check("B1", "crds-served", severity=Severity.BLOCKER, reads=crds.READS)
def crds_served(facts: Facts) -> Outcome:
    """Every expected CRD is established and served.

    Established and NamesAccepted must be True, and discovery must list the resource; otherwise objects of that kind
    are refused with "no matches for kind". Install the component that brings the CRD; a conflict of names is named
    in the CRD's conditions.
    """
    names = sorted(facts.expectations.crds)
    if not names:
        todo = "choose a profile that has components (--profile)."
        return failed("NothingExpected", "the expectations name no CRD.", todo=todo)
    return verdict(
        crds.troubled(facts, names),
        [Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name) for name in names],
        claim=f"{len(names)} CRDs are established and served.",
        expected="Established=True, NamesAccepted=True, listed in discovery",
    )


@check(
    "B2",
    "apiservices-available",
    severity=Severity.BLOCKER,
    reads=(APISERVICES, *services.READS),
)
def apiservices_available(facts: Facts) -> Outcome:
    """Every APIService is available.

    One whose backend does not answer hides its kinds from discovery, and no namespace can be deleted any more, as
    nobody knows what is left in it (kubeflow/kubeflow#4778). Bring up the pods behind the Service that is named, or
    remove the APIService when its component is gone for good.
    """
    every = facts.all(APISERVICES)
    if not every:
        return failed("NoObjects", "the API server shows no APIService.", todo="see who hides them from you.")
    remote = sum(bool(item["spec"].get("service")) for item in every)
    return verdict(
        [trouble for item in every if (trouble := _unavailable(item, facts))],
        [Ref.of(item) for item in every],
        claim=f"{len(every)} APIServices are available, {remote} of them answered by pods.",
        expected="Available=True",
    )


def _unavailable(apiservice: Object, facts: Facts) -> Trouble | None:
    state = assess(apiservice)
    if state.state is State.READY:
        return None
    ref, service = Ref.of(apiservice), apiservice["spec"].get("service")
    young = age(apiservice, facts) < facts.timing.grace_seconds
    trouble = partial(Trouble, "B2", Status.WARN if young else Status.FAIL, ref)
    if not service:
        return trouble(state.reason, state.message, "look at the API server's log.")
    backend = Ref("v1", "Service", service["namespace"], service["name"])
    live = facts.get(SERVICES, backend.namespace, backend.name)
    if live is None:
        todo = "remove the APIService, or install its component again."
        return trouble("NoService", f"{state.message} {backend} does not exist.", todo)
    if services.ready_ports(backend, facts):
        todo = "see the log of its pods, and whether the API server reaches their port."
        return trouble(state.reason, f"{state.message} {backend} has ready endpoints.", todo)
    message = f"{state.message} {backend} has no ready endpoint."
    return trouble("NoEndpoint", message, "bring up its pods.", services.behind(live, facts))


CHECKS = (crds_served, apiservices_available)
