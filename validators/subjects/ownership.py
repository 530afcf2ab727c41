"""Ownership: what is part of the release, and whose the rest is.

A cluster is shared. That a user's notebook cannot start is news for that user, not a failure of the platform.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.validators.core.facts import Facts, Read
from kubeflow_volcano.validators.core.outcome import Status
from kubeflow_volcano.validators.core.resources import DAEMON_SETS, DEPLOYMENTS, JOBS, NAMESPACES, STATEFUL_SETS
from kubeflow_volcano.validators.subjects.issues import Issue

_BUILT_IN = frozenset({"", "apps", "batch"})
"""API groups of controllers that are part of Kubernetes. A controller of any other group is its author's."""
_CONTROLLED = {item.kind: item for item in (DAEMON_SETS, DEPLOYMENTS, JOBS, STATEFUL_SETS)}
READS: tuple[Read, ...] = (NAMESPACES, *_CONTROLLED.values())
"""What `user_of` reads; it answers with less detail where some of it is not there."""
_PLATFORM_OWNERS = frozenset({"Namespace", "Profile"})
"""Kinds that own what the platform puts into a profile: metacontroller makes each namespace the owner of its copies of
the pipelines' Deployments (kubeflow/pipelines, installs/multi-user/pipelines-profile-controller).
"""


def controller_of(obj: Object) -> Ref | None:
    """The controller of an object as its ownerReferences say, in the object's namespace; None if it has none."""
    owner = next((item for item in obj["metadata"].get("ownerReferences") or () if item.get("controller")), None)
    if owner is None:
        return None
    return Ref(owner["apiVersion"], owner["kind"], obj["metadata"].get("namespace", ""), owner["name"])


def workload_of(pod: Object) -> Ref | None:
    """The workload that created the pod; the name of a ReplicaSet is that of its Deployment and a hash."""
    owner = controller_of(pod)
    if owner is None or owner.kind != "ReplicaSet":
        return owner
    suffix = "-" + (pod["metadata"].get("labels") or {}).get("pod-template-hash", "")
    return owner._replace(kind="Deployment", name=owner.name.removesuffix(suffix))


def is_profile(namespace: Object) -> bool:
    """Whether the namespace was made for a Profile."""
    owners = namespace["metadata"].get("ownerReferences") or ()
    labels = namespace["metadata"].get("labels") or {}
    return (
        any(item["kind"] == "Profile" for item in owners)
        or labels.get("app.kubernetes.io/part-of") == "kubeflow-profile"
    )


def user_of(obj: Object, facts: Facts) -> str:
    """Whose a namespaced object is if it is not the release's, in words; empty if the release answers for it.

    The release answers for its namespaces, for its workloads wherever they are, and for what the platform puts into
    profiles. What a custom resource controls is its author's, also in the release's namespaces: a Notebook, a TrainJob.
    """
    chain = tuple(_chain(obj, facts))
    name: str = obj["metadata"].get("namespace", "")
    if not name or any(ref in facts.expectations.workloads for ref in chain):
        return ""
    custom = next((ref for ref in chain if ref.group not in _BUILT_IN and ref.kind not in _PLATFORM_OWNERS), None)
    if name in facts.expectations.namespaces:
        return str(custom) if custom else ""
    space = next((item for item in facts.objects.get(NAMESPACES, ()) if item["metadata"]["name"] == name), None)
    if space and is_profile(space) and any(ref.kind in _PLATFORM_OWNERS for ref in chain):
        return ""
    person = ((space or {"metadata": {}})["metadata"].get("annotations") or {}).get("owner", "")
    return f"{custom or f'namespace {name}'}{f' of {person}' if person else ''}"


def as_owned(issue: Issue, obj: Object, facts: Facts) -> Issue:
    """The issue as it stands, or as a warning that names the owner where the object is not the release's."""
    owner = user_of(obj, facts)
    if not owner:
        return issue
    belongs = f"It belongs to {owner}, not to release {facts.expectations.release}."
    todo = f"let the owner know: {issue.todo}"
    return replace(issue, status=Status.WARN, gravity=issue.status, owner=belongs, todo=todo)


def _chain(obj: Object, facts: Facts) -> Iterator[Ref]:
    """The object and its controllers, upwards, as far as the snapshot holds them."""
    seen: set[Ref] = set()
    ref: Ref | None = Ref.of(obj)
    current: Object | None = obj
    while ref and ref not in seen:
        seen.add(ref)
        yield ref
        ref = workload_of(current) if current else None
        kind = _CONTROLLED.get(ref.kind) if ref else None
        current = next(_named(ref, kind, facts), None) if ref and kind else None


def _named(ref: Ref, kind: str, facts: Facts) -> Iterator[Object]:
    if kind not in facts.unread and (live := facts.get(kind, ref.namespace, ref.name)):
        yield live
