"""Family B, namespaces: is one of the release stuck in its deletion."""

from __future__ import annotations

from datetime import datetime

from kubeflow_volcano.cluster.objects import Object, Ref, conditions
from validators.core.check import check
from validators.core.facts import Facts
from validators.core.outcome import Outcome, Severity, Status
from validators.core.rights import Rule
from validators.subjects.troubles import Trouble, verdict

__all__ = ["CHECKS"]

_STUCK_SECONDS = 120.0
"""How long the deletion of a namespace may take (checks.md, B8)."""
_PROFILE = ("app.kubernetes.io/part-of", "kubeflow-profile")
_OF_CONTENT = ("NamespaceContentRemaining", "NamespaceFinalizersRemaining")
_ORDER = (
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    *_OF_CONTENT,
)
"""The namespace controller's conditions, what keeps it from working before what it works on."""


@check("B8", "namespaces-active", severity=Severity.BLOCKER, needs=(Rule("list", "", "namespaces"),))
def namespaces_active(facts: Facts) -> Outcome:
    """Every namespace of the release and of its profiles is active.

    One that is being deleted takes nothing new. It is gone when nothing is left in it; what is left is listed with its
    finalizers, which whoever set them takes away when his work is done. Bring up that controller, or the backend of
    the APIService that is named; taking finalizers away by hand leaves behind what they are for.
    """
    names = facts.expectations.namespaces - facts.ignored_namespaces
    live = {item["metadata"]["name"]: item for item in facts.all("namespaces")}
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
    if seconds <= _STUCK_SECONDS:
        return Trouble("B8", Status.WARN, ref, "Terminating", message, "wait until it is gone, then install again.")
    told = [found[kind]["message"].rstrip(".") for kind in _ORDER if found.get(kind, {}).get("status") == "True"]
    left = facts.remaining.get(meta["name"], ())
    message += f" {'; '.join(told)}." if told else ""
    message += f" Left: {', '.join(left)}." if left else ""
    failing = found.get(_ORDER[0], {}).get("status") == "True"
    todo = "bring up the backend of the APIService that is named (B2)." if failing else "see who has to act on them."
    return Trouble("B8", Status.FAIL, ref, "Stuck", message, todo, ("B2",) if failing else ())


CHECKS = (namespaces_active,)
