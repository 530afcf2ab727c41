"""Family B, served kinds: CRDs and APIServices."""

from __future__ import annotations

from functools import partial

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.cluster.stored_versions import lost_version, way_back
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status, errored, failed
from kubeflow_volcano.validators.core.resources import APISERVICES, CRDS, SERVICES
from kubeflow_volcano.validators.reading.permissions import as_yaml
from kubeflow_volcano.validators.subjects import crds, services
from kubeflow_volcano.validators.subjects.issues import Issue, age, verdict

_FOLLOWS = "Meanwhile no namespace is deleted to its end, and probes make none."


@check("B1", "crds-served", severity=Severity.BLOCKER, reads=crds.READS)
def crds_served(facts: Facts) -> Outcome:
    """Every expected CRD is established and served.

    Established and NamesAccepted must be True, and discovery must list the resource; otherwise the API server rejects
    objects of that kind with "no matches for kind". Install the component of the CRD; a name conflict is in the CRD's
    conditions. Volcano's Job, PodGroup and Queue are among them, and scheduler-plugins' PodGroup where that schedules
    gangs: without them no job can be queued or gang-scheduled.
    """
    names = sorted(facts.expectations.crds)
    if not names:
        todo = "choose a profile with components (--profile)."
        return failed("NothingExpected", "the chosen components have no CRD.", todo=todo)
    return verdict(
        crds.issues(facts, names),
        [_crd(name) for name in names],
        claim=f"{counted(len(names), 'CRD')} established and served.",
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

    If its backend does not answer, its kinds are missing from discovery, and the namespace controller cannot finish the
    deletion of any namespace (kubeflow/kubeflow#4778); probes make none meanwhile. See why the pods of the named
    Service are not ready, or delete the APIService if its component is no longer installed.
    """
    every = facts.all(APISERVICES)
    if not every:
        return failed(
            "NoObjects", "the API server lists no APIService.", todo="check what hides them from your account."
        )
    remote = sum(bool(item["spec"].get("service")) for item in every)
    return verdict(
        [issue for item in every if (issue := _unavailable(item, facts))],
        [Ref.of(item) for item in every],
        claim=f"{counted(len(every), 'APIService')} available, {remote} of them with pods as backend.",
        expected="Available=True",
    )


def _unavailable(apiservice: Object, facts: Facts) -> Issue | None:
    state = assess(apiservice)
    if state.state is State.READY:
        return None
    ref, service = Ref.of(apiservice), apiservice["spec"].get("service")
    young = age(apiservice, facts) < facts.timing.grace_seconds
    issue = partial(Issue, "B2", Status.WARN if young else Status.FAIL, ref)
    if not service:
        return issue(state.reason, state.message, "read the log of the API server.")
    backend = Ref("v1", "Service", service["namespace"], service["name"])
    live = facts.get(SERVICES, backend.namespace, backend.name)
    if live is None:  # which does not change by waiting
        todo = "delete the APIService, or install its component again."
        message = f"{state.message} {backend} does not exist. {_FOLLOWS}"
        return Issue(
            "B2", Status.FAIL, ref, "NoService", message, todo, changes=(f"kubectl delete apiservice {ref.name}",)
        )
    if services.ready_ports(backend, facts):
        todo = "read the log of its pods, and check that the API server can reach their port."
        return issue(state.reason, f"{state.message} {backend} has ready endpoints. {_FOLLOWS}", todo)
    message = f"{state.message} {backend} has no ready endpoint. {_FOLLOWS}"
    return issue("NoEndpoint", message, "see why its pods are not ready.", services.behind(live, facts))


@check("B9", "kinds-listable", severity=Severity.BLOCKER, reads=(CRDS, crds.LISTINGS))
def kinds_listable(facts: Facts) -> Outcome:
    """Every object of every expected CRD can be listed.

    Otherwise neither controllers nor backups see any object of the kind, and no namespace can be deleted, because the
    namespace controller lists what is in it. If an object is stored in a version that the CRD lacks, the CRD must get
    that version back, until a roll-out has stored every object in another one. A conversion webhook that does not
    answer hides the objects, too.
    """
    listings = facts.read(crds.LISTINGS)
    looked_at = [_crd(name) for name in sorted(facts.expectations.crds) if facts.get(CRDS, "", name)]
    if listings.refused and not listings.errors:
        rules = [rule for rule in kinds_listable.rules_for(listings.refused) if rule.verb == "list"]
        return errored(
            "Forbidden",
            f"whether their objects can be listed could not be seen: you may not list {', '.join(listings.refused)}.",
            expected="the right to list each kind of the release; metadata alone is read",
            objects=[_crd(name) for name in listings.refused],
            todo=f"grant these rules:\n{as_yaml(rules)}",
        )
    return verdict(
        [_unlisted(name, error, facts) for name, error in sorted(listings.errors.items())],
        looked_at,
        claim=f"the objects of {counted(len(looked_at), 'CRD')} can be listed.",
        expected="an answer to kubectl get KIND -A",
    )


def _unlisted(name: str, error: str, facts: Facts) -> Issue:
    ref = _crd(name)
    issue = partial(Issue, "B9", Status.FAIL, ref)
    if version := lost_version(error):
        return issue(
            "VersionLost",
            f"no object of {name} can be listed: one is stored in {version}, which the CRD lacks ({error}).",
            f"put {version} back into the CRD with these commands, then run playbooks/install.yml, which stores every "
            f"object again and removes {version}.",
            changes=way_back(name, version),
        )
    spec = (facts.get(CRDS, "", name) or {"spec": {}})["spec"]
    conversion = (spec.get("conversion") or {}).get("webhook") or {}
    service = (conversion.get("clientConfig") or {}).get("service") or {}
    message = f"objects of {name} cannot be listed: {error}."
    if "conversion webhook" in error and service:
        backend = Ref("v1", "Service", service["namespace"], service["name"])
        todo = f"see why {backend}, which converts them, does not answer."
        return issue("NoConversion", message, todo, because=(frozenset({ref, backend}),))
    return issue("NotListed", message, f"remove the cause until kubectl get {name} -A answers.")


def _crd(name: str) -> Ref:
    return Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
