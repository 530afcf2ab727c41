"""Family C, events: which Warning events of the last minutes still stand, and which are about something past."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from kubeflow_volcano.catalog.symptoms.read import recognise
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.objects import Object, Ref, group_of, last_seen
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.parallel import in_parallel
from kubeflow_volcano.text import counted, few
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Cause, Outcome, Severity, passed, skipped, warned
from kubeflow_volcano.validators.core.resources import (
    CERTIFICATES,
    CLAIMS,
    CONFIGMAPS,
    ENDPOINT_SLICES,
    NAMESPACES,
    RESOURCES,
)
from kubeflow_volcano.validators.core.rights import HOMES, Rule
from kubeflow_volcano.validators.subjects import pods, services, workloads
from kubeflow_volcano.validators.subjects.ownership import controller_of

_MOST_SHOWN = 3
_BELOW_THRESHOLD = frozenset({"NodeNotReady", "ProbeWarning", "Unhealthy"})
"""Events about a pod that are over when it is ready: the kubelet's of single probes (those that count make the pod
unready, or its container start again), and that its node was lost, which does not change when it became ready."""
_RESOURCE_OF_KIND = {(group_of(item.api_version), item.kind): item for item in RESOURCES.values()}
_WHOLE = frozenset(_RESOURCE_OF_KIND.values()) - {CONFIGMAPS}
"""What is read whole, so that an object that is not there is gone."""
_PARALLEL = 6
_MADE = frozenset({"CertificateRequest", "ReplicaSet"})
"""Kinds whose objects a controller makes, and whose events speak for the object that the controller is about."""
_ONCE_READY = frozenset({"Certificate", "PersistentVolumeClaim"})
_OF_SERVICES = frozenset({"Endpoints", "EndpointSlice", "Service"})


@dataclass(frozen=True, slots=True)
class Warned:
    """A Warning event: what it is about, whose uid, how often it came and when last, in seconds since the epoch.

    `owner` is the controller of a ReplicaSet or CertificateRequest, for which its events speak; `gone` says that the
    ReplicaSet or CertificateRequest is no more.
    """

    about: Ref
    uid: str
    reason: str
    message: str
    count: int
    last: float
    owner: Ref | None = None
    gone: bool = False

    @property
    def subject(self) -> Ref:
        """The object whose state decides about the event."""
        return self.owner or self.about


def _namespaces(facts: Facts) -> tuple[str, ...]:
    """The namespaces of the release that exist and are judged."""
    live = {item["metadata"]["name"] for item in facts.all(NAMESPACES)}
    return tuple(sorted((facts.expectations.homes & live) - facts.ignored_namespaces))


def _warning_events(cluster: Cluster, facts: Facts) -> tuple[Warned, ...]:
    by_namespace = in_parallel(lambda name: tuple(_recent(cluster, name, facts)), _namespaces(facts), _PARALLEL)
    return tuple(sorted((item for items in by_namespace for item in items), key=lambda item: item.last))


def _recent(cluster: Cluster, namespace: str, facts: Facts) -> Iterator[Warned]:
    made: dict[Ref, Object | None] = {}
    for item in cluster.list("v1", "Event", namespace=namespace, fields="type=Warning").items:
        last = datetime.fromisoformat(last_seen(item)).timestamp()
        if facts.taken - last > facts.timing.recent_seconds:
            continue
        warned = _noted(item, last)
        if warned.about.kind in _MADE:
            if warned.about not in made:
                made[warned.about] = cluster.get(warned.about)
            live = made[warned.about]
            is_same = live is not None and warned.uid in {"", live["metadata"]["uid"]}
            warned = replace(warned, owner=controller_of(live) if live and is_same else None, gone=not is_same)
        yield warned


def _noted(event: Object, last: float) -> Warned:
    about = event["involvedObject"]
    where = about.get("apiVersion", ""), about.get("kind", ""), about.get("namespace", ""), about.get("name", "")
    count = (event.get("series") or {}).get("count") or event.get("count") or 1
    return Warned(
        Ref(*where), about.get("uid", ""), event.get("reason", ""), event.get("message", "").strip(), count, last
    )


WARNING_EVENTS = Fact[tuple[Warned, ...]](
    "events",
    _warning_events,
    (),
    reads=(NAMESPACES,),
    needs=(
        Rule("list", "", "events", HOMES),
        Rule("get", "apps", "replicasets", HOMES),
        Rule("get", "cert-manager.io", "certificaterequests", HOMES),
    ),
)
"""Of the last 15 min, about objects in the release's namespaces, newest last; of each only what is judged is kept."""


