"""Family B, namespaces: is one of the release stuck in its deletion."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from kubeflow_volcano.cluster.api.client import Cluster
from kubeflow_volcano.cluster.api.errors import ApiError
from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from validators.core.check import check
from validators.core.facts import Fact, Facts
from validators.core.outcome import Outcome, Severity, Status
from validators.core.resources import NAMESPACES
from validators.subjects.troubles import Trouble, verdict

__all__ = ["CHECKS", "REMAINING", "kinds_left"]

_PROFILE = ("app.kubernetes.io/part-of", "kubeflow-profile")
_OF_CONTENT = ("NamespaceContentRemaining", "NamespaceFinalizersRemaining")
_ORDER = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    *_OF_CONTENT,
)
"""The namespace controller's conditions, what keeps it from working before what it works on."""


_MOST = 10
# "foos.example.com has 2 resource instances"; a kind of the core group ends in a dot
# (kubernetes, pkg/controller/namespace/deletion/status_condition_utils.go).
_LEFT = re.compile(r"([a-z0-9-]+)\.([a-z0-9.-]*) has \d+ resource instances")


def _remaining(cluster: Cluster, facts: Facts) -> Mapping[str, tuple[str, ...]]:
    going = [item for item in facts.all(NAMESPACES) if "deletionTimestamp" in item["metadata"]]
    return {item["metadata"]["name"]: tuple(_objects(cluster, item))[:_MOST] for item in going}


def kinds_left(namespace: Object) -> tuple[tuple[str, str], ...]:
    """Plural and group of what the namespace controller still finds in it."""
    message = conditions(namespace).get("NamespaceContentRemaining", {}).get("message", "")
    return tuple((match[1], match[2]) for match in _LEFT.finditer(message))


def _objects(cluster: Cluster, namespace: Object) -> Iterator[str]:
    name = namespace["metadata"]["name"]
    for plural, group in kinds_left(namespace):
        with contextlib.suppress(ApiError):  # it only enriches a message
            version = cluster.request("GET", f"/apis/{group}")["preferredVersion"]["groupVersion"] if group else "v1"
            kinds = {found.plural: kind for kind, found in cluster.kinds(version).items()}
            for item in cluster.list(version, kinds.get(plural, plural), namespace=name, brief=True).items:
                held_by = item["metadata"].get("finalizers") or ()
                yield f"{Ref.of(item)}" + (f" (finalizers {', '.join(held_by)})" if held_by else "")


REMAINING = Fact[Mapping[str, tuple[str, ...]]]("remaining", _remaining, {}, reads=(NAMESPACES,), enriches=True)
"""By name of a namespace that is being deleted, the first objects that are left in it, with their finalizers."""


@check("B8", "namespaces-active", severity=Severity.BLOCKER, reads=(NAMESPACES, REMAINING))
def namespaces_active(facts: Facts) -> Outcome:
    """Every namespace of the release and of its profiles is active.

    One that is being deleted takes nothing new. It is gone when nothing is left in it; what is left is listed with its
    finalizers, which whoever set them takes away when his work is done. Bring up that controller, or the backend of
    the APIService that is named; taking finalizers away by hand leaves behind what they are for.
    """
    names = facts.expectations.namespaces - facts.ignored_namespaces
    live = {item["metadata"]["name"]: item for item in facts.all(NAMESPACES)}
    profiles = {name for name, item in live.items() if _of_profile(item)} - facts.ignored_namespaces
    looked_at = sorted(names & live.keys() | profiles)
    found = [trouble for name in looked_at if (trouble := _trouble(live[name], facts))]
    found += [_missing(name) for name in sorted(names - live.keys())]
    return verdict(
        found,
        [_ref(name) for name in looked_at],
        claim=f"{len(looked_at)} namespaces are active.",
        expected="phase Active",
    )


def _ref(name: str) -> Ref:
    return Ref("v1", "Namespace", "", name)


def _of_profile(namespace: Object) -> bool:
    label, value = _PROFILE
    return (namespace["metadata"].get("labels") or {}).get(label) == value


def _missing(name: str) -> Trouble:
    message = f"{_ref(name)} does not exist."
    return Trouble("B8", Status.FAIL, _ref(name), "Missing", message, "install its component.", ("C1",))


def _trouble(namespace: Object, facts: Facts) -> Trouble | None:
    meta, found = namespace["metadata"], conditions(namespace)
    if "deletionTimestamp" not in meta:
        return None
    ref = _ref(meta["name"])
    seconds = facts.taken - datetime.fromisoformat(meta["deletionTimestamp"]).timestamp()
    message = f"{ref} is being deleted since {seconds:.0f} s."
    if seconds <= facts.timing.stuck_seconds:
        return Trouble("B8", Status.WARN, ref, "Terminating", message, "wait until it is gone, then install again.")
    told = [found[kind]["message"].rstrip(".") for kind in _ORDER if found.get(kind, {}).get("status") == "True"]
    left = facts.known(REMAINING).get(meta["name"], ())
    message += f" {'; '.join(told)}." if told else ""
    message += f" Left: {', '.join(left)}." if left else ""
    failing = found.get(_ORDER[0], {}).get("status") == "True"
    todo = "bring up the backend of the APIService that is named (B2)." if failing else "see who has to act on them."
    return Trouble("B8", Status.FAIL, ref, "Stuck", message, todo, ("B2",) if failing else ())


CHECKS = (namespaces_active,)
