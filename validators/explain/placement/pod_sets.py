"""Identical pods that still need a node, and how many of them fit on the nodes at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import total
from kubeflow_volcano.text import counted
from kubeflow_volcano.validators.explain.model import Situation
from kubeflow_volcano.validators.explain.placement.claims import unbound_claims, volume_terms
from kubeflow_volcano.validators.explain.placement.devices import counted_for, is_of_volcano
from kubeflow_volcano.validators.explain.placement.dynamic_resources import allocated_terms
from kubeflow_volcano.validators.explain.placement.filters import ignored_by_volcano, refusals
from kubeflow_volcano.validators.explain.placement.neighbours import depends_on_order
from kubeflow_volcano.validators.explain.placement.nodes import Node, Wish
from kubeflow_volcano.validators.subjects.gang.scheduler_configuration import node_labels


@dataclass(frozen=True, slots=True)
class PodSet:
    """Identical pods of one role that need a node: `count` of them; `example` is one of them, if any exists."""

    role: str
    count: int
    wish: Wish
    example: Ref | None = None

    @property
    def title(self) -> str:
        """How many of what, such as `4 pods of worker`."""
        name = self.example.name if self.example else ""
        return f"{counted(self.count, 'pod')} {f'of {self.role}' if self.role else f'such as {name}'}"


def pod_sets(situation: Situation) -> tuple[PodSet, ...]:
    """The pods without a node, identical ones together, and those that are not created yet; none with gates."""
    ungated = [pod for pod in situation.unplaced if not pod["spec"].get("schedulingGates")]
    alike: dict[tuple[str, str], list[Object]] = {}
    for pod in ungated:
        alike.setdefault((role_of(pod).lower(), _shape(pod)), []).append(pod)
    sets = {
        key: PodSet(role_of(pods[0]), len(pods), wish_of(pods[0], situation), Ref.of(pods[0]))
        for key, pods in alike.items()
    }
    for item in _missing(situation):
        key = (item.role.lower(), _shape(item.wish.pod))
        sets[key] = replace(sets[key], count=sets[key].count + item.count) if key in sets else item
    return tuple(sets.values())


def _missing(situation: Situation) -> Iterator[PodSet]:
    """From the templates of roles with fewer pods than replicas, unless they wait for other roles to run.

    A pod of the role that exists shows what admission makes of the template, such as a toleration that a webhook adds.
    """
    job = situation.job
    existing = Counter(role_of(pod).lower() for pod in situation.pods)
    if set(existing) - {role.name.lower() for role in job.roles}:  # pods without a known role count for the templates
        return
    placed = Counter(role_of(pod).lower() for pod in situation.placed)
    independent = (role for role in job.roles if role.name not in job.later)
    waits = any(placed[role.name.lower()] < role.replicas for role in independent)
    for role in job.roles:
        count = role.replicas - existing[role.name.lower()]
        if count > 0 and not (waits and role.name in job.later):
            meta = {**(role.template.get("metadata") or {}), "namespace": job.ref.namespace}
            twin = next((pod for pod in situation.pods if role_of(pod).lower() == role.name.lower()), role.template)
            spec = {key: item for key, item in twin["spec"].items() if key != "nodeName"}
            yield PodSet(role.name, count, wish_of({"metadata": meta, "spec": spec}, situation))


def wish_of(pod: Object, situation: Situation) -> Wish:
    """What the pod requires of a node, without devices that only the scheduler counts."""
    # Without a gang, the first pod that mounts a claim has it bound, and others then go wherever its volume is reached.
    unbound = unbound_claims(pod, situation.facts) if situation.group else ()
    wish = Wish.of(pod, volume_terms(pod, situation.facts), unbound)
    of_volcano = is_of_volcano(pod, situation)
    others = counted_for(pod, situation.facts, of_volcano=of_volcano)
    requests = {name: amount for name, amount in wish.requests.items() if name not in others}
    wish = replace(wish, requests=requests, devices=allocated_terms(pod, situation.facts))
    if not of_volcano:
        return wish
    return replace(wish, ignored=ignored_by_volcano(situation.facts), served=node_labels(situation.facts))


def role_of(pod: Object) -> str:
    """The pod's role, from the label or annotation that its controller sets; empty where none is set."""
    meta = pod["metadata"]
    labels, annotations = meta.get("labels") or {}, meta.get("annotations") or {}
    return (
        labels.get("training.kubeflow.org/replica-type")
        or labels.get("replica-type")
        or labels.get("jobset.sigs.k8s.io/replicatedjob-name")
        or annotations.get("volcano.sh/task-spec")
        or ""
    )


