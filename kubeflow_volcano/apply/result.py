"""What a roll-out did, object by object, and how that is shown."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import yaml

from kubeflow_volcano.cluster.objects import Object, Ref
from kubeflow_volcano.problems import Problem, ProblemsError

__all__ = ["Action", "ObjectOutcome", "RolloutResult", "same", "shown"]

_NOISE = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
_NOISY_ANNOTATIONS = ("deployment.kubernetes.io/revision", "kubectl.kubernetes.io/last-applied-configuration")


class Action(StrEnum):
    """How an object came out."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    HELD = "held"
    """Not sent, because something that it needs failed."""
    REMOVED = "removed"


_CHANGES = frozenset({Action.CREATED, Action.CHANGED, Action.REMOVED})


@dataclass(frozen=True, slots=True)
class ObjectOutcome:
    """One object: what was done, or in check mode would be; `reason` when it failed or was held back.

    `before` and `after` are there for objects that were created, changed or removed, and only where they were asked to
    be kept. `generation` is the one that the server gave it; 0 when it was not sent. `component` is the one that brings
    it; `seconds` is when it was done, since the start of the run.
    """

    ref: Ref
    action: Action
    before: Object | None
    after: Object | None
    reason: str = ""
    generation: int = 0
    component: str = ""
    seconds: float = 0.0

    def of(self, component: str) -> ObjectOutcome:
        """The same, of that component."""
        return replace(self, component=component)


@dataclass(frozen=True, slots=True)
class RolloutResult:
    """All outcomes, and the problems that stand in the way of what was asked for; `seconds` is the time it took.

    `warnings` tell of what will come about later, by another run.
    """

    outcomes: tuple[ObjectOutcome, ...]
    problems: tuple[Problem, ...]
    seconds: float
    warnings: tuple[Problem, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether any object was created, changed or removed."""
        return any(item.action in _CHANGES for item in self.outcomes)

    @property
    def failed(self) -> tuple[ObjectOutcome, ...]:
        """The objects that the server refused."""
        return tuple(item for item in self.outcomes if item.action is Action.FAILED)

    @property
    def seconds_of(self) -> dict[str, float]:
        """When the last object of each component was done, since the start of the run."""
        last: dict[str, float] = {}
        for item in self.outcomes:
            last[item.component] = max(item.seconds, last.get(item.component, 0.0))
        return last

    def count(self, action: Action) -> int:
        """How many objects came out so."""
        return sum(item.action is action for item in self.outcomes)

    def summary(self) -> str:
        """One line for a person."""
        shown = [action for action in Action if action not in {Action.HELD, Action.REMOVED} or self.count(action)]
        numbers = ", ".join(f"{self.count(action)} {action}" for action in shown)
        return f"{len(self.outcomes)} objects: {numbers}, {self.seconds:.1f} s"

    def as_dict(self) -> dict[str, Any]:
        """The whole as plain data: the changed objects, or those that failed, and all problems in the message."""
        told = [self.summary(), *([ProblemsError(self.problems).told()] if self.problems else [])]
        return {
            "changed": self.changed,
            "failed": bool(self.problems),
            "msg": "\n".join(told),
            "objects": [
                {"object": str(item.ref), "action": str(item.action), "component": item.component}
                for item in self.outcomes
                if item.action is Action.FAILED or (item.action is not Action.UNCHANGED and not self.problems)
            ],
            "seconds": round(self.seconds, 1),
        }

    def diff(self) -> list[dict[str, str]]:
        """What Ansible shows with --diff; without the server's own fields, and with no secret in it."""
        return [
            {
                "before_header": str(item.ref),
                "after_header": str(item.ref),
                "before": _text(item.before, None),
                "after": _text(item.after, item.before),
            }
            for item in self.outcomes
            if item.action in _CHANGES
        ]


def shown(obj: Object) -> Object:
    """`obj` without status and the fields that only the server writes."""
    text = copy.deepcopy({key: value for key, value in obj.items() if key != "status"})
    meta = text["metadata"]
    for key in _NOISE:
        meta.pop(key, None)
    annotations = meta.get("annotations") or {}
    for key in _NOISY_ANNOTATIONS:
        annotations.pop(key, None)
    if not annotations:
        meta.pop("annotations", None)
    return text


def same(before: Object, after: Object) -> bool:
    """Whether both say the same, apart from what the server writes by itself."""
    if before["metadata"].get("resourceVersion") == after["metadata"].get("resourceVersion") and before == after:
        return True
    return before["metadata"].get("uid") == after["metadata"].get("uid") and shown(before) == shown(after)


def _text(obj: Object | None, before: Object | None) -> str:
    if obj is None:
        return ""
    text = shown(obj)
    if obj["kind"] == "Secret":
        for field in ("data", "stringData"):
            old = (before or {}).get(field) or {}
            values = text.get(field) or {}
            for key, value in values.items():
                values[key] = "(hidden, changed)" if key in old and old[key] != value else "(hidden)"
    return yaml.dump(text, Dumper=yaml.CSafeDumper, sort_keys=True, default_flow_style=False, allow_unicode=True)
