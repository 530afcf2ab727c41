"""What must hold before an object is sent: one graph over all objects of a run. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kubeflow_volcano.apply.rights import Rights, pod_template
from kubeflow_volcano.cluster.admission.plurals import Plurals
from kubeflow_volcano.cluster.admission.webhooks import WEBHOOK_KINDS, Webhook, backends, labelled_namespace, webhooks
from kubeflow_volcano.cluster.api.discovery import Kinds
from kubeflow_volcano.cluster.objects import Object, Ref, new_object
from kubeflow_volcano.cluster.volcano import parent_queue

__all__ = ["CRD_KIND", "WEBHOOK_KINDS", "WORKLOAD_KINDS", "Graph", "Needs", "graph"]

WORKLOAD_KINDS = frozenset({"CronJob", "DaemonSet", "Deployment", "Job", "Pod", "ReplicaSet", "StatefulSet"})
CRD_KIND = "CustomResourceDefinition"
_BINDINGS = frozenset({"ClusterRoleBinding", "RoleBinding"})
_QUEUE = ("scheduling.volcano.sh", "Queue")

# What pods read at their start, in their namespace or cluster-scoped; sent before the workloads that could read it.
# The bindings of their ServiceAccount are followed wherever they are.
_READ_BY_PODS = frozenset(
    {
        "ConfigMap",
        "PersistentVolumeClaim",
        "PriorityClass",
        "Secret",
        "Service",
        "ServiceAccount",
        "StorageClass",
    }
)


@dataclass(slots=True)
class Needs:
    """What one object needs: objects that must be `applied` before it, and objects that must be `ready`."""

    applied: set[Ref] = field(default_factory=set)
    ready: set[Ref] = field(default_factory=set)

    def __iter__(self) -> Iterator[Ref]:
        yield from self.applied
        yield from self.ready


@dataclass(frozen=True, slots=True)
class Graph:
    """The needs of every object, in the order of the text, and the workloads behind each webhook configuration.

    `gathering` are the aggregated ClusterRoles.
    """

    needs: Mapping[Ref, Needs]
    behind: Mapping[Ref, frozenset[Ref]]
    gathering: frozenset[Ref] = frozenset()


def graph(
    parts: Mapping[str, Sequence[Object]],
    requires: Mapping[str, Collection[str]] | None = None,
    optional_webhooks: Collection[str] = (),
    kinds: Kinds | None = None,
    makers: Collection[tuple[str, str]] = (),
) -> Graph:
    """The graph over the objects of all `parts` (objects by component).

    `requires` names the parts that each part needs, `optional_webhooks` webhooks whose mutations no object needs;
    `kinds` are those that the API server serves, `makers` groups and kinds whose controllers make a namespace with the
    name of their object.
    The rules:

    - A Namespace before its content.
    - A maker ready before its Namespace and the content, which its controller would find taken otherwise.
    - A CRD established and served before objects of its kind, and before workloads that may use that kind, because
      controllers may look for it only once, at their start. Workloads of the CRD's part and of parts that require it
      count as users also if their rights are unknown.
    - A Role before its bindings, a StorageClass before claims, a Queue of Volcano before its children, whose parent
      Volcano's webhook looks up since 1.15, and what pods read before workloads.
    - A webhook configuration right after its backend is applied, because backends wait for it to write their CA;
      `apply/waiting/failure_policy.py` says what it fails with until then.
    - The backend ready and the webhook answering before an object that it intercepts, unless the backend itself needs
      that object. With failurePolicy Ignore, validating and optional webhooks delay nothing.
    """
    requires = requires or {}
    by_ref = {Ref.of(obj): obj for objects in parts.values() for obj in objects}
    needs = {ref: Needs() for ref in by_ref}
    index = _Index(by_ref, makers)
    rights = Rights(by_ref.values())
    for name, objects in parts.items():
        before = closure(name, requires)
        own = [obj for part in before for obj in parts.get(part, ()) if obj["kind"] == CRD_KIND]
        for obj in objects:
            _add(obj, needs[Ref.of(obj)], index)
            if obj["kind"] in WORKLOAD_KINDS:
                needs[Ref.of(obj)].ready |= rights.crds(obj, own)
    behind: dict[Ref, frozenset[Ref]] = defaultdict(frozenset)
    created, plurals = _created(by_ref, index), Plurals(by_ref.values(), kinds)
    of_pods = [obj for obj in by_ref.values() if obj["kind"] == "Service" or obj["kind"] in WORKLOAD_KINDS]
    for hook in webhooks(by_ref.values()):
        refs = frozenset(Ref.of(obj) for obj in backends(hook, of_pods))
        behind[hook.owner] |= refs
        needs[hook.owner].applied |= refs
        if hook.is_required(optional_webhooks):
            _add_webhook(hook, refs, created, needs, plurals)
    gathering = frozenset(ref for ref, obj in by_ref.items() if obj.get("aggregationRule"))
    return Graph(needs, dict(behind), gathering)


class _Index:
    """Objects of the kinds that other objects depend on, by what these name."""

    def __init__(self, by_ref: Mapping[Ref, Object], makers: Collection[tuple[str, str]]) -> None:
        self.makers = {ref.name: ref for ref in by_ref if (ref.group, ref.kind) in makers}
        self.namespaces = {ref.name: ref for ref in by_ref if ref.kind == "Namespace"}
        self.roles = {(ref.kind, ref.namespace, ref.name): ref for ref in by_ref if ref.kind in {"ClusterRole", "Role"}}
        self.classes = {ref for ref in by_ref if ref.kind == "StorageClass"}
        self.queues = {ref.name: ref for ref in by_ref if (ref.group, ref.kind) == _QUEUE}
        self.crds = {
            (obj["spec"]["group"], obj["spec"]["names"]["kind"]): ref
            for ref, obj in by_ref.items()
            if ref.kind == CRD_KIND
        }
        self.read: dict[str, set[Ref]] = defaultdict(set)
        for ref, obj in by_ref.items():
            if ref.kind in _READ_BY_PODS:
                self.read[ref.namespace].add(ref)
            if ref.kind in _BINDINGS:
                for subject in obj.get("subjects") or ():
                    self.read[subject.get("namespace", "")].add(ref)


def closure(part: str, requires: Mapping[str, Collection[str]]) -> set[str]:
    """The component and all that it requires, directly or through others."""
    found = {part}
    queue = [part]
    while queue:
        new = set(requires.get(queue.pop(), ())) - found
        found |= new
        queue += new
    return found


def _add(obj: Object, needs: Needs, index: _Index) -> None:
    ref = Ref.of(obj)
    if maker := index.makers.get(ref.name if ref.kind == "Namespace" else ref.namespace):
        needs.ready.add(maker)
    if ref.namespace in index.namespaces:
        needs.applied.add(index.namespaces[ref.namespace])
    if (ref.group, ref.kind) in index.crds:
        needs.ready.add(index.crds[ref.group, ref.kind])
    if ref.kind in _BINDINGS:
        role = obj.get("roleRef") or {}
        namespace = ref.namespace if role.get("kind") == "Role" else ""
        bound = index.roles.get((role.get("kind", ""), namespace, role.get("name", "")))
        if bound:
            needs.applied.add(bound)
    if ref.kind == "PersistentVolumeClaim":
        needs.applied |= index.classes
    if parent := index.queues.get(parent_queue(obj)):
        needs.applied.add(parent)
    if ref.kind in WORKLOAD_KINDS:
        needs.applied |= index.read[""] | index.read[ref.namespace]


_Created = Mapping[tuple[str, str, bool], Sequence[tuple[Ref, Object, Object]]]
"""What webhooks can intercept, by API version, kind and scope: the sent object, the intercepted one, its namespace."""


def _created(by_ref: Mapping[Ref, Object], index: _Index) -> _Created:
    created = defaultdict(list)
    for ref, obj in by_ref.items():
        live = index.namespaces.get(ref.namespace)
        namespace = labelled_namespace(by_ref[live] if live else None, ref.namespace)
        for seen in (obj, *_pods(obj)):
            created[seen["apiVersion"], seen["kind"], bool(ref.namespace)].append((ref, seen, namespace))
    return created


def _add_webhook(
    hook: Webhook, behind: frozenset[Ref], created: _Created, needs: Mapping[Ref, Needs], plurals: Plurals
) -> None:
    before = _all_before({hook.owner, *behind}, needs)
    for alike in created.values():
        plural = plurals.plural(alike[0][1])
        if hook.matches_rules(alike[0][1], plural):
            for ref, seen, namespace in alike:
                if ref not in before and hook.intercepts(seen, namespace, plural):
                    needs[ref].ready |= {hook.owner, *behind}


def _pods(obj: Object) -> Iterator[Object]:
    """The pod that a workload creates, as far as the rules of webhooks examine it."""
    template = pod_template(obj) if obj["kind"] in WORKLOAD_KINDS - {"CronJob"} else None
    if template:
        labels = (template.get("metadata") or {}).get("labels") or {}
        yield new_object("v1", "Pod", "", obj["metadata"].get("namespace", ""), meta={"labels": labels})


def _all_before(refs: Collection[Ref], needs: Mapping[Ref, Needs]) -> set[Ref]:
    """`refs` and all their needs, direct and indirect."""
    before = set(refs)
    queue = list(refs)
    while queue:
        new = {need for need in needs[queue.pop()] if need not in before}
        before |= new
        queue += new
    return before
