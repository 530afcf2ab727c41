"""In which order objects are applied, and what must be up before: a graph over the objects, cut into waves. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.rollout.intercepts import Webhook, backends, labelled, webhooks

__all__ = ["WEBHOOK_KINDS", "WORKLOAD_KINDS", "Wave", "waves"]

WORKLOAD_KINDS = frozenset({"CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"})
WEBHOOK_KINDS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})

# What a pod reads at its start; it comes before any pod that could.
_READ_BY_PODS = frozenset(
    {
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "PersistentVolumeClaim",
        "PriorityClass",
        "Role",
        "RoleBinding",
        "Secret",
        "Service",
        "ServiceAccount",
        "StorageClass",
    }
)


@dataclass(frozen=True, slots=True)
class Wave:
    """Objects that may be applied together, once each of `awaits` is ready."""

    objects: tuple[Object, ...]
    awaits: tuple[Ref, ...]


def waves(objects: Sequence[Object]) -> tuple[Wave, ...]:
    """Cut `objects` into waves.

    The rules: a namespace before its content; a CRD established before objects of its kind and before workloads, whose
    controllers may look for it only once, at their start; a role before its bindings; what a pod reads before
    workloads; a webhook configuration right after its backend is applied, because backends wait for it to put their CA
    into it; and the backend ready before an object that it intercepts, unless the backend itself needs that object.
    """
    by_ref = {Ref.of(obj): obj for obj in objects}
    applied, ready = _needs(by_ref)
    levels: dict[Ref, int] = {}
    for ref in by_ref:
        _level(ref, applied, ready, levels)
    cut: list[Wave] = []
    for level in sorted(set(levels.values())):
        members = [ref for ref in by_ref if levels[ref] == level]
        awaits = {need for ref in members for need in ready[ref]} - {ref for wave in cut for ref in wave.awaits}
        cut.append(Wave(tuple(by_ref[ref] for ref in members), tuple(sorted(awaits))))
    return tuple(cut)


_Needs = Mapping[Ref, set[Ref]]


def _needs(by_ref: Mapping[Ref, Object]) -> tuple[_Needs, _Needs]:
    """What must be applied, and what must be ready, before each object."""
    applied: dict[Ref, set[Ref]] = {ref: set() for ref in by_ref}
    ready: dict[Ref, set[Ref]] = {ref: set() for ref in by_ref}
    namespaces = {ref.name: ref for ref in by_ref if ref.kind == "Namespace"}
    crds = _crds(by_ref)
    read = {ref for ref in by_ref if ref.kind in _READ_BY_PODS}
    for ref in by_ref:
        if ref.namespace in namespaces:
            applied[ref].add(namespaces[ref.namespace])
        if (ref.group, ref.kind) in crds:
            ready[ref].add(crds[ref.group, ref.kind])
        if ref.kind in {"ClusterRoleBinding", "RoleBinding"}:
            applied[ref] |= {role for role in by_ref if role.kind in {"ClusterRole", "Role"}}
        if ref.kind in WORKLOAD_KINDS:
            applied[ref] |= read
            ready[ref] |= set(crds.values())
    for hook in webhooks(by_ref.values()):
        _add_webhook(hook, by_ref, namespaces, applied, ready)
    return applied, ready


def _crds(by_ref: Mapping[Ref, Object]) -> dict[tuple[str, str], Ref]:
    return {
        (obj["spec"]["group"], obj["spec"]["names"]["kind"]): ref
        for ref, obj in by_ref.items()
        if ref.kind == "CustomResourceDefinition"
    }


def _add_webhook(
    hook: Webhook,
    by_ref: Mapping[Ref, Object],
    namespaces: Mapping[str, Ref],
    applied: dict[Ref, set[Ref]],
    ready: dict[Ref, set[Ref]],
) -> None:
    behind = {Ref.of(obj) for obj in backends(hook, by_ref.values())}
    applied[hook.owner] |= behind
    needed = {hook.owner, *behind}
    for ref in (hook.owner, *behind):
        needed |= _all_before(ref, applied, ready)
    for ref, obj in by_ref.items():
        if ref in needed:
            continue
        namespace = labelled(by_ref[namespaces[ref.namespace]] if ref.namespace in namespaces else None, ref.namespace)
        if any(hook.intercepts(item, namespace) for item in (obj, *_pods(obj))):
            applied[ref].add(hook.owner)
            ready[ref] |= behind


def _pods(obj: Object) -> Iterator[Object]:
    """The pod that a workload will have made, as far as a webhook's rules look at it."""
    template = obj["spec"].get("template") if obj["kind"] in WORKLOAD_KINDS - {"CronJob", "Pod"} else None
    if template:
        labels = (template.get("metadata") or {}).get("labels") or {}
        meta = {"name": "", "namespace": obj["metadata"].get("namespace", ""), "labels": labels}
        yield {"apiVersion": "v1", "kind": "Pod", "metadata": meta}


def _all_before(ref: Ref, applied: _Needs, ready: _Needs) -> set[Ref]:
    found: set[Ref] = set()
    queue = [ref]
    while queue:
        for need in _both(queue.pop(), applied, ready):
            if need not in found:
                found.add(need)
                queue.append(need)
    return found


def _both(ref: Ref, applied: _Needs, ready: _Needs) -> Iterator[Ref]:
    yield from applied[ref]
    yield from ready[ref]


def _level(ref: Ref, applied: _Needs, ready: _Needs, levels: dict[Ref, int]) -> int:
    """Length of the longest chain before `ref`; no rule makes a circle, so the recursion ends.

    What must be ready counts double, so that objects that wait for nothing are sent while others come up.
    """
    if ref not in levels:
        before = [_level(need, applied, ready, levels) + 1 for need in applied[ref]]
        before += [_level(need, applied, ready, levels) + 2 for need in ready[ref]]
        levels[ref] = max(before, default=0)
    return levels[ref]
