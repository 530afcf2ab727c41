"""What keeps namespaces from being deleted, asked before one is created or deleted.

A namespace ends when its controller has deleted all that is in it and no finalizer is left on it
(kubernetes, pkg/controller/namespace/deletion/namespaced_resources_deleter.go). What the caller may not read is
unknown, and is no obstacle.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus

from kubeflow_volcano.cluster.admission.webhooks import Webhook, labelled_namespace
from kubeflow_volcano.cluster.admission.webhooks import webhooks as entries
from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.finalizers import known_controller
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.cluster.readiness import State, assess
from kubeflow_volcano.cluster.watch.leaders import CONTROLLERS
from kubeflow_volcano.deadline import Deadline
from kubeflow_volcano.text import few

_APISERVICE = ("apiregistration.k8s.io/v1", "APIService")
_HOOKS = "admissionregistration.k8s.io/v1"
_CONTENTS = frozenset({"configmaps", "namespaces", "pods", "resourcequotas", "serviceaccounts"})
"""What has to be deleted for every namespace in which there were pods; all of the core group."""
_FLAPPING_SECONDS, _PAUSE_SECONDS = 4.0, 1.0
"""How long an APIService may be unavailable in passing."""
_STUCK_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why no such namespace would go: the object that is the cause, what was found, and what to do."""

    cause: Ref
    found: str
    todo: str


def obstacles(cluster: Cluster, namespaces: Sequence[Object]) -> tuple[Obstacle, ...]:
    """What would keep these namespaces, which need not exist yet, from being deleted, as far as it can be seen.

    Takes four requests on a cluster without obstacles, and some seconds longer where one may be passing.
    """
    return (
        *_unserved(cluster),
        *_without_controller(cluster),
        *_refusing(cluster, namespaces),
        *_stuck(cluster, namespaces),
    )


def _unserved(cluster: Cluster) -> Iterator[Obstacle]:
    """The namespace controller looks at every kind that discovery announces; one that does not answer stops it."""
    unavailable: list[tuple[Ref, str, str]] = []
    with contextlib.suppress(ApiError):
        for _ in Deadline(_FLAPPING_SECONDS).every(_PAUSE_SECONDS):
            unavailable = _unavailable(cluster)
            if not unavailable:
                return
    for ref, text, backend in unavailable:
        yield Obstacle(
            ref,
            f"{ref} {text}, and while a kind cannot be listed no namespace is deleted to its end",
            f"start {backend}; or, if its component is not installed any more, kubectl delete apiservice {ref.name}.",
        )


def _unavailable(cluster: Cluster) -> list[tuple[Ref, str, str]]:
    """APIServices whose backend does not answer: each with what is wrong, and with its backend."""
    try:
        every = cluster.list(*_APISERVICE).items
    except ApiError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        versions = (version.split("/") for version in cluster.unanswered_versions())
        refs = [Ref(*_APISERVICE, "", f"{version}.{group}") for group, version in versions]
        return [(ref, "does not answer", "its backend") for ref in refs]
    return [
        (Ref.of(item), _wrong(item), f"what answers Service {service['namespace']}/{service['name']}")
        for item in every
        if (service := item["spec"].get("service")) and assess(item).state is not State.READY
    ]


def _wrong(apiservice: Object) -> str:
    said = conditions(apiservice).get("Available", {}).get("message", "")
    return f"is not available ({said.rstrip('.')})" if said else "is not available"


def _without_controller(cluster: Cluster) -> Iterator[Obstacle]:
    with contextlib.suppress(ApiError):
        if renewed := CONTROLLERS.expired(cluster):
            yield Obstacle(
                CONTROLLERS.lease,
                f"{CONTROLLERS.lease} was renewed last at {renewed}: no {CONTROLLERS.program} acts, which deletes "
                "namespaces",
                CONTROLLERS.todo,
            )


