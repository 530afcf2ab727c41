"""Family B, namespaces: is the deletion of one of the release stuck."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.core.check import check
from kubeflow_volcano.validators.core.facts import Fact, Facts
from kubeflow_volcano.validators.core.outcome import Outcome, Severity, Status
from kubeflow_volcano.validators.core.resources import NAMESPACES
from kubeflow_volcano.validators.subjects.finalizers import Terminating, describe
from kubeflow_volcano.validators.subjects.finalizers import todo as finalizing
from kubeflow_volcano.validators.subjects.issues import Issue, verdict

_PROFILE = ("app.kubernetes.io/part-of", "kubeflow-profile")
_OF_CONTENT = ("NamespaceContentRemaining", "NamespaceFinalizersRemaining")
_ORDER = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    *_OF_CONTENT,
)
"""Conditions by the namespace controller: first what keeps it from deleting, then what is left to delete."""


_MOST = 10
# "foos.example.com has 2 resource instances"; a kind of the core group ends in a dot
# (kubernetes, pkg/controller/namespace/deletion/status_condition_utils.go).
_LEFT = re.compile(r"(?<![a-z0-9.-])([a-z0-9-]+)\.([a-z0-9.-]*) has \d+ resource instances")


def _remaining(cluster: Cluster, facts: Facts) -> Mapping[str, tuple[Terminating, ...]]:
    going = [item for item in facts.all(NAMESPACES) if "deletionTimestamp" in item["metadata"]]
    return {item["metadata"]["name"]: tuple(_objects(cluster, item))[:_MOST] for item in going}


def kinds_left(namespace: Object) -> tuple[tuple[str, str], ...]:
    """Plural and group of what the namespace still contains, by its conditions."""
    message = conditions(namespace).get("NamespaceContentRemaining", {}).get("message", "")
    return tuple((match[1], match[2]) for match in _LEFT.finditer(message))


def _objects(cluster: Cluster, namespace: Object) -> Iterator[Terminating]:
    name = namespace["metadata"]["name"]
    for plural, group in kinds_left(namespace):
        with contextlib.suppress(ApiError):  # it only enriches a message
            version = cluster.request("GET", f"/apis/{group}")["preferredVersion"]["groupVersion"] if group else "v1"
            kinds = {found.plural: kind for kind, found in cluster.kinds(version).items()}
            for item in cluster.list(version, kinds.get(plural, plural), namespace=name, brief=True).items:
                yield Terminating.of(item)


REMAINING = Fact[Mapping[str, tuple[Terminating, ...]]](
    "remaining objects", _remaining, {}, reads=(NAMESPACES,), enriches=True
)
"""By name of a namespace that is being deleted, the first objects left in it, with their finalizers."""


@check("B8", "namespaces-active", severity=Severity.BLOCKER, reads=(NAMESPACES, REMAINING))
def namespaces_active(facts: Facts) -> Outcome:
    """Every namespace of the release and of its profiles is Active.

    The API server rejects new objects in a namespace that is being deleted. The deletion ends when nothing is left in
    it; the finding lists what is left with its finalizers, and the controllers that must remove them: start that
    controller, or the backend of the named APIService. Removing finalizers by hand orphans what they guard.
    """
    names = facts.expectations.namespaces - facts.ignored_namespaces
    live = {item["metadata"]["name"]: item for item in facts.all(NAMESPACES)}
    profiles = {name for name, item in live.items() if _of_profile(item)} - facts.ignored_namespaces
    looked_at = sorted(names & live.keys() | profiles)
    issues = [issue for name in looked_at if (issue := _issue(live[name], facts))]
    issues += [_missing(name) for name in sorted(names - live.keys())]
    return verdict(
        issues,
        [_ref(name) for name in looked_at],
        claim=f"{counted(len(looked_at), 'namespace')} Active.",
        expected="phase Active",
    )


def _ref(name: str) -> Ref:
    return Ref("v1", "Namespace", "", name)


def _of_profile(namespace: Object) -> bool:
    label, value = _PROFILE
    return (namespace["metadata"].get("labels") or {}).get(label) == value


def _missing(name: str) -> Issue:
    message = f"{_ref(name)} does not exist."
    return Issue("B8", Status.FAIL, _ref(name), "Missing", message, "install its component.", ("C1",))


def _issue(namespace: Object, facts: Facts) -> Issue | None:
    meta, by_type = namespace["metadata"], conditions(namespace)
    if "deletionTimestamp" not in meta:
        return None
    ref = _ref(meta["name"])
    seconds = facts.taken - datetime.fromisoformat(meta["deletionTimestamp"]).timestamp()
    message = f"{ref} has been terminating for {seconds:.0f} s."
    if seconds <= facts.timing.stuck_seconds:
        return Issue("B8", Status.WARN, ref, "Terminating", message, "wait for its deletion, then install again.")
    reported = [
        by_type[kind]["message"].rstrip(".") for kind in _ORDER if by_type.get(kind, {}).get("status") == "True"
    ]
    left = facts.known(REMAINING).get(meta["name"], ())
    own = Terminating.of(namespace).finalizers
    finalizers = dict.fromkeys((*own, *(text for item in left for text in item.finalizers)))
    message += f" {'; '.join(reported)}." if reported else ""
    message += f" Left: {', '.join(map(str, left))}." if left else ""
    message += f" Its own finalizers: {', '.join(own)}." if own else ""
    message += f" Held by {describe(finalizers, facts)}." if finalizers else ""
    failing = by_type.get(_ORDER[0], {}).get("status") == "True"
    if failing:
        todo = "see why the backend of the named APIService is not ready (B2)."
    else:
        todo = finalizing(finalizers, facts) or "see the log of kube-controller-manager, which deletes what is left."
    return Issue("B8", Status.FAIL, ref, "Stuck", message, todo, ("B2",) if failing else ())
