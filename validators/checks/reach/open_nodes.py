"""Family A, nodes: which of them accept ordinary pods, and what keeps all of them from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.cluster.pods.taints import Setter, blocking, setter_of, taint_text, untolerated
from kubeflow_volcano.cluster.readiness import Readiness, State, assess
from kubeflow_volcano.text import few
from kubeflow_volcano.validators.core.facts import Facts
from kubeflow_volcano.validators.core.outcome import Outcome, failed, warned

_CORDON = "node.kubernetes.io/unschedulable"


def sick_of(every: Iterable[Object]) -> dict[Ref, Readiness]:
    """The nodes that are not Ready or under pressure, with what they report."""
    states = {Ref.of(item): assess(item) for item in every}
    return {ref: state for ref, state in states.items() if state.state is not State.READY}


def accepting(every: Iterable[Object], pods: Iterable[Object]) -> list[Object]:
    """The healthy, schedulable nodes whose taints one of these pods tolerates, or a pod without tolerations."""
    specs = [{}, *{repr(pod["spec"].get("tolerations")): pod["spec"] for pod in pods}.values()]
    return [
        node
        for node in every
        if assess(node).state is State.READY
        and not node["spec"].get("unschedulable")
        and any(not untolerated(spec, blocking(node)) for spec in specs)
    ]


@dataclass(frozen=True, slots=True)
class _Closed:
    """A node that accepts no ordinary pod. `taints` are without those that mirror its condition or the cordon."""

    name: str
    sick: str
    cordoned: bool
    taints: tuple[Object, ...]

    @property
    def text(self) -> str:
        taints = f"taint {', '.join(map(taint_text, self.taints))}" if self.taints else ""
        return " and ".join(filter(None, (self.sick, "cordoned" * self.cordoned, taints)))

    @property
    def setters(self) -> set[Setter]:
        return {setter_of(item["key"]) for item in self.taints}

    @property
    def without_taints(self) -> str:
        """The command that removes these taints, each with its effect, and no others of the same key."""
        removals = " ".join(f"{item['key']}:{item['effect']}-" for item in self.taints)
        return f"kubectl taint node {self.name} {removals}"


def none_open(every: Sequence[Object], own: Sequence[Object], facts: Facts) -> Outcome | None:
    """What is wrong where no node accepts a pod without tolerations; None where one does.

    A warning where the release's `own` pods tolerate the taints of a node: they start, and users' pods may not.
    """
    if accepting(every, ()):
        return None
    shut = [_closed(item) for item in every]
    taken = bool(own) and all(accepting(every, [pod]) for pod in own)
    real = [item for item in shut if item.name not in facts.simulated_nodes] or shut
    by_text: dict[str, list[str]] = {}
    for item in shut:
        by_text.setdefault(item.text, []).append(item.name)
    groups = "; ".join(f"{few(names, 3)}: {text}" for text, names in by_text.items())
    note = " The release's pods tolerate it; users' pods need the same toleration." if taken else ""
    return (warned if taken else failed)(
        _reason(shut),
        f"no node accepts pods without tolerations: {groups}.{note}",
        expected="a Ready node that is not cordoned and has no taint, because users' pods have no tolerations",
        observed={item.name: item.text for item in shut},
        objects=[Ref.of(item) for item in every],
        **_remedy([item for item in real if not item.sick]),
    )


def _closed(node: Object) -> _Closed:
    state = assess(node)
    sick = "" if state.state is State.READY else state.reason
    cordoned = bool(node["spec"].get("unschedulable"))
    taints = [
        item
        for item in untolerated({}, blocking(node))
        if not (cordoned and item["key"] == _CORDON) and not (sick and setter_of(item["key"]) is Setter.KUBERNETES)
    ]
    return _Closed(node["metadata"]["name"], sick, cordoned, tuple(taints))


def _reason(shut: Sequence[_Closed]) -> str:
    if lost := next((item for item in shut if item.sick and not item.cordoned and not item.taints), None):
        return lost.sick
    if all(item.cordoned for item in shut):
        return "AllCordoned"
    return "AllTainted" if all(item.taints for item in shut) else "NoneOpen"


_CONTROLLERS: Mapping[Setter, str] = {
    Setter.KUBERNETES: "Kubernetes removes the taint with the condition of the node that it mirrors; repair that.",
    Setter.CLOUD: "see the log of the cloud-controller-manager, which removes the taint once it knows the node.",
    Setter.CONTROLLER: "see the log of the controller that set the taint, which removes it once the node is ready.",
}


def _remedy(healthy: Sequence[_Closed]) -> dict[str, Any]:
    """What to do, with commands, for the nodes that are nearest to accepting pods."""
    if not healthy:
        return {"todo": "repair the node that has no taint, or join another."}
    if cordoned := [item for item in healthy if item.cordoned and not item.taints]:
        return {"todo": "uncordon a node.", "changes": [f"kubectl uncordon {item.name}" for item in cordoned]}
    if foreign := _with_only(healthy, Setter.OTHER):
        todo = "join a node without a taint, or, where the taint is not there on purpose, remove it from a node."
        return {"todo": todo, "changes": _opening(foreign)}
    if control_plane := _with_only(healthy, Setter.CONTROL_PLANE, Setter.OTHER):
        todo = "join a worker node without a taint, or, where the cluster has none, let its control plane run pods."
        return {"todo": todo, "changes": _opening(control_plane)}
    names = [item.name for item in healthy]
    looks = tuple(f"kubectl describe node {name}" for name in names)
    if reserved := _with_only(healthy, Setter.ACCELERATOR, Setter.OTHER):
        todo = f"join a node without a taint: {few([item.name for item in reserved])} are reserved for GPU jobs."
        return {"todo": todo, "commands": looks}
    setters = set.union(*(item.setters for item in healthy))
    todo = " ".join(text for setter, text in _CONTROLLERS.items() if setter in setters)
    return {"todo": todo, "commands": looks}


def _with_only(healthy: Sequence[_Closed], *setters: Setter) -> list[_Closed]:
    return [item for item in healthy if item.setters <= set(setters)]


def _opening(shut: Sequence[_Closed]) -> tuple[str, ...]:
    return tuple(
        f"kubectl uncordon {item.name} && {item.without_taints}" if item.cordoned else item.without_taints
        for item in shut
    )
