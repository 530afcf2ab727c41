"""CustomResourceDefinitions: which of them cannot be used, and why."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus

from kubeflow_volcano.catalog.gangs import KUBERNETES, VOLCANO, GangScheduler
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.cluster.stored_versions import readable_version
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.validators.core.consequences import NOT_NEEDED
from kubeflow_volcano.validators.core.expectations import GANG_KINDS
from kubeflow_volcano.validators.core.facts import Fact, Facts, Read
from kubeflow_volcano.validators.core.outcome import CannotJudgeError, Status, failed, skipped
from kubeflow_volcano.validators.core.resources import CRDS
from kubeflow_volcano.validators.subjects.finalizers import Terminating, describe
from kubeflow_volcano.validators.subjects.finalizers import todo as finalizing
from kubeflow_volcano.validators.subjects.issues import Issue

_MOST_LEFT = 10
_PARALLEL = 6
_LIST_SECONDS = 15.0
"""For each page of a kind; a conversion webhook that cannot be reached is asked again until then."""


def discovery(cluster: Cluster, facts: Facts) -> Mapping[str, frozenset[str]]:
    """Plurals in discovery by apiVersion, for every served version of an expected CRD."""
    versions = {
        f"{crd['spec']['group']}/{version['name']}"
        for crd in facts.all(CRDS)
        if crd["metadata"]["name"] in facts.expectations.crds
        for version in crd["spec"]["versions"]
        if version.get("served")
    }
    return {version: _plurals(cluster, version) for version in sorted(versions)}


def _plurals(cluster: Cluster, version: str) -> frozenset[str]:
    try:
        answer = cluster.request("GET", f"/apis/{version}")
    except ApiError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return frozenset()
        raise
    return frozenset(item["name"] for item in answer["resources"])


DISCOVERY = Fact[Mapping[str, frozenset[str]]]("discovery", discovery, {}, reads=(CRDS,))
"""Plurals in discovery by apiVersion, for the versions of the expected CRDs."""


def _instances(cluster: Cluster, facts: Facts) -> Mapping[str, tuple[Terminating, ...]]:
    going = [
        crd
        for crd in facts.all(CRDS)
        if crd["metadata"]["name"] in facts.expectations.crds and "deletionTimestamp" in crd["metadata"]
    ]
    return {crd["metadata"]["name"]: tuple(_left(cluster, crd))[:_MOST_LEFT] for crd in going}


def _left(cluster: Cluster, crd: Object) -> Iterator[Terminating]:
    spec = crd["spec"]
    version = next((item["name"] for item in spec["versions"] if item.get("served")), "")
    with contextlib.suppress(ApiError):  # it only enriches a message
        for item in cluster.list(f"{spec['group']}/{version}", spec["names"]["kind"], brief=True).items:
            yield Terminating.of(item)


INSTANCES = Fact[Mapping[str, tuple[Terminating, ...]]](
    "objects of kinds that are being deleted", _instances, {}, reads=(CRDS,), enriches=True
)
"""By name of an expected CRD that is being deleted, the first objects of that kind, with their finalizers."""


@dataclass(frozen=True, slots=True)
class Listings:
    """What the API server answers to lists of expected CRDs' objects, by the CRD's name, where it does not list them.

    `refused` are the CRDs whose objects may not be listed.
    """

    errors: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()


def _listings(cluster: Cluster, facts: Facts) -> Listings:
    crds = [crd for crd in facts.all(CRDS) if crd["metadata"]["name"] in facts.expectations.crds]
    answers = in_parallel(partial(_answer, cluster), crds, _PARALLEL)
    listings = {crd["metadata"]["name"]: answer for crd, answer in zip(crds, answers, strict=True) if answer}
    refused = tuple(sorted(name for name, error in listings.items() if error.status == HTTPStatus.FORBIDDEN))
    lasting = {name: str(error) for name, error in listings.items() if name not in refused and not _may_pass(error)}
    # What may pass is the server's trouble, and says nothing of a kind.
    if not lasting and (passing := next(filter(_may_pass, listings.values()), None)):
        raise passing
    return Listings(lasting, refused)


def _may_pass(error: ApiError) -> bool:
    return error.transient and "conversion webhook" not in error.message


def _answer(cluster: Cluster, crd: Object) -> ApiError | None:
    """Why not every object of the kind is listed; None where all are, and where the kind is not served.

    Raises:
        ApiError: the API server does not answer.
    """
    spec, version = crd["spec"], readable_version(crd)
    deadline = Deadline(_LIST_SECONDS)
    try:
        for _ in cluster.pages(f"{spec['group']}/{version}", spec["names"]["kind"], brief=True, deadline=deadline):
            deadline.renew()  # a kind may have tens of thousands of objects
    except ApiError as error:
        if error.status in {0, HTTPStatus.UNAUTHORIZED}:
            raise
        return None if error.status == HTTPStatus.NOT_FOUND else error
    return None


LISTINGS = Fact[Listings]("lists of custom resources", _listings, Listings(), reads=(CRDS,), lists_kinds=True)
"""Which kinds of expected CRDs cannot be listed."""

READS: tuple[Read, ...] = (CRDS, DISCOVERY, INSTANCES)
"""What `issues` reads."""


def issues(facts: Facts, names: Iterable[str]) -> tuple[Issue, ...]:
    """Those of the CRDs `names` that are missing, not accepted, being deleted, or not in discovery."""
    every = (_issue(name, facts.get(CRDS, "", name), facts) for name in sorted(names))
    return tuple(item for item in every if item)


def demand_volcano(facts: Facts, why: str) -> None:
    """End the evaluation where another scheduler makes the gangs and no Volcano is beside it; `why` is about that one.

    Raises:
        CannotJudgeError: there is no Volcano to judge.
    """
    gang = facts.expectations.gang
    if gang is not VOLCANO and not facts.expectations.has_volcano:
        raise CannotJudgeError(skipped(NOT_NEEDED, f"{gang.title} {why}."))


def demand_gang_kinds(facts: Facts, of: GangScheduler | None = None) -> None:
    """End the evaluation if the API server does not serve the kinds of a gang scheduler, which B1 reports.

    Without `of` it is the one whose gangs are proved.

    Raises:
        CannotJudgeError: they are not served, cannot be read, or no gang scheduler is expected.
    """
    gang = of or facts.expectations.gang
    if gang is KUBERNETES:  # F1 reports whether they are served; their kinds are no CRDs
        return
    if gang.name not in facts.expectations.crds.values():
        raise CannotJudgeError(skipped("NotExpected", f"the chosen components do not include {gang.title}."))
    try:
        wrong = issues(facts, GANG_KINDS if gang is VOLCANO else (gang.podgroups,))
    except CannotJudgeError as unread:
        raise CannotJudgeError(replace(unread.outcome, because=("B1",))) from unread
    if wrong:
        message, todo = (" ".join(getattr(item, key) for item in wrong) for key in ("message", "todo"))
        refs = [item.ref for item in wrong]
        raise CannotJudgeError(failed(wrong[0].reason, message, todo=todo, objects=refs, because=("B1",)))


def _issue(name: str, crd: Object | None, facts: Facts) -> Issue | None:
    ref = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
    component = facts.expectations.crds.get(name, "")

    def issue(reason: str, message: str, todo: str) -> Issue:
        return Issue("B1", Status.FAIL, ref, reason, message, todo)

    if crd is None:
        return issue("Missing", f"{ref} of component {component} does not exist.", f"install component {component}.")
    if "deletionTimestamp" in crd["metadata"]:
        return issue("Terminating", *_deletion(ref, crd, facts))
    state = assess(crd)
    if state.state is not State.READY:
        return issue(state.reason, state.message, "see the conditions of the CRD: a conflict names the other CRD.")
    fault = _fault(ref, crd, facts)
    return issue(*fault) if fault else None


def _fault(ref: Ref, crd: Object, facts: Facts) -> tuple[str, str, str] | None:
    """Reason, message and remedy of what is wrong with the versions of an established CRD."""
    component = facts.expectations.crds.get(ref.name, "")
    dropping = [item["name"] for item in crd["spec"]["versions"] if _drops(item)]
    if ref.name == VOLCANO.podgroups and dropping:
        message = (
            f"{ref} has the subresource status in {', '.join(dropping)}, so updates of a whole PodGroup, as Volcano's "
            "scheduler makes them, leave its status out: no PodGroup gets a phase."
        )
        todo = f"apply the CRD of component {component} again, which has no such subresource."
        return ("StatusDropped", message, todo)
    group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
    served = [f"{group}/{version['name']}" for version in crd["spec"]["versions"] if version.get("served")]
    if not served:
        return ("NotServed", f"{ref} serves no version.", f"install component {component} again.")
    discovery = facts.read(DISCOVERY)
    hidden = [version for version in served if plural not in discovery.get(version, ())]
    if hidden:
        message = f"{ref} is established, but discovery of {', '.join(hidden)} does not list {plural} yet."
        return ("NotInDiscovery", message, "wait a few seconds, then read the log of the API server.")
    return None


def _drops(version: Object) -> bool:
    """Whether updates of an object leave its status as it is.

    Volcano updates PodGroups as a whole (UpdatePodGroup of pkg/scheduler/cache, v1.8.0 to v1.15.1).
    """
    return "status" in (version.get("subresources") or {})


def _deletion(ref: Ref, crd: Object, facts: Facts) -> tuple[str, str]:
    """What keeps a CRD that is being deleted, and what to do."""
    component = facts.expectations.crds.get(ref.name, "")
    again = f"then install component {component} again."
    own, left = Terminating.of(crd).finalizers, facts.known(INSTANCES).get(ref.name, ())
    finalizers = dict.fromkeys((*own, *(text for item in left for text in item.finalizers)))
    message = f"{ref} is being deleted."
    message += f" Objects of its kind that are left: {', '.join(map(str, left))}." if left else ""
    message += f" Held by finalizer {describe(finalizers, facts)}." if finalizers else ""
    if finalizers:
        return message, f"{finalizing(finalizers, facts)} {again[0].upper()}{again[1:]}"
    return message, f"wait until it is deleted, {again}"