def _refusing(cluster: Cluster, namespaces: Sequence[Object]) -> Iterator[Obstacle]:
    """Webhooks that have to admit a deletion and have no backend."""
    configurations: list[Object] = []
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        with contextlib.suppress(ApiError):
            configurations += cluster.list(_HOOKS, kind).items
    for hook in entries(configurations):
        if _is_asked(hook, namespaces) and hook.service and (missing := _missing_backend(cluster, *hook.service)):
            yield Obstacle(
                hook.owner,
                f"webhook {hook.name} of {hook.owner} has to admit the deletion (failurePolicy Fail), and {missing}",
                f"start its backend; or, if it is not needed any more, kubectl delete {hook.owner.kind.lower()} "
                f"{hook.owner.name}.",
            )


def _is_asked(hook: Webhook, namespaces: Sequence[Object]) -> bool:
    """Whether it must admit the deletion of one of the namespaces, or of what every namespace has."""
    rules = [
        rule
        for rule in hook.text.get("rules") or ()
        if {"*", "DELETE"} & set(rule["operations"]) and {"*", ""} & set(rule["apiGroups"])
    ]
    plurals = {plural for rule in rules for plural in rule["resources"]}
    return (
        hook.text.get("failurePolicy", "Fail") == "Fail"
        and not hook.text.get("objectSelector")
        and not hook.text.get("matchConditions")
        and bool(plurals & {"*", "*/*", *_CONTENTS})
        and any(hook.matches_namespace(labelled_namespace(item, item["metadata"]["name"])) for item in namespaces)
    )


def _missing_backend(cluster: Cluster, namespace: str, name: str) -> str:
    """What its Service lacks; empty if it has a ready endpoint, or if that cannot be seen."""
    service = Ref("v1", "Service", namespace, name)
    with contextlib.suppress(ApiError):
        if cluster.get(service) is None:
            return f"{service} does not exist"
        label = f"kubernetes.io/service-name={name}"
        slices = cluster.list("discovery.k8s.io/v1", "EndpointSlice", namespace=namespace, labels=label).items
        ends = [end for item in slices for end in item.get("endpoints") or ()]
        if not any((end.get("conditions") or {}).get("ready", True) for end in ends):
            return f"{service} has no ready endpoint"
    return ""


def _stuck(cluster: Cluster, namespaces: Sequence[Object]) -> Iterator[Obstacle]:
    """Namespaces that do not go, for a reason that would keep these as well."""
    live: Iterable[Object] = ()
    with contextlib.suppress(ApiError):
        live = cluster.list("v1", "Namespace").items
    going = [item for item in live if _seconds_going(item) > _STUCK_SECONDS]
    if not going:
        return
    staying = [item for item in live if "deletionTimestamp" not in item["metadata"]]
    usual = _usual_finalizers(cluster, namespaces, staying)
    for item in going:
        ref, held = Ref.of(item), [name for name in item["metadata"].get("finalizers") or () if name in usual]
        if held:
            who = ", ".join(filter(None, map(known_controller, held)))
            yield Obstacle(
                ref,
                f"{ref} has been terminating for {_seconds_going(item):.0f} s with finalizer {few(held)}, which "
                f"namespaces get on this cluster",
                f"start what removes the finalizer{f': {who}' if who else ''}; then this namespace goes as well.",
            )
            return
        if not (item["metadata"].get("finalizers") or conditions(item)):
            yield Obstacle(
                ref,
                f"{ref} has been terminating for {_seconds_going(item):.0f} s, and no controller has looked at it",
                "start kube-controller-manager, which deletes namespaces; its log says why it does not.",
            )
            return


def _usual_finalizers(cluster: Cluster, namespaces: Sequence[Object], live: Sequence[Object]) -> set[str]:
    """Finalizers that admission puts on such namespaces, and those that most namespaces have."""
    counted = Counter(name for item in live for name in set(item["metadata"].get("finalizers") or ()))
    usual = {name for name, number in counted.items() if number > len(live) / 2}
    for item in namespaces:
        with contextlib.suppress(ApiError):
            made = cluster.create(item, dry_run=True) if "uid" not in item["metadata"] else item
            usual |= set(made["metadata"].get("finalizers") or ())
    return usual


def _seconds_going(namespace: Object) -> float:
    since = namespace["metadata"].get("deletionTimestamp")
    return time.time() - datetime.fromisoformat(since).timestamp() if since else 0.0
