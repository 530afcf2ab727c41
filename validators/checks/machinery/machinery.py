"""Family B: does the API server serve what is installed, and can it reach and trust the admission webhooks."""

from __future__ import annotations

from functools import partial

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, Status, failed
from validators.core.rights import BACKENDS, Rule
from validators.subjects import crds, services, webhooks
from validators.subjects.troubles import GRACE_SECONDS, Trouble, age, verdict

__all__ = ["CHECKS"]


@check("B1", "crds-served", severity=Severity.BLOCKER, needs=crds.READS)
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
    needs=(Rule("list", "apiregistration.k8s.io", "apiservices"), *services.READS),
)
def apiservices_available(facts: Facts) -> Outcome:
    """Every APIService is available.

    One whose backend does not answer hides its kinds from discovery, and no namespace can be deleted any more, as
    nobody knows what is left in it (kubeflow/kubeflow#4778). Bring up the pods behind the Service that is named, or
    remove the APIService when its component is gone for good.
    """
    every = facts.all("apiservices.apiregistration.k8s.io")
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
    young = age(apiservice, facts) < GRACE_SECONDS
    trouble = partial(Trouble, "B2", Status.WARN if young else Status.FAIL, ref)
    if not service:
        return trouble(state.reason, state.message, "look at the API server's log.")
    backend = Ref("v1", "Service", service["namespace"], service["name"])
    live = facts.get("services", backend.namespace, backend.name)
    if live is None:
        todo = "remove the APIService, or install its component again."
        return trouble("NoService", f"{state.message} {backend} does not exist.", todo)
    if services.ready_ports(backend, facts):
        todo = "see the log of its pods, and whether the API server reaches their port."
        return trouble(state.reason, f"{state.message} {backend} has ready endpoints.", todo)
    message = f"{state.message} {backend} has no ready endpoint."
    return trouble("NoEndpoint", message, "bring up its pods.", services.behind(live, facts))


@check("B3", "webhooks-sound", severity=Severity.BLOCKER, needs=(*webhooks.READS, Rule("get", "", "secrets", BACKENDS)))
def webhooks_sound(facts: Facts) -> Outcome:
    """Every admission webhook can be reached and trusted by the API server.

    The caBundle must hold a valid authority, the Service must exist with that port and a ready endpoint, and the
    serving certificate must be signed by that authority for the Service's name. A webhook that fails stops every
    request that it intercepts. Restart the backend, which writes the caBundle, or apply the component again.
    """
    looked_at = [Ref.of(item) for item in webhooks.configurations(facts)]
    if not looked_at and not facts.expectations.webhooks:
        todo = "choose a profile that has components (--profile)."
        return failed("NothingExpected", "the expectations name no webhook.", todo=todo)
    found = webhooks.troubled(facts)
    if not found:
        facts.demand("certificates")
    return verdict(
        found,
        looked_at,
        claim=_sound(facts),
        expected="a valid caBundle, a Service with a ready endpoint, a certificate that chains to the caBundle",
    )


def _sound(facts: Facts) -> str:
    configurations = webhooks.configurations(facts)
    entries = [entry for item in configurations for entry in item.get("webhooks") or ()]
    simulated = {ref for item in facts.simulated_webhooks for ref in item.services}
    services = [ref for entry in entries if (ref := webhooks.service_of(entry))]
    stubbed = sum(ref in simulated for ref in services)
    told = f"{len(entries)} webhooks in {len(configurations)} configurations are sound."
    if stubbed:
        told += f" {stubbed} of them are answered by the rehearsal and say nothing about their backends."
    if "simulated-webhooks" in facts.unread:
        told += " Whether a rehearsal answers some of them could not be read."
    unchecked = sorted({str(ref) for ref in services if ref not in facts.certificates and ref not in simulated})
    if unchecked:
        told += f" The certificate of {', '.join(unchecked)} is in no Secret and was not looked at."
    return told


CHECKS = (crds_served, apiservices_available, webhooks_sound)
