"""Is there room for the gang: each pod on each node, then enough of them at the same time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.quantities import Amounts, readable, total
from validators.explain.model import Finding, Situation, counted, finding
from validators.explain.placing.claims import reach
from validators.explain.placing.nodes import Node, Refusal, Wish, nodes_of, refusals
from validators.explain.placing.packing import Group, fits, stays_shut

__all__ = ["groups_of", "room"]

_NAMED = 3
_ZERO = Decimal(0)
_TODO = {
    "NotReady": "bring the nodes back that are not Ready",
    "Cordoned": "uncordon a node (kubectl uncordon NODE)",
    "Taint": "tolerate the taint in the pod template, or take it from a node",
    "Selector": "label a node as nodeSelector asks, or change nodeSelector",
    "Affinity": "label a node as nodeAffinity asks, or change nodeAffinity",
    "Volume": "free the node that holds the volume, or use a claim that can be reached from more nodes",
    "PodAffinity": "start the pods first that podAffinity asks for, or change it",
    "PodAntiAffinity": "add a node, or change podAntiAffinity",
    "HostPort": "free the host port, or ask for another one",
    "Insufficient": "free what is short, wait for others to end, or add a node",
    "Absent": "correct the name of the resource, add nodes that have it, or bring up the device plugin that offers it",
    "Never": "ask for less in the pod template than the largest node has, or add a larger node",
}


# A node that will take the pod as soon as others end is nearer than one that has to be changed, and that is nearer than
# another machine.
_FAR = {"Absent": 2, "Never": 1}
_SHORT = frozenset({"Insufficient", "Never"})


def room(situation: Situation) -> Iterator[Finding]:
    """What the nodes lack for as many pods as must be placed together."""
    wanted = groups_of(situation)
    missing = situation.minimum - len(situation.placed)
    if not wanted or missing <= 0:
        return
    nodes = _nodes(situation)
    if not nodes:
        yield finding("NoNodes", "the cluster has no node.", needed="nodes for the pods.", todo="add nodes.")
        return
    homeless = [(group, _refused(group.wish, nodes)) for group in wanted]
    homeless = [(group, found) for group, found in homeless if len(found) == len(nodes)]
    # Fewer than all may be enough: a job whose minimum leaves some out starts without them.
    rest = [group for group in wanted if group not in [item for item, _ in homeless]]
    enough = sum(group.count for group in rest) >= missing
    for group, found in homeless:
        yield _no_node(group, found, nodes, situation, blocks=not enough or _needed(group, situation))
    if enough:
        placed = fits(rest, nodes, missing)
        if placed < missing:
            yield _together(rest, nodes, placed, missing, situation)


def _needed(group: Group, situation: Situation) -> bool:
    """Whether the gang cannot do without pods of this role, beside those that have a node."""
    there = sum(_role_of(pod).lower() == group.role.lower() for pod in situation.placed)
    least = {name.lower(): count for name, count in situation.task_minimums.items()}
    return there < least.get(group.role.lower(), 0)


def groups_of(situation: Situation) -> tuple[Group, ...]:
    """The pods without a node, alike ones together, and those that are not made yet."""
    gated = [pod for pod in situation.unplaced if not pod["spec"].get("schedulingGates")]
    by_shape: dict[str, list[Object]] = {}
    for pod in gated:
        by_shape.setdefault(_shape(pod), []).append(pod)
    found = [
        Group(_role_of(pods[0]), len(pods), _wish(pods[0], situation), Ref.of(pods[0])) for pods in by_shape.values()
    ]
    return (*found, *_unmade(situation))


def _unmade(situation: Situation) -> Iterator[Group]:
    """From templates, for roles that have fewer pods than replicas, and do not wait for others to run."""
    namespace = situation.job.ref.namespace
    there = Counter(_role_of(pod).lower() for pod in situation.pods)
    known = {role.name.lower() for role in situation.job.roles}
    if set(there) - known:  # pods whose role nobody tells stand for those of the templates
        return
    first = {role.name.lower(): role.replicas for role in situation.job.roles if role.name not in situation.job.later}
    placed = Counter(_role_of(pod).lower() for pod in situation.placed)
    held_back = situation.job.later if any(placed[name] < count for name, count in first.items()) else frozenset()
    for role in situation.job.roles:
        count = role.replicas - there[role.name.lower()]
        if count > 0 and role.name not in held_back:
            meta = {**(role.template.get("metadata") or {}), "namespace": namespace}
            yield Group(role.name, count, _wish({"metadata": meta, "spec": role.template["spec"]}, situation))


def _wish(pod: Object, situation: Situation) -> Wish:
    return Wish.of(pod, reach(pod, situation.facts))


def _role_of(pod: Object) -> str:
    """Its role, as the label or annotation of its controller says; empty where none does."""
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
    """What makes pods alike: all that a node is asked for."""
    spec = pod["spec"]
    keys = ("nodeSelector", "affinity", "tolerations", "overhead", "schedulerName")
    asked = [
        [item.get(key) for key in ("resources", "ports", "restartPolicy")]
        for field in ("containers", "initContainers")
        for item in spec.get(field) or ()
    ]
    # Volumes of tokens have names of their own in every pod.
    claims = [item.get("persistentVolumeClaim") or item.get("ephemeral") for item in spec.get("volumes") or ()]
    return repr((_role_of(pod), [spec.get(key) for key in keys], asked, [item for item in claims if item]))


def _nodes(situation: Situation) -> tuple[Node, ...]:
    return nodes_of(situation.facts.all("nodes"), situation.facts.all("pods"))


def _refused(wish: Wish, nodes: Sequence[Node]) -> dict[str, tuple[Refusal, ...]]:
    answers = ((node.name, refusals(wish, node, nodes)) for node in nodes)
    return {name: found for name, found in answers if found}


def _no_node(
    group: Group, found: Mapping[str, tuple[Refusal, ...]], nodes: Sequence[Node], about: Situation, *, blocks: bool
) -> Finding:
    reasons = {item.reason for items in found.values() for item in items}
    # A node that could take the pod but for one thing says best what would have to change.
    nearest = min(_distance(items) for items in found.values())
    todos = {_TODO[_last(items).reason] for items in found.values() if _distance(items) == nearest}
    return finding(
        "NoNodeFits" if len(reasons) > 1 else f"NoNodeFits{next(iter(reasons))}",
        f"{group.title}: none of {counted(len(found), 'node')} takes such a pod: {_summary(found)}.",
        needed=f"places for {counted(about.minimum, 'pod')} that start together.",
        todo=f"{'; or '.join(sorted(todos))}.",
        objects=[group.example] if group.example else (),
        details=[*_by_reason(found), *_offered(group, nodes)],
        blocks=blocks,
    )


def _distance(items: Sequence[Refusal]) -> tuple[int, int]:
    return max(_FAR.get(item.reason, 0) for item in items), len(items)


def _last(items: Sequence[Refusal]) -> Refusal:
    """What is hardest to change."""
    return max(items, key=lambda item: _FAR.get(item.reason, 0))


def _offered(group: Group, nodes: Sequence[Node]) -> Iterator[str]:
    """What nodes have instead of a resource that none of them has: the name may be another one."""
    offered = {name for node in nodes for name, amount in node.allocatable.items() if amount and "/" in name}
    for name in group.wish.requests:
        if all(not node.allocatable.get(name) for node in nodes) and group.wish.requests[name]:
            yield f"no node has any {name}; there are {', '.join(sorted(offered)) or 'no extended resources'}"


def _summary(found: Mapping[str, tuple[Refusal, ...]]) -> str:
    """Each thing that is in the way with the number of nodes, the commonest first."""
    counts: dict[str, int] = {}
    for items in found.values():
        for text in {f"no room for {item.lacks}" if item.reason in _SHORT else item.text for item in items}:
            counts[text] = counts.get(text, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{text} ({counted(number, 'node')})" for text, number in ordered)


def _by_reason(found: Mapping[str, tuple[Refusal, ...]]) -> tuple[str, ...]:
    """One line for all nodes with the same answer."""
    by_text: dict[str, list[str]] = {}
    for name, items in found.items():
        by_text.setdefault("; ".join(item.text for item in items), []).append(name)
    return tuple(f"{_named(names)}: {text}" for text, names in by_text.items())


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{len(names)} nodes ({shown}, …)"


def _together(groups: Sequence[Group], nodes: Sequence[Node], placed: int, missing: int, about: Situation) -> Finding:
    """There is a node for each, and not enough for as many as must start together."""
    asked = total(_times(group) for group in groups)
    open_to = [node for node in nodes if any(not stays_shut(group, node, nodes) for group in groups)]
    free = {name: sum((max(node.free(name), _ZERO) for node in open_to), _ZERO) for name in asked}
    scale = Decimal(missing) / max(sum(group.count for group in groups), 1)
    short = {name: amount * scale for name, amount in asked.items() if amount * scale > free[name]}
    numbers = ", ".join(f"{readable(name, short[name])} {name}, {readable(name, free[name])} free" for name in short)
    told = f"They ask for {numbers}" if short else "The sum of what is free would do, but it lies on too many nodes"
    lines = [f"{group.title}: {_listed(group.wish.requests)} each" for group in groups]
    single = about.group is None and bool(about.pods)  # nobody holds them back for each other
    which = "pods without a node" if single else "pods that must be placed together"
    together = f": minMember is {about.minimum}, {len(about.placed)} are placed"
    return finding(
        "PodsDoNotFit" if single else "GangDoesNotFit",
        f"{placed} of the {missing} {which} find a node at the same time. {told} "
        f"on the {len(open_to)} of {len(nodes)} nodes that take such pods.",
        needed=f"room for {missing} pods at once{'' if single else together}.",
        todo=f"wait for others to end, add nodes, or let the job ask for less: {_less(about)}.",
        objects=[ref] if (ref := about.group_ref) else [about.job.ref],
        details=[*lines, *_free_lines(open_to, set(asked) - ({"pods"} - short.keys()))],
    )


def _less(about: Situation) -> str:
    """In which fields a job asks for less; what is in the way of a job that exists is asked for by a new one."""
    if about.job.ref.group == "trainer.kubeflow.org":
        return "a new one with fewer nodes (trainer.numNodes) or less for each (trainer.resourcesPerNode)"
    return "fewer replicas, smaller requests, or a minAvailable with which it can begin"


def _listed(requests: Amounts) -> str:
    named = (f"{readable(name, amount)} {name}" for name, amount in sorted(requests.items()) if name != "pods")
    return ", ".join(named) or "nothing"


def _times(group: Group) -> dict[str, Decimal]:
    return {name: amount * group.count for name, amount in group.wish.requests.items()}


def _free_lines(nodes: Sequence[Node], names: Iterable[str]) -> list[str]:
    by_text: dict[str, list[str]] = {}
    for node in nodes:
        text = ", ".join(f"{readable(name, max(node.free(name), _ZERO))} {name}" for name in sorted(names))
        by_text.setdefault(text, []).append(node.name)
    return [f"{_named(items)}: {text} free" for text, items in by_text.items()]