@check(
    "C10",
    "no-warning-events",
    severity=Severity.MINOR,
    reads=(*services.READS, CERTIFICATES, CLAIMS, WARNING_EVENTS),
)
def no_warning_events(facts: Facts) -> Outcome:
    """No Warning event of the last 15 min is about a current problem of the release.

    Kubernetes records problems as events and deletes them after an hour. Events about deleted objects, about objects
    that recovered, about users' jobs, and single failed probes of a pod that stayed ready are only counted.
    """
    events = facts.read(WARNING_EVENTS)
    names = _namespaces(facts)
    if not names:
        return skipped("NoNamespace", "none of the release's namespaces exists.")
    of_release = [item for item in events if item.about.group not in pods.JOB_GROUPS]
    real = [item for item in of_release if not _simulated(item, facts)]
    standing = [item for item in real if not _passed(item, facts)]
    history, others = len(real) - len(standing), len(of_release) - len(real)
    jobs = len(events) - len(of_release)
    note = f" {history} are about objects that were deleted or recovered." if history else ""
    note += f" {others} are about autoscalers of simulated pods, which nothing measures." if others else ""
    note += f" {jobs} are about users' jobs." if jobs else ""
    looked_at = [Ref("v1", "Namespace", "", name) for name in names]
    if not standing:
        places = counted(len(names), "namespace")
        text = f"no Warning event of the last 15 min is about a current problem in {places}.{note}"
        return passed(text, objects=looked_at)
    by_reason = _by_reason(standing)
    causes = [_owners(item, facts) for item in standing]
    about = tuple(dict.fromkeys(item.about for item in standing))
    return warned(
        standing[-1].reason,
        f"{len(standing)} Warning events of the last 15 min stand: {_describe(by_reason)}{note}",
        expected="no Warning event about objects of the release in the last 15 min",
        observed={reason: sum(item.count for item in items) for reason, items in by_reason.items()},
        objects=about,
        todo=_remedies(standing),
        commands=[f"kubectl -n {name} get events --field-selector type=Warning" for name in _spaces(about)],
        evidence={
            "events.log": "\n".join(f"{item.about} {item.reason} x{item.count}: {item.message}" for item in standing)
        },
        because=tuple(dict.fromkeys(id_ for ids in causes for id_ in ids)) if all(causes) else (),
    )


def _remedies(events: Iterable[Warned]) -> str:
    """What to do about each, by the table of symptoms, or in general where it knows none of them."""
    found: dict[str, dict[str, None]] = {}
    for item in events:
        if known := recognise(item.message, "event"):
            found.setdefault(known.todo, {}).setdefault(str(item.subject))
    if not found:
        return "see what each of them says; one about an object that works may be a limit that is too tight."
    return " ".join(f"For {few(list(names), _MOST_SHOWN)}: {todo}" for todo, names in found.items())


def _by_reason(events: Iterable[Warned]) -> Mapping[str, list[Warned]]:
    """The events by reason, the most frequent reason first."""
    by_reason: dict[str, list[Warned]] = {}
    for item in events:
        by_reason.setdefault(item.reason, []).append(item)
    return dict(sorted(by_reason.items(), key=lambda pair: -sum(item.count for item in pair[1])))


def _describe(by_reason: Mapping[str, Sequence[Warned]]) -> str:
    parts = []
    for reason, items in list(by_reason.items())[:_MOST_SHOWN]:
        last = max(items, key=lambda item: item.last)
        parts.append(f"{reason} x{sum(item.count for item in items)}, last of {last.about}: {last.message}")
    more = len(by_reason) - _MOST_SHOWN
    return "; ".join(parts) + (f"; and {more} more reasons." if more > 0 else ".")


def _spaces(about: Iterable[Ref]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref.namespace for ref in about if ref.namespace))


def _simulated(event: Warned, facts: Facts) -> bool:
    """Whether an autoscaler requests the load of simulated pods."""
    ref = event.about
    return ref.kind == "HorizontalPodAutoscaler" and any(
        pod["metadata"]["namespace"] == ref.namespace for pod in facts.simulated_pods
    )


def _passed(event: Warned, facts: Facts) -> bool:
    """Whether the problem of the event is over: its object was deleted, or recovered since."""
    ref = event.subject
    if event.gone:
        return True
    if ref.kind in _OF_SERVICES:
        return _served(event, facts)
    resource = _RESOURCE_OF_KIND.get((group_of(ref.api_version), ref.kind))
    if resource not in _WHOLE or resource not in facts.objects:
        return False
    live = facts.get(resource, ref.namespace, ref.name)
    if live is None or (event.uid and ref == event.about and live["metadata"]["uid"] != event.uid):
        return True
    return _well_since(live, event)


def _well_since(live: Object, event: Warned) -> bool:
    if live["kind"] == "Pod":
        state = assess(live).state
        since = pods.ready_since(live)
        turned = since is not None and (since >= event.last or event.reason in _BELOW_THRESHOLD)
        return state is State.SKIP or pods.waits_for_gang(live) or (state is State.READY and turned)
    return live["kind"] in {*workloads.RESOURCE_OF_KIND, *_ONCE_READY} and assess(live).ready


def _service_of(ref: Ref, facts: Facts) -> Ref | None:
    """The Service of Endpoints, which have its name, or of an EndpointSlice by its label; None for one that is gone."""
    if ref.kind != ENDPOINT_SLICES.kind:
        return ref._replace(api_version="v1", kind="Service")
    live = facts.get(ENDPOINT_SLICES, ref.namespace, ref.name)
    name = ((live or {"metadata": {}})["metadata"].get("labels") or {}).get(services.SERVICE_OF_SLICE)
    return Ref("v1", "Service", ref.namespace, name) if name else None


def _served(event: Warned, facts: Facts) -> bool:
    """Whether the Service has all its endpoints, or is gone."""
    wanted = _service_of(event.about, facts)
    return all(services.backed(item, facts) for item in services.with_selector(facts) if Ref.of(item) == wanted)


def _owners(event: Warned, facts: Facts) -> tuple[Cause, ...]:
    """The checks that already say that this object is not well."""
    ref = event.subject
    about = {ref, _service_of(ref, facts)} if ref.kind in _OF_SERVICES else {ref}
    issues = (*pods.issues(facts), *workloads.issues(facts), *services.issues(facts))
    return tuple(dict.fromkeys(id_ for item in issues if item.ref in about for id_ in item.because or (item.check,)))