def _shape(pod: Object) -> str:
    """Equal for pods with equal requirements on a node."""
    spec = pod["spec"]
    keys = ("nodeSelector", "affinity", "tolerations", "overhead", "resourceClaims", "topologySpreadConstraints")
    containers = [
        [item.get(key) for key in ("resources", "ports", "restartPolicy")]
        for field in ("containers", "initContainers")
        for item in spec.get(field) or ()
    ]
    # Volumes of tokens have a name of their own in every pod.
    claims = [item.get("persistentVolumeClaim") or item.get("ephemeral") for item in spec.get("volumes") or ()]
    return repr(([spec.get(key) for key in keys], containers, [item for item in claims if item]))


def how_many_fit(sets: Sequence[PodSet], nodes: Sequence[Node], limit: int) -> int:
    """How many of the pods find a node at the same time, at most `limit`; does not change the nodes.

    Places the pods with the fewest possible nodes first, among them the largest, each on a node that the fewest others
    can use; where not all pods are needed, it also tries the smallest first. Fewer than `limit` means that this simple
    search found no way, not that there is none.
    """
    excluded = {id(item): {node.name for node in nodes if is_excluded(item, node, nodes)} for item in sets}
    users = {node.name: sum(node.name not in names for names in excluded.values()) for node in nodes}
    whole = total(node.allocatable for node in nodes)

    def size(item: PodSet) -> Decimal:
        parts = (amount / whole[name] for name, amount in item.wish.requests.items() if whole.get(name))
        return max(parts, default=Decimal(0))

    if any(item.wish.unbound for item in sets):
        home = _home([item for item in sets if item.wish.unbound], nodes, users)
        users[home] = -1  # where those that share a claim go, before all others
    ordered = sorted(sets, key=lambda item: (not item.wish.unbound, -len(excluded[id(item)]), -size(item)))
    placed = _first_fit(ordered, nodes, users, limit)
    if placed < limit < sum(item.count for item in sets):
        placed = max(placed, _first_fit(sorted(sets, key=size), nodes, users, limit))
    return placed


def _home(sets: Sequence[PodSet], nodes: Sequence[Node], users: Mapping[str, int]) -> str:
    """The node with room for the most of these pods."""
    count = sum(item.count for item in sets)
    return max(nodes, key=lambda node: _first_fit(sets, [node], users, count)).name


def _first_fit(sets: Iterable[PodSet], nodes: Sequence[Node], users: Mapping[str, int], limit: int) -> int:
    """First fit in the given order, on copies of the nodes."""
    copies = [node.copy() for node in nodes]
    copies.sort(key=lambda node: users[node.name])
    placed = 0
    for item in sets:
        left, moved = item.count, True
        while left and moved:
            before = left
            for node in copies:
                while left and placed < limit and not refusals(item.wish, node, copies):
                    node.add(item.wish)
                    left, placed = left - 1, placed + 1
            moved = left < before and depends_on_order(item.wish.pod)
    return placed


def is_excluded(pods: PodSet, node: Node, nodes: Sequence[Node]) -> bool:
    """Whether something other than the node's free resources keeps the pods off it."""
    return any(item.reason != "Insufficient" for item in refusals(pods.wish, node, nodes))
